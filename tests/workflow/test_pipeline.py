"""The real pipeline, run as users run it."""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from clones import BIN, ROOT, call, environment, jobs, snakemake, start, wait_until

from causaldq.pipeline.lineage.dry_run import planned_jobs
from causaldq.pipeline.lineage.records import RecordStore
from causaldq.pipeline.lineage.verify import had_latex, verify

pytestmark = pytest.mark.workflow

CI = ("--config", "profile=ci")
CONTRACT = [
    *("table", "setting", "p", "m", "k", "sigma", "delta", "delta_train", "method", "protocol"),
    *("n_rep", "n_seeds", "add", "se", "ci_low", "ci_high", "censored", "false_alarm", "limit"),
    *("arl0", "published_add", "published_se", "source"),
]


def dry_run(folder: Path, *settings: str) -> dict[str, int]:
    return jobs(snakemake(folder, "-n", "--config", "profile=ci", *settings).stdout)


def test_every_table_has_a_twin_that_names_its_files(finished: Path) -> None:
    tables = sorted((finished / "results/ci/tables").glob("*.tex"))
    assert tables
    for table in tables:
        twin = pd.read_csv(table.with_suffix(".csv"))
        named = {name for files in twin["files"] for name in files.split(";")}
        assert [name for name in sorted(named) if not (finished / name).is_file()] == [], table.name


def test_a_fresh_clone_gives_every_product(finished: Path) -> None:
    results = finished / "results" / "ci"
    for name in ("add.csv", "headline.md", "overview.html", "report.html"):
        assert (results / name).stat().st_size > 0
    for name in ("noise_free_p10", "tep_m5", "sfd_flares_m6", "events_tep_m5", "train_test"):
        for kind in ("tex", "csv"):
            assert (results / f"tables/{name}.{kind}").stat().st_size > 0
    for name in (
        "delay_p10",
        "delay_flares_m6",
        "events_tep_m5",
        "watch",
        "tradeoff",
        "places",
        "overall",
        "looks",
    ):
        for kind in ("pdf", "png"):
            assert (results / f"figures/{name}.{kind}").stat().st_size > 0
    if shutil.which("latexmk"):
        for name in ("paper", "appendix"):
            assert (results / f"{name}.pdf").read_bytes().startswith(b"%PDF")


def test_the_tidy_table_keeps_its_contract(finished: Path) -> None:
    table = pd.read_csv(finished / "results/ci/add.csv")
    assert list(table.columns[: len(CONTRACT)]) == CONTRACT
    own = table[table["table"] == "noise_free"]
    # seven methods, two shifts, two protocols
    assert len(own) == 28
    causal = own.query("method == 'causal_dq' and delta == 0.5 and protocol == 'paper'")
    assert causal["published_add"].item() == 19.5
    assert causal["published_se"].item() == 3.2
    assert table.query("method == 'greedy'")["published_add"].isna().all()
    # the same runs, beside what another table of the paper says of them
    other = table.query("table == 'train_test' and delta == 0.5 and protocol == 'paper'")
    assert other["method"].tolist() == ["causal_dq"]
    assert other["add"].item() == causal["add"].item()
    sources = table.groupby("table")["source"].unique().explode().to_dict()
    assert sources["tep"] == "tep_classic (package)"
    assert sources["sfd"] == "flares_surrogate (made)"
    assert sources["noise_free"] == "simulation"


def test_no_data_set_is_passed_over_in_silence(finished: Path) -> None:
    facts = json.loads((finished / "artifacts/ci/streams/tep.json").read_text())
    assert facts["label"] == "tep_classic (package)"
    assert "tep_classic (package)" in (finished / "logs/ci/fetch/tep.log").read_text()


def test_a_second_run_does_nothing(finished: Path) -> None:
    assert "Nothing to be done" in snakemake(finished, "-j2", *CI).stdout


def test_a_second_run_in_the_same_folder_is_refused(copy_of_finished: Path) -> None:
    again = (*CI, "--forcerun", "train", "--", "delays")
    log = copy_of_finished / "logs/ci/train"
    shutil.rmtree(log)
    first = start(copy_of_finished, "snakemake", "-j1", *again)
    try:
        wait_until(log.exists, first)
        # Held where it is, so that it cannot end before the second has begun.
        os.killpg(first.pid, signal.SIGSTOP)
        second = snakemake(copy_of_finished, "-j1", *again, check=False)
    finally:
        os.killpg(first.pid, signal.SIGCONT)
        first.wait()
    assert second.returncode != 0
    assert "another run is at work in this folder" in second.stdout
    assert first.returncode == 0
    assert "Nothing to be done" in snakemake(copy_of_finished, "-j1", *CI, "--", "delays").stdout


def test_a_setting_re_runs_what_depends_on_it(finished: Path) -> None:
    report = {"aggregate", "summarise_training", "claims", "tables", "figures", "document"}
    report |= {"pictures", "describe", "notebook", "front_page", "report", "overall"}
    report |= {"provenance", "metrics", "cards", "small_files"}
    assert "theory" in dry_run(finished, "theory={instances: 9}")
    assert set(dry_run(finished, "report={note: other}")) <= {*report}
    changed_delta = dry_run(finished, "scenarios={p10: {deltas: [0.5, 1.0]}}")
    assert set(changed_delta) <= {"calibrate", "evaluate", "showcase", "cross", *report}
    # Only the bound that is told the shift needs another limit for another shift.
    assert changed_delta["calibrate"] == 1
    changed_level = dry_run(finished, "discovery={level: 0.01}")
    assert "discover" in changed_level
    assert "train" in changed_level
    assert not {"simulate", "inject"} & set(changed_level)
    assert "simulate" in dry_run(finished, "seed=1")
    changed_training = dry_run(finished, "agent={epochs: 5}")
    assert changed_training["train"] == 1
    assert not {"simulate", "discover", "train_equivariant"} & set(changed_training)
    changed_network = dry_run(finished, "equivariant={updates: 5}")
    assert changed_network["train_equivariant"] == 1
    assert not {"train", "possible_graphs"} & set(changed_network)


def test_library_code_re_runs_what_uses_it_and_comments_re_run_nothing(
    copy_of_finished: Path,
) -> None:
    module = copy_of_finished / "src/causaldq/learn/reward.py"
    text = module.read_text()
    module.write_text(text + "\n# a remark\n")
    assert dry_run(copy_of_finished) == {}
    module.write_text(text + "\nEXTRA = 1\n")
    assert dry_run(copy_of_finished)["train"] == 1
    assert "discover" not in dry_run(copy_of_finished)


def test_of_the_catalogue_of_data_sets_only_what_a_job_uses_re_runs_it(
    copy_of_finished: Path,
) -> None:
    place = copy_of_finished / "data/sources.yaml"
    text = place.read_text()
    title = "  title: Tennessee Eastman Process, classic files\n"
    first = 'd00.dat: {bytes: 416049, hash: "sha256:4c3c0b11'
    assert title in text
    assert first in text
    place.write_text(f"# a remark\n{text}".replace("tep_rieth:\n", "tep_rieth:   # the paper's\n"))
    assert dry_run(copy_of_finished) == {}
    place.write_text(text.replace(title, "  title: The process\n"))
    shown = dry_run(copy_of_finished)
    assert "describe" in shown
    assert not {"fetch", "prepare"} & set(shown)
    place.write_text(text.replace(first, first.replace("4c3c0b11", "00000000")))
    assert dry_run(copy_of_finished)["fetch"] == 1


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        (
            "scenarios={p10: {m: 11}}",
            "scenarios.p10.m: 11 is not allowed here; give at most p = 10",
        ),
        ("methods=[causal_qd]", "methods: 'causal_qd' is not allowed here; give one of causal_dq"),
        ("seed=-1", "seed: -1 is not allowed"),
        (
            "discovery={algorithm: file, file: nothing.csv}",
            "discovery.file: nothing.csv does not exist; put it there",
        ),
        ("sede=1", "sede: there is no such setting; allowed here: profile, seed"),
    ],
)
def test_a_bad_setting_stops_before_any_job(finished: Path, setting: str, expected: str) -> None:
    done = snakemake(finished, "-j1", "--config", "profile=ci", setting, check=False)
    assert done.returncode != 0
    assert expected in done.stdout
    assert "Traceback" not in done.stdout


def test_a_failing_job_prints_its_cause_and_its_log(copy_of_finished: Path) -> None:
    (copy_of_finished / "bad.csv").write_text("not,edges\n")
    graph = "discovery={algorithm: file, file: bad.csv}"
    done = snakemake(copy_of_finished, "-j1", *CI, graph, "--", "graphs", check=False)
    assert done.returncode != 0
    assert "DiscoveryError: bad.csv" in done.stdout
    assert "logs/ci/discover/sim_p10.log" in done.stdout


def without_latex(folder: Path) -> str:
    """A PATH on which there is no LaTeX."""
    for tool in ("bash", "sh", "git", "tar", "which"):
        (folder / tool).symlink_to(str(shutil.which(tool)))
    return f"{BIN}{os.pathsep}{folder}"


def test_without_latex_everything_but_the_pdf_is_made(finished: Path, tmp_path: Path) -> None:
    without = environment() | {"PATH": without_latex(tmp_path)}
    done = subprocess.run(
        ["snakemake", "-n", "--forceall", *CI],
        cwd=finished,
        env=without,
        capture_output=True,
        text=True,
    )
    planned = jobs(done.stdout + done.stderr)
    assert {"report", "tables", "figures", "pictures", "notebook"} <= set(planned)
    assert "document" not in planned


def test_the_verdict_on_a_run_does_not_depend_on_latex(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was made with LaTeX is verified without it, and the other way round."""
    path = without_latex(tmp_path)
    if not (finished / "results/ci/paper.pdf").is_file():
        (tmp_path / "latexmk").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", path)
    verdict = verify(finished, "ci")
    assert verdict.findings == []
    assert verdict.absent is None
    other = not had_latex(RecordStore(finished, "ci"))
    rules = {job.rule for job in planned_jobs(finished, "ci", (), other)}
    assert ("document" in rules) == other


def test_every_script_explains_itself() -> None:
    for script in sorted((ROOT / "scripts").glob("*.py")):
        text = call(ROOT, "python", str(script), "--help").stdout
        assert len(text.split("\n\n")[1]) > 40, script


def test_the_linter_has_one_complaint_that_we_decided_to_live_with() -> None:
    # All rules run in one environment, pinned by requirements.lock.
    output = snakemake(ROOT, "--lint", check=False).stdout
    complaints = set(re.findall(r"^    \* (.*)$", output, re.MULTILINE))
    assert complaints <= {"Specify a conda environment or container for each rule.:"}
