"""What CONTRIBUTING.md adds works, added exactly as it says."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from clones import ROOT, call, commit, make_clone

pytestmark = pytest.mark.workflow
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
PLACES = {"NAMES": "NAMES = (\n", "KINDS": "KINDS = {\n", "SECTIONS": "] = (\n"}
"""Where lines are added: below these."""


def add(clone: Path, heading: str) -> list[str]:
    """Add what a section of the guide adds; the commands that it then gives."""
    section = GUIDE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    commands = []
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE):
        if not language:
            commands += block.splitlines()
            continue
        first, _, content = block.partition("\n")
        name, _, place = first.removeprefix("# ").partition(": ")
        file = clone / name
        if not place:
            assert not file.exists()
            file.write_text(content)
        elif place == "imports":
            file.write_text(content + file.read_text())
        else:
            before, found, after = file.read_text().partition(PLACES[place])
            assert found
            file.write_text(before + found + content + after)
    return commands


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clone(tmp_path_factory.mktemp("contributing") / "clone")


def test_a_method_takes_its_file_and_a_line(clone: Path) -> None:
    check, run = add(clone, "A method")
    # Whoever follows the guide has installed the clone; here another folder is.
    call(clone, "bash", "-c", f"PYTHONPATH=src {check}")
    call(clone, "bash", "-c", run)
    table = pd.read_csv(clone / "results/ci/add.csv")
    assert set(table["method"]) == {"oldest", "random", "oracle_set"}
    ours = table[table["method"] == "oldest"]
    assert len(ours[ours["table"] == "noise_free"]) == 4
    assert ours["add"].notna().all()
    # Its settings can be changed, and then it alone is measured again.
    changed = call(
        clone,
        "bash",
        "-c",
        run.replace("--config", "-n --config 'baselines={oldest: {weight: 0.0}}'"),
    )
    again = dict(
        re.findall(r"^(\w+) +(\d+)$", changed.stdout.partition("Job stats:")[2], re.MULTILINE)
    )
    assert again == {
        "calibrate": "1",
        "evaluate": "1",
        "aggregate": "1",
        "delays": "1",
        "total": "4",
    }


def test_a_data_set_takes_its_file_and_a_line(clone: Path) -> None:
    (run,) = add(clone, "A data set")
    rng = np.random.default_rng(1)
    rows = rng.normal([5.0, 60.0, 0.2, 30.0], [0.5, 2.0, 0.02, 1.0], (400, 4))
    rows[-40:, 1] += 8.0
    pd.DataFrame(rows, columns=["flow", "heat", "hum", "load"]).to_csv(
        clone / "pump.csv", index=False
    )
    call(clone, "bash", "-c", run)
    results = clone / "results/pump"
    assert set(pd.read_csv(results / "add.csv")["source"]) == {"pump (pump.csv)"}
    events = pd.read_csv(results / "events.csv")
    assert set(events["event"]) == {"worn bearing"}
    assert events["missed"].max() == 0, "four standard deviations are seen"


def test_a_table_takes_its_file_and_a_line(clone: Path) -> None:
    (run,) = add(clone, "A table")
    commit(clone, "a table")
    call(clone, "bash", "-c", run)
    twin = pd.read_csv(clone / "results/ci/tables/early.csv")
    latex = (clone / "results/ci/tables/early.tex").read_text()
    for method, share in twin.groupby("method")["false_alarm"].mean().items():
        assert f"& {share:.2f} \\\\" in latex, method
    assert latex.count(r"\\") == 1 + twin["method"].nunique()
