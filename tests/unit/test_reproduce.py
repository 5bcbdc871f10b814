"""What `make reproduce` shows on the way, what it ends with, and whether numbers agree."""

import io
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from causaldq.files import write_json
from causaldq.methods.registry import AGENTS, NAMES, is_bound
from causaldq.pipeline.lineage.agreement import COMPARED, agreement
from causaldq.pipeline.loading import load_config
from causaldq.pipeline.report.catalogue import catalogue
from causaldq.pipeline.report.chart import delay_chart
from causaldq.pipeline.report.headline import ROWS, headline_text
from causaldq.pipeline.report.palette import COLOURS, foremost, look, spread
from causaldq.pipeline.report.parts import parts, place_in_paper
from causaldq.pipeline.reproduce import (
    Bar,
    Run,
    closed_to,
    compare_with_lock,
    explain,
    home_for_caches,
    own_log,
    run_profile,
)

ROOT = Path(__file__).parents[2]
ADD = pd.read_csv(ROOT / "results/paper/add.csv")
LOG = """Building DAG of jobs...
Job stats:
job        count
-------  -------
train          2
tables         1
all            1
total          4

[Wed Nov 18 02:22:58 2026]
rule train:
    jobid: 3
[Wed Nov 18 02:23:58 2026]
Finished jobid: 3 (Rule: train)
1 of 4 steps (25%) done
localrule tables:
    jobid: 4
"""


def test_what_snakemake_says_is_understood() -> None:
    run = Run({"train": 100.0, "tables": 10.0}, cores=2)
    for line in LOG.splitlines()[:5]:
        run.read(line)
    assert not run.is_planned
    for line in LOG.splitlines()[5:]:
        run.read(line)
    assert run.is_planned
    assert (run.total, run.done.total(), run.running) == (3, 1, ["tables"])
    # 210 s of work on two cores; after one training as expected, 110 s are left for both.
    assert run.left(50) == pytest.approx(55)
    assert run.left(100) > run.left(50)
    run.read("Finished jobid: 4 (Rule: tables)")
    run.read("Finished jobid: 0 (Rule: all)")
    assert run.done.total() == 2


def test_the_bar_can_be_drawn() -> None:
    drawn = io.StringIO()
    run, bar = Run({}, 1), Bar("quick", Console(file=drawn, force_terminal=True, width=120))
    for line in LOG.splitlines():
        run.read(line)
        bar(run, 10.0)
    bar.progress.refresh()
    bar.close()
    assert "1/3 jobs" in drawn.getvalue()
    assert "tables" in drawn.getvalue()


@pytest.mark.parametrize("profile", ["mine", "other"])
def test_a_run_is_compared_with_its_lock(tmp_path: Path, profile: str) -> None:
    """A repository of DVC with two profiles: `mine` beside dvc.yaml, `other` in a folder."""
    dvc = [sys.executable, "-m", "dvc"]
    subprocess.run([*dvc, "init", "--no-scm", "--quiet"], cwd=tmp_path, check=True)
    stages = "stages:\n  all:\n    cmd: 'true'\n    wdir: ${wdir}\n    outs: ['${profile}.txt']\n"
    for folder, name, up in ((tmp_path, "mine", "."), (tmp_path / "other", "other", "..")):
        folder.mkdir(exist_ok=True)
        (folder / "dvc.yaml").write_text(stages)
        (folder / "params.yaml").write_text(f"profile: {name}\nwdir: {up}\n")
    made, lock = tmp_path / f"{profile}.txt", "dvc.lock" if profile == "mine" else "other/dvc.lock"
    made.write_text("as published")
    assert compare_with_lock(tmp_path, profile) == ""
    commit = [*dvc, "commit", "--force", "--quiet", lock.replace(".lock", ".yaml")]
    subprocess.run(commit, cwd=tmp_path, check=True)
    shutil.rmtree(tmp_path / ".dvc/cache")
    assert compare_with_lock(tmp_path, profile) == f"Every file has the bytes that {lock} says."
    status = [*dvc, "status", lock.replace(".lock", ".yaml")]
    said = subprocess.run(status, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "up to date" in said.stdout
    made.unlink()
    made.write_text("something else")
    assert f"It is not the run of {lock}" in compare_with_lock(tmp_path, profile)


def test_a_failure_is_told_with_its_cause_and_log(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("first\nDataError: stream 'a' is constant\n")
    run = Run({}, 1)
    for line in (*LOG.splitlines(), "Error in rule tables:", "    log: train.log (check it)"):
        run.read(line)
    told = explain(run, tmp_path, Path("snakemake.log"))
    assert told[0] == "The job tables failed (train.log):"
    assert "  DataError: stream 'a' is constant" in told
    assert told[-1].startswith("1 of 3 jobs are done and stay.")
    (tmp_path / "snakemake.log").write_text("config: no such profile\n")
    assert explain(Run({}, 1), tmp_path, Path("snakemake.log"))[0] == "config: no such profile"


def test_a_stopped_run_ends_all_that_it_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    child = f"import pathlib, time; pathlib.Path({str(started)!r}).touch(); time.sleep(3600)"
    code = (
        "import sys; from pathlib import Path; from causaldq.pipeline.reproduce import *\n"
        f"command = [sys.executable, '-c', {child!r}]\n"
        f"sys.exit(run_snakemake(command, Path({str(tmp_path / 'log')!r}), Run({{}}, 1), print))"
    )
    run = subprocess.Popen([sys.executable, "-c", code])
    while not started.exists():
        assert run.poll() is None
        time.sleep(0.02)
    os.kill(run.pid, signal.SIGINT)
    assert run.wait(1800) == 130


def test_a_second_run_is_sent_away_and_leaves_the_log_of_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config").symlink_to(ROOT / "config")
    log = tmp_path / "logs/ci/snakemake.log"
    log.parent.mkdir(parents=True)
    log.write_text("of a run that has ended")
    with own_log(log) as first:
        first.write("of the first")
        first.flush()
        assert run_profile(tmp_path, "ci", verbose=False) == 1
    assert "Another run of ci is at work in this folder" in capsys.readouterr().err
    assert log.read_text() == "of the first"


def test_a_folder_that_cannot_be_written_to_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config").symlink_to(ROOT / "config")
    (tmp_path / "results").mkdir()
    assert closed_to(tmp_path, "ci") is None
    # Root may write anywhere, so permissions alone would show nothing.
    monkeypatch.setattr("os.access", lambda path, _: Path(path).name != "results")
    assert run_profile(tmp_path, "ci", verbose=False) == 1
    assert f"{tmp_path}/results: no permission to write" in capsys.readouterr().err


def test_a_user_without_a_home_gets_one_for_caches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home_for_caches(tmp_path) == {}
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    home = home_for_caches(tmp_path)["HOME"]
    assert os.access(home, os.W_OK)


# --- do numbers agree? --------------------------------------------------------------------------


def made(
    folder: Path, rows: pd.DataFrame, code: str, content: str = "0", job: str = "evaluate",
    cpu: str = "one", glibc: str = "2.36",
) -> Path:  # fmt: skip
    """Results of a run whose files all come from one job."""
    file = f"artifacts/{folder.name}/runs/a.csv"
    rows, files = rows.assign(files=file), {file}
    folder.mkdir(parents=True)
    rows.to_csv(folder / "add.csv", index=False)
    one = {"sha256": content * 64, "size": 1}
    record = {
        "job": f"{job}/a", "rule": job, "script": f"scripts/{job}.py", "seed": 1,
        "command": f"python scripts/{job}.py --output {' '.join(sorted(files))}",
        "settings": {"seed": 1}, "inputs": {}, "outputs": dict.fromkeys(sorted(files), one),
        "code": {"commit": None, "dirty": None, "hash": code, "lock": None},
        "started": "2026-01-01T00:00:00+00:00", "ended": "2026-01-01T00:00:01+00:00",
        "status": 0, "resources": {"cpu_seconds": 1.0, "peak_memory_bytes": 1},
        "host": {"cpu": cpu, "system": f"Linux-6.1-x86_64-with-glibc{glibc}"},
    }  # fmt: skip
    write_json(folder / f"records/{job}/a.json", record)
    return folder


def some_rows() -> pd.DataFrame:
    return ADD[(ADD["scenario"] == "p10") & (ADD["method"] == "tssrp")].head(6)


@pytest.mark.parametrize(("code", "because"), [("a", "are the same"), ("b", "other code or")])
def test_a_number_that_differs_is_counted_and_explained(
    tmp_path: Path, code: str, because: str
) -> None:
    rows = some_rows()
    there = made(tmp_path / "results/there", pd.concat([rows, rows.assign(scenario="other")]), "a")
    same = agreement(made(tmp_path / "results/same", rows, code), there)
    numbers = len(rows) * len(COMPARED["add"][1])
    assert (same.both, same.only_here, same.differ) == (numbers, 0, [])
    assert same.sentence.startswith(f"{numbers} of {numbers} numbers agree with the committed run")
    moved = rows.copy()
    moved.loc[moved.index[2], "add"] += 1e-9
    added = moved.assign(scenario="new").head(1)
    found = agreement(made(tmp_path / "results/a", pd.concat([moved, added]), code), there)
    assert len(found.differ) == 1
    assert found.only_here == 2
    assert found.sentence.startswith(f"{numbers - 1} of {numbers} numbers agree")
    assert because in found.sentence


@pytest.mark.parametrize(("content", "agree"), [("0", 12), ("1", 0)])
def test_of_fewer_networks_the_files_are_compared(tmp_path: Path, content: str, agree: int) -> None:
    rows = some_rows().assign(n_seeds=10)
    there = made(tmp_path / "results/there", rows, "a")
    fewer = rows.assign(n_seeds=3, add=rows["add"] + 1, arl0=rows["arl0"] + 1)
    found = agreement(made(tmp_path / "results/a", fewer, "a", content), there)
    assert found.both - len(found.differ) == agree


SAME = "differ though code and settings are the same"


@pytest.mark.parametrize(("job", "cpu", "glibc", "because"), [
    ("train", "two", "2.36", "round otherwise (two, glibc2.36 there, one, glibc2.36 here)"),
    ("train", "one", "2.36", SAME),
    ("evaluate", "two", "2.36", SAME),
    ("evaluate", "two", "2.41", "round otherwise (glibc2.41 there, glibc2.36 here)"),
])  # fmt: skip
def test_a_machine_explains_only_what_it_can(
    tmp_path: Path, job: str, cpu: str, glibc: str, because: str
) -> None:
    rows = some_rows()
    there = made(tmp_path / "results/there", rows, "a", job=job, cpu=cpu, glibc=glibc)
    moved = rows.assign(add=rows["add"] + 1)
    assert because in agreement(made(tmp_path / "results/a", moved, "a", job=job), there).sentence


def test_the_default_profile_measures_what_the_whole_one_does() -> None:
    """Same seeds and sizes: every job of `quick` is a job of `paper`, with the same settings."""
    quick, paper = (load_config(ROOT / "config", {"profile": p}) for p in ("quick", "paper"))
    studies = {"propagation", "cross", "flare_scale"}
    chosen = {"profile", "methods", "scenarios", "sources", "report", *studies}
    assert quick.model_dump(exclude=chosen) == paper.model_dump(exclude=chosen)
    assert quick.scenarios.keys() <= paper.scenarios.keys()
    for name, wanted in quick.scenarios.items():
        own = {"methods", "training_study", "training_seeds"}  # fewer of them
        whole = paper.scenarios[name]
        assert wanted.model_dump(exclude=own) == whole.model_dump(exclude=own), name
        assert set(wanted.methods or quick.methods) <= set(whole.methods or paper.methods), name
    for name, source in quick.sources.items():
        assert source == paper.sources[name], name


# --- what a run ends with, and pages ------------------------------------------------------------


@pytest.mark.parametrize("scenario", ["p50", "tep_m10", "flares_m6"])
def test_the_end_of_a_run_is_short_and_says_what_the_table_says(scenario: str) -> None:
    rows = ADD[ADD["scenario"] == scenario]
    rows = rows[rows["table"] == rows["table"].iloc[0]]
    text = headline_text(scenario, rows, None)
    table = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(table) - 2 <= ROWS
    assert len(text.splitlines()) + 4 <= 25
    assert len({len(line) for line in table}) == 1, "columns are aligned"
    if scenario == "p50":
        one = rows.query("method == 'tssrp' and protocol == 'paper' and setting == 'case_a'")
        cell = one[one["delta"] == 1].iloc[0]
        assert f"{cell['add']:.1f} ({cell['published_add']:.1f})" in text
        assert "0.98 to 1.00 times as long as sensors that sit on them" in text


def test_methods_look_alike_nowhere() -> None:
    drawn = [look(name) for name in (*AGENTS, *NAMES) if not is_bound(name)]
    assert len({(one.colour, one.dashes) for one in drawn}) == len(drawn)
    first = foremost([*AGENTS, *NAMES], 7)
    assert len({look(name).colour for name in first}) == 7
    assert {look(name).colour for name in first} == set(COLOURS)


def test_names_are_moved_apart_and_keep_their_order() -> None:
    moved = spread([5.0, 5.0, 5.1, 0.0, 5.05], 1.0)
    ordered = sorted(moved)
    assert all(b - a > 0.99 for a, b in itertools.pairwise(ordered))
    assert moved[3] == pytest.approx(0.0, abs=0.5)
    assert moved[2] == max(moved)


def test_the_chart_draws_each_number_where_it_is() -> None:
    rows = ADD[(ADD["scenario"] == "p50") & (ADD["table"] == "noise_free")]
    chart = delay_chart(rows)
    assert sum(entry.is_shown for entry in chart.entries if not is_bound(entry.method)) == 7
    first = rows[(rows["setting"] == "case_a") & (rows["delta"] > 0)]
    assert chart.svg.count("<circle") == len(first)
    dots = re.findall(r'cy="([\d.]+)" r="4"><title>[^<]*?: ([\d.]+) steps', chart.svg)
    heights = sorted((float(delay), -float(y)) for y, delay in dots)
    assert [y for _, y in heights] == sorted(y for _, y in heights), "longer delays are higher"


def test_every_table_of_the_paper_is_in_its_pdf_and_all_else_in_the_appendix() -> None:
    shown = catalogue(load_config(ROOT / "config", {"profile": "paper"}))
    first, rest = parts(shown)
    called = [place[1] for one in first if (place := place_in_paper(one.name))]
    assert {f"Table {n}" for n in range(1, 14)} | {f"Figure {n}" for n in (2, 3, 4)} == set(called)
    both = {one.name for one in first} | {one.name for one in rest}
    assert both == {one.name for one in (*shown.tables, *shown.figures)}
    own = catalogue(load_config(ROOT / "config", {"profile": "plant"}))
    assert all(parts(own))
