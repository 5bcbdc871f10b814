"""What the README shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from clones import ROOT, call, make_clone

pytestmark = pytest.mark.workflow
README = (ROOT / "README.md").read_text()


def test_every_snakemake_command_of_the_readme_is_accepted() -> None:
    pages = README + (ROOT / "docs/reproduce.md").read_text()
    commands = re.findall(r"^(snakemake .*?)(?: +#.*)?$", pages, re.MULTILINE)
    assert len(commands) >= 3
    for command in commands:
        if "plant" not in command and "/data/" not in command:
            call(ROOT, "bash", "-c", f"{command} --dry-run")


def blocks(heading: str, language: str = "") -> list[str]:
    """Code blocks of a section."""
    section = README.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^```(\w*)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    return [block for kind, block in found if kind == language]


def test_the_python_example_prints_what_the_readme_says(tmp_path: Path) -> None:
    (first,) = blocks("As a library", "python")
    shown = next(block for block in blocks("As a library") if "asked" in block)
    done = subprocess.run(
        [sys.executable, "-c", first], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == shown


def test_own_data_are_monitored_as_the_readme_says(tmp_path: Path) -> None:
    clone = make_clone(tmp_path / "clone")
    example, fit, watch, run = blocks("Your plant")[0].splitlines()
    call(clone, "bash", "-c", example)
    assert "500 asked" in call(clone, "bash", "-c", fit).stdout
    watched = call(clone, "bash", "-c", watch, check=False)
    assert watched.returncode == 3
    alarm = re.search(r"^ *\d+  (\d+)  .*ALARM", watched.stdout.splitlines()[-2])
    assert alarm
    assert re.search(r"^ +\d+  raised 1: ", watched.stdout.splitlines()[-1])
    assert 800 <= int(alarm.group(1)) < 850, "the first alarm is the fault"
    call(clone, "bash", "-c", run)
    results = clone / "results/plant"
    delays = pd.read_csv(results / "add.csv")
    methods = {"bayes_posterior", "causal_dq", "causal_sr", "greedy", "tssrp", "random"}
    assert set(delays["method"]) == methods
    assert set(delays["source"]) == {"own (plant.csv)"}
    assert pd.read_csv(results / "events.csv")["missed"].max() < 1
    assert (results / "report.html").exists()
    fault = "cat <(head -n 1 plant.csv) <(tail -n 99 plant.csv)"
    for method in ("greedy", "causal_sr", "causal_dq"):
        monitor = (
            f"artifacts/plant/policies/plant.{method}{'.s0' * (method == 'causal_dq')}.monitor"
        )
        piped = call(clone, "bash", "-c", f"{fault} | causaldq watch {monitor}", check=False)
        assert piped.returncode == 3, piped.stdout
        # the fault's rows, and nothing else, were piped in
        assert sum("  next: " in line for line in piped.stdout.splitlines()) == 99
    assert "cause: reactor_temperature" in call(
        clone, "bash", "-c",
        f"{fault} | causaldq watch artifacts/plant/policies/plant.causal_sr.monitor", check=False,
    ).stdout  # fmt: skip
    # Without the data nothing tells whether all this is still good.
    (clone / "plant.csv").unlink()
    again = call(clone, "bash", "-c", run, check=False)
    assert again.returncode == 1
    assert "sources.plant.file: plant.csv does not exist; put it there" in again.stdout
    checked = call(
        clone, "causaldq", "verify", "results/plant", "--configfile", "config/plant.yaml",
        check=False,
    )  # fmt: skip
    assert checked.returncode == 1
    assert "sources.plant.file: plant.csv does not exist" in checked.stdout


def test_every_tool_command_on_top_works() -> None:
    commands = re.findall(r"^(causaldq check .*?)(?: +#.*)?$", README, re.MULTILINE)
    assert commands
    for command in commands:
        call(ROOT, "bash", "-c", command)


def test_every_make_target_of_the_readme_exists() -> None:
    targets = set(re.findall(r"\bmake (\w+)\b", README))
    assert {"reproduce", "test"} <= targets
    for target in sorted(targets):
        call(ROOT, "make", "--dry-run", target)


def test_every_place_the_readme_names_exists() -> None:
    for name in re.findall(r"\]\(((?!http)[^)]+)\)", README):
        assert (ROOT / name).exists(), name
    layout = re.search(r"## Layout\n```\n(.*?)```", README, re.DOTALL)
    assert layout
    for line in layout.group(1).splitlines():
        for name in re.split(r" {2,}", line)[0].split() if "<" not in line.split()[0] else []:
            assert (ROOT / name).exists(), name
