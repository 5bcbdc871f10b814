"""What somebody may write into a run's folder, and that it is noticed and does no harm."""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from small_run import (
    ADD,
    FACTS,
    FIGURE,
    GREEDY,
    RANDOM,
    STREAMS,
    TEX,
    TOLD,
    TWIN,
    change_record,
    check,
    edit,
    facts,
    forge_records,
    found,
    make_run,
    plan_of,
    record_of,
    show,
    small_config,
)

from causaldq.errors import DataError
from causaldq.files import write_json
from causaldq.pipeline import code
from causaldq.pipeline.lineage import commands
from causaldq.pipeline.lineage.diff import compare
from causaldq.pipeline.lineage.dry_run import PlannedJob
from causaldq.pipeline.lineage.records import RecordStore, place_of, write_record
from causaldq.pipeline.lineage.replay import Replayed, ReplayError, _Tree, replay
from causaldq.pipeline.lineage.repository import git_state
from causaldq.pipeline.lineage.trace import trace
from causaldq.pipeline.lineage.verify import NOT_ASKED_FOR, Finding, Verdict, prune


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("once") / "project")


@pytest.fixture
def run(once: Path, tmp_path: Path) -> Path:
    """A run to be tampered with; its folder has a neighbour."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/kept.csv").write_text("not ours")
    return shutil.copytree(once, tmp_path / "project")


def everything(root: Path) -> set[str]:
    return {p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()}


def invalid(root: Path, job: str) -> str:
    """Why a job's record is not believed."""
    found = {f.file: f for f in check(root, plan_of(root)).findings}
    finding = found[place_of("ci", job).as_posix()]
    assert finding.kind == "invalid"
    assert job not in {record.job for record in RecordStore(root, "ci").records}
    return finding.why


# --- nothing is lost -------------------------------------------------------------------


def test_pruning_where_artifacts_are_absent_deletes_no_record(run: Path) -> None:
    """As in a fresh clone, which has results and records only."""
    jobs = plan_of(run)
    shutil.rmtree(run / "artifacts")
    before = everything(run)
    assert prune(run, check(run, jobs)) == []
    assert everything(run) == before


def test_pruning_deletes_exactly_what_is_listed(run: Path) -> None:
    jobs = [job for job in plan_of(run) if RANDOM not in job.outputs and STREAMS not in job.outputs]
    # One of the two files that this job made is not here; its record may be all that is known.
    (run / STREAMS).unlink()
    before, verdict = everything(run), check(run, jobs)
    listed = {finding.file for finding in verdict.findings if finding.why == NOT_ASKED_FOR}
    gone = prune(run, verdict)
    assert set(gone) == listed == before - everything(run)
    assert RANDOM in gone
    assert (run / place_of("ci", "simulate/sim_p10")).is_file()


@pytest.mark.parametrize("name", ["../outside/kept.csv", "results/ci/elsewhere/kept.csv"])
def test_nothing_outside_the_project_is_deleted(run: Path, name: str) -> None:
    (run / "results/ci/elsewhere").symlink_to(run.parent / "outside")
    with pytest.raises(DataError, match=r"leads out of the project|no plain path"):
        prune(run, Verdict("ci", 1, 1, [Finding("stale", name, NOT_ASKED_FOR)], []))
    assert (run.parent / "outside/kept.csv").is_file()


# --- names in records ------------------------------------------------------------------


def test_a_record_speaks_for_its_own_job_alone(run: Path) -> None:
    """A job named ../../x would have its record outside of the records."""
    change_record(run, "evaluate/p10.greedy", job="../../../../outside/kept")
    assert "another place" in invalid(run, "evaluate/p10.greedy")


OUTPUTS: list[tuple[str, str]] = [
    ("/etc/passwd", "no plain path"),
    ("../outside/kept.csv", "no plain path"),
    ("results/ci/../../../outside/kept.csv", "no plain path"),
    ("results/ci//add.csv", "no plain path"),
    ("results/ci/.hidden/add.csv", "no data file"),
    ("results/ci/evil.py", "no data file"),
    ("results/ci/elsewhere/kept.csv", "leads out of the project"),
    ("results/ci/link.csv", "leads out of the project"),
    ("results/other/add.csv", "no file that jobs of ci make"),
    ("README.md", "no file that jobs of ci make"),
]


@pytest.mark.parametrize(("name", "why"), OUTPUTS)
def test_an_output_is_a_file_of_its_own_profile(run: Path, name: str, why: str) -> None:
    (run / "results/ci/elsewhere").symlink_to(run.parent / "outside")
    (run / "results/ci/link.csv").symlink_to(run.parent / "outside/kept.csv")
    change_record(run, "evaluate/p10.greedy", outputs={name: facts(run / ADD).model_dump()})
    assert why in invalid(run, "evaluate/p10.greedy")


@pytest.mark.parametrize(("name", "why"), OUTPUTS[:7])
def test_an_input_is_a_data_file_of_the_project(run: Path, name: str, why: str) -> None:
    (run / "results/ci/elsewhere").symlink_to(run.parent / "outside")
    change_record(run, "evaluate/p10.greedy", inputs={name: facts(run / ADD).model_dump()})
    assert why in invalid(run, "evaluate/p10.greedy")


def test_a_users_own_file_may_lie_anywhere_if_the_settings_name_it(run: Path) -> None:
    own = run.parent / "outside/kept.csv"
    for text in (str(own), "../outside/kept.csv"):
        settings = {"seed": 1, "wanted": {"file": text}}
        update: dict[str, Any] = {"settings": settings, "inputs": {str(own): vars(facts(own))}}
        change_record(run, "evaluate/p10.greedy", **update)
        assert "evaluate/p10.greedy" in {record.job for record in RecordStore(run, "ci").records}


def test_links_into_dvcs_cache_are_files_of_the_project(run: Path) -> None:
    shared = run.parent / "shared/0a"
    shared.parent.mkdir()
    os.rename(run / GREEDY, shared)
    (run / GREEDY).symlink_to(shared)
    assert "leads out of the project" in invalid(run, "evaluate/p10.greedy")
    (run / ".dvc").mkdir()
    (run / ".dvc/config.local").write_text("[cache]\n    dir = ../../shared\n")
    assert check(run, plan_of(run)).findings == []


# --- nothing is verified without proof -------------------------------------------------


def doubts(root: Path, file: str = TEX, cell: str | None = TOLD) -> list[str]:
    return trace(root, root / file, cell).doubts


def test_an_honest_run_is_verified(run: Path) -> None:
    for file in (TEX, TWIN, ADD, FIGURE):
        found = trace(run, run / file, f"{TOLD}, p10")
        assert found.verified, found.doubts
        assert found.cells[0].endswith("recomputed from its runs: the same")
    assert trace(run, run / TEX).verified


@pytest.mark.parametrize("job", ["simulate/sim_p10", "evaluate/p10.greedy", "aggregate"])
def test_what_jobs_make_needs_a_record(run: Path, job: str) -> None:
    (output, *_) = RecordStore(run, "ci").makers.keys() & set(
        next(r for r in RecordStore(run, "ci").records if r.job == job).outputs
    )
    (run / place_of("ci", job)).unlink()
    (doubt, *_) = doubts(run)
    assert "has no successful record" in doubt
    with pytest.raises(DataError, match="no successful record"):
        trace(run, run / output)


def test_a_failed_jobs_record_is_none(run: Path) -> None:
    change_record(run, "evaluate/p10.greedy", status=1)
    assert doubts(run) == [f"{GREEDY} has no successful record that says how it was made"]


def test_fetched_files_are_those_of_the_catalogue(run: Path) -> None:
    """Another profile may have fetched them, so that no record here tells of it."""
    name = "data/raw/some_set/a.csv"
    (run / name).parent.mkdir(parents=True)
    (run / name).write_text("fetched")
    outputs = [STREAMS, FACTS]
    write_record(run, "ci", record_of(run, "prepare", "prepare/sim_p10", [name], outputs))
    (run / place_of("ci", "simulate/sim_p10")).unlink()
    assert doubts(run) == [f"{name} has no successful record that says how it was made"]
    assert ("unexplained", name) in found(run, plan_of(run))
    for digest in (hashlib.sha256(b"fetched"), hashlib.md5(b"fetched")):
        entry = {"bytes": 7, "hash": f"{digest.name}:{digest.hexdigest()}"}
        known = dict.fromkeys(("title", "what", "version", "licence", "size", "citation"), "x")
        known |= {"obtained": "fetched", "address": None, "files": {"a.csv": entry}}
        write_json(run / "data/sources.yaml", {"some_set": known})
        assert doubts(run) == []
        assert ("unexplained", name) not in found(run, plan_of(run))
    (run / name).write_text("other")
    assert any(name in doubt for doubt in doubts(run))


@pytest.mark.parametrize(
    ("old", "new", "column"),
    [
        (",11.5,0.5773502692,", ",9.5,0.5773502692,", "add"),
        (",11.5,0.5773502692,", ",11.5,0.1773502692,", "se"),
        (",greedy,paper,4,0,", ",greedy,paper,400,0,", "n_rep"),
        (",greedy,paper,4,0,", ",greedy,paper,4,3,", "n_seeds"),
        (",14.2,0.7,", ",24.2,0.7,", "published_add"),
        (",14.2,0.7,", ",,,", "published_add"),
        (",0,0.25,5,50,", ",0,0.01,5,50,", "false_alarm"),
        (",0,0.25,5,50,", ",0,0.25,5,500,", "arl0"),
        (",40,60,1,1,", ",40,60,0,1,", "among_best"),
        ("runs/p10.greedy.csv", "runs/few.greedy.csv", "files"),
    ],
)
def test_what_its_runs_do_not_give_is_doubted_whatever_the_records_say(
    run: Path, old: str, new: str, column: str
) -> None:
    """The tidy table and a table with its twin, edited alike, and every record made to fit."""
    edit(run, ADD, old, new)
    show(run, small_config())
    forge_records(run)
    assert check(run, plan_of(run)).findings == [], "nothing else tells"
    found = doubts(run)
    assert any(f": {column}: the runs give " in doubt for doubt in found), found


def test_the_tidy_twin_of_a_table_is_hashed(run: Path) -> None:
    edit(run, TWIN, "0.5773502692", "0.1773502692")
    assert any(doubt.startswith(f"{TWIN} has ") for doubt in doubts(run))


@pytest.mark.parametrize("name", [TEX, TWIN])
def test_a_table_is_what_its_tidy_results_give(run: Path, name: str) -> None:
    """An edited table whose hash was put into the records."""
    edit(run, name, "14.2", "11.2")
    forge_records(run)
    (doubt, *_) = doubts(run, TEX, None)
    assert doubt.startswith(f"{name} is not what its tidy results give: line ")
    assert "11.2" in doubt
    assert "14.2" in doubt
    assert doubt in doubts(run)


def test_a_cell_that_a_figure_does_not_show_is_not_verified_by_it(run: Path) -> None:
    assert trace(run, run / FIGURE, f"{TOLD}, p10").verified
    with pytest.raises(DataError, match="no row with 'few'"):
        trace(run, run / FIGURE, f"{TOLD}, few")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"seed": 7}, "its seed is 7, that of its settings 1"),
        ({"settings": {"seed": 7}, "seed": 7}, "its settings are not those of its command"),
        ({"rule": "train"}, "is not of the rule train"),
        ({"script": "scripts/train.py"}, "its command is no run of scripts/train.py"),
        ({"script": "../x.py", "command": "python ../x.py"}, "its command is no run of"),
        ({"command": "python scripts/evaluate.py 'x"}, "its command is no run of"),
        ({"command": "python scripts/evaluate.py"}, "the log of another job"),
        ({"started": "2025-01-01T00:00:03.000+00:00"}, "it ended before it started"),
        ({"ended": "2999-01-01T00:00:00.000+00:00"}, "it ended in the future"),
    ],
)
def test_a_record_does_not_contradict_itself(run: Path, changed: dict[str, Any], why: str) -> None:
    jobs = plan_of(run)
    change_record(run, "evaluate/p10.greedy", **changed)
    place = place_of("ci", "evaluate/p10.greedy").as_posix()
    (doubt, *_) = doubts(run)
    assert doubt.startswith(place)
    assert why in doubt
    told = {f.file: f for f in check(run, jobs).findings}
    assert told[place].kind == "invalid"
    assert why in told[place].why


def test_a_job_makes_what_its_command_names(run: Path) -> None:
    """The outputs of two jobs are swapped: their hashes are right, and their makers are not."""
    for job, name in {"evaluate/p10.greedy": RANDOM, "evaluate/p10.random": GREEDY}.items():
        change_record(run, job, outputs={name: facts(run / name).model_dump()})
    (doubt, *_) = doubts(run)
    assert f"its command does not make {GREEDY}" in doubt


def test_records_that_need_each_other_lead_nowhere(run: Path) -> None:
    inputs = {GREEDY: facts(run / GREEDY).model_dump()}
    change_record(run, "simulate/sim_p10", inputs=inputs)
    assert trace(run, run / TEX, TOLD).steps


# --- commits ---------------------------------------------------------------------------


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def committed(run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run in a repository, made at its first commit."""
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2024-12-31T00:00:00Z")
    git(run, "init", "-q")
    (run / ".gitignore").write_text("artifacts/\n")
    git(run, "add", "--all")
    git(run, "commit", "-qm", "code")
    name_commit(run, git(run, "rev-parse", "HEAD"))
    return run


def name_commit(root: Path, commit: str, **more: Any) -> None:
    for record in RecordStore(root, "ci").records:
        code = record.code.model_copy(update={"commit": commit, **more})
        write_record(root, "ci", record.model_copy(update={"code": code}))


def test_a_commit_is_where_the_code_is_from(committed: Path) -> None:
    assert doubts(committed) == []
    (committed / "scripts/evaluate.py").write_text("EXTRA = 1\n")
    git(committed, "commit", "-qam", "other code")
    assert doubts(committed) == [], "code of then, whatever has become of it"
    name_commit(committed, git(committed, "rev-parse", "HEAD"))
    (doubt,) = doubts(committed)
    assert "evaluate/p10.greedy.json cannot be right: its code is not that of its comm" in doubt


def test_a_commit_is_one_of_the_history(committed: Path) -> None:
    name_commit(committed, "d" * 40)
    assert len(doubts(committed)) == 5, "as many as jobs"
    assert all("is not in the history" in doubt for doubt in doubts(committed))
    stranger = git(committed, "commit-tree", "-m", "never merged", "HEAD^{tree}")
    name_commit(committed, stranger)
    assert all("is not in the history" in doubt for doubt in doubts(committed))


def test_a_job_starts_after_its_commit(committed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2025-06-01T00:00:00Z")
    git(committed, "commit", "-q", "--allow-empty", "-m", "later")
    name_commit(committed, git(committed, "rev-parse", "HEAD"))
    assert all("it started before its commit" in doubt for doubt in doubts(committed))
    assert len(doubts(committed)) == 5


def test_code_that_was_not_committed_is_believed_while_it_is_here(committed: Path) -> None:
    script = committed / "scripts/evaluate.py"
    script.write_text("EXTRA = 1\n")
    name_commit(committed, git(committed, "rev-parse", "HEAD"), dirty=True)
    record = next(r for r in RecordStore(committed, "ci").records if r.job == "evaluate/p10.greedy")
    hash_now = code.job_hash(script, record.settings)
    changed = record.code.model_copy(update={"hash": hash_now})
    write_record(committed, "ci", record.model_copy(update={"code": changed}))
    assert doubts(committed) == []
    script.write_text("EXTRA = 2\n")
    code.forget()
    (doubt,) = doubts(committed)
    assert "it ran other code than that here, which was not committed" in doubt


def test_a_commit_is_data_and_no_option_of_git(run: Path) -> None:
    """Commits are handed to git, which takes much from its command line."""
    record = json.loads((run / place_of("ci", "aggregate")).read_text())
    change_record(run, "aggregate", code=record["code"] | {"commit": "--output=stolen"})
    assert "is no record (code.commit" in invalid(run, "aggregate")


def test_another_repositorys_commit_is_not_this_projects(committed: Path) -> None:
    inner = committed / "unpacked"
    inner.mkdir()
    assert git_state(committed)[0] is not None
    assert git_state(inner) == (None, None)


def test_git_is_asked_about_this_folder(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks of git set these variables, and jobs may be started by one."""
    git(run.parent / "outside", "init", "-q")
    git(run.parent / "outside", "commit", "-q", "--allow-empty", "-m", "elsewhere")
    monkeypatch.setenv("GIT_DIR", str(run.parent / "outside/.git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(run))
    assert git_state(run) == (None, None)


# --- nothing is run that a record says -------------------------------------------------

SIMULATE = """
import argparse
from pathlib import Path
parser = argparse.ArgumentParser()
for name in ("settings", "in", "log"):
    parser.add_argument(f"--{name}", nargs="*", dest=f"_{name}")
parser.add_argument("--out", type=Path, nargs="*")
for path in parser.parse_args().out:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("made")
"""


@pytest.fixture
def simulated(run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job that can be run again, and the workflow's plan of it."""
    (run / "scripts/simulate.py").write_text(SIMULATE)
    for name in (STREAMS, FACTS):
        (run / name).write_text("made")
    settings = {"seed": 1}
    record = record_of(run, "simulate", "simulate/sim_p10", [], [STREAMS, FACTS], settings)
    write_record(run, "ci", record)
    plan(monkeypatch, record.command)
    return run


def plan(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    jobs = [PlannedJob("simulate", [STREAMS, FACTS], command)]
    monkeypatch.setattr("causaldq.pipeline.lineage.replay.planned_jobs", lambda *_: jobs)


def replayed(root: Path) -> list[Replayed]:
    return list(replay(root, trace(root, root / STREAMS), root.parent / "replay"))


def test_a_job_is_run_as_the_workflow_plans_it(simulated: Path) -> None:
    assert replayed(simulated) == [Replayed("simulate/sim_p10", [])]
    assert (simulated.parent / "replay" / STREAMS).read_text() == "made"


@pytest.mark.parametrize(
    "command",
    [
        'python -c \'open("../outside/stolen", "w")\'',
        "python scripts/simulate.py; touch ../outside/stolen",
        "bash -c 'touch ../outside/stolen'",
        "python scripts/simulate.py --out ../outside/stolen",
        "python 'scripts/simulate.py",
    ],
)
def test_a_records_command_is_not_run(simulated: Path, command: str) -> None:
    change_record(simulated, "simulate/sim_p10", command=command)
    with pytest.raises(ReplayError, match="the workflow of its code plans no such command"):
        replayed(simulated)
    assert not (simulated.parent / "outside/stolen").exists()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("python -c 1", "no run of a script"),
        ("python scripts/../../x.py", "no run of a script"),
        ("python scripts/none.py", "there is no scripts/none.py"),
        ("python scripts/simulate.py --out ../outside/stolen", "leads out of the folder"),
        ("python scripts/simulate.py --out a=/tmp/stolen", "leads out of the folder"),
    ],
)
def test_a_plan_that_leads_out_of_the_folder_is_not_run(
    simulated: Path, monkeypatch: pytest.MonkeyPatch, command: str, why: str
) -> None:
    """Settings are data, too, and plans are made of them."""
    plan(monkeypatch, command)
    change_record(simulated, "simulate/sim_p10", command=command)
    with pytest.raises(ReplayError, match=why):
        replayed(simulated)
    assert not (simulated.parent / "outside/stolen").exists()


def test_settings_cannot_add_lines_to_a_plan(run: Path) -> None:
    settings = small_config().model_dump(mode="json")
    for text, expected in (("data/plant.csv", 2), ("plant.csv\nShell command: python -c 1", 1)):
        settings["sources"]["sim_p10"]["file"] = text
        change_record(run, "aggregate", settings=settings)
        (run.parent / "folder").mkdir(exist_ok=True)
        tree = _Tree(RecordStore(run, "ci"), run.parent / "folder")
        assert len(list(tree._settings())) == expected


def test_code_of_a_commit_that_was_never_merged_is_not_run(committed: Path) -> None:
    """Anybody can bring a commit into a repository by a pull request."""
    script = committed / "scripts/simulate.py"
    script.write_text("open('../outside/stolen', 'w')\n")
    record = next(r for r in RecordStore(committed, "ci").records if r.rule == "simulate")
    hash_then = code.job_hash(script, record.settings)
    git(committed, "stash", "-q")
    stranger = git(committed, "rev-parse", "stash@{0}")
    changed = record.code.model_copy(update={"commit": stranger, "hash": hash_then})
    write_record(committed, "ci", record.model_copy(update={"code": changed}))
    code.forget()
    with pytest.raises(ReplayError, match="has the code that made it"):
        replayed(committed)
    assert not (committed.parent / "outside/stolen").exists()


def test_code_is_not_replaced_by_what_lies_about(simulated: Path) -> None:
    name = "scripts/numpy.so"
    (simulated / name).write_text("not what it seems")
    change_record(simulated, "simulate/sim_p10", inputs={name: vars(facts(simulated / name))})
    tree = _Tree(RecordStore(simulated, "ci"), simulated.parent / "folder")
    tree._bring_given()
    assert not (simulated.parent / "folder" / name).exists()


@pytest.mark.parametrize(
    "harm",
    [
        lambda run: (run / place_of("ci", "evaluate/p10.greedy")).unlink(),
        lambda run: change_record(run, "evaluate/p10.greedy", status=1),
        lambda run: edit(run, TEX, "14.2", "11.2"),
        lambda run: (run / ADD).unlink(),
    ],
)
def test_a_replay_is_not_good_while_anything_is_not_verified(
    run: Path,
    harm: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whatever the jobs gave that were run again, here as recorded."""
    monkeypatch.chdir(run)
    monkeypatch.setattr("causaldq.pipeline.lineage.replay.replay", lambda *_: iter(()))
    monkeypatch.setattr(commands, "_same_number", lambda *_: True)
    commands.replay(Path(TEX), TOLD)
    assert "everything is the same" in capsys.readouterr().out
    harm(run)
    with pytest.raises(SystemExit) as ended:
        commands.replay(Path(TEX), TOLD)
    assert ended.value.code == 1
    told = capsys.readouterr().out
    assert "Not verified: " in told
    assert told.endswith("Replayed: it is not the same.\n")


def test_the_number_of_replayed_runs_is_compared_in_full(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Runs that give the same mean, and another error."""
    monkeypatch.chdir(run)
    found = trace(run, run / TEX, TOLD)
    again = shutil.copytree(run, run.parent / "again")
    assert commands._same_number(found, found.rows[0], again)
    runs = pd.read_csv(again / GREEDY)
    runs["delay"] += (runs["replication"] - 1) * 0.5
    runs.to_csv(again / GREEDY, index=False)
    assert not commands._same_number(found, found.rows[0], again)
    told = capsys.readouterr().out
    assert "se: the runs give 0.8660254038, the table has 0.5773502692" in told
    assert "; add: " not in told


# --- ways around it ----------------------------------------------------------------------


def test_another_copy_of_the_library_does_not_answer_for_a_folder_that_has_its_own(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run)
    (run / "src/causaldq/pipeline").mkdir(parents=True)
    for ask in (
        lambda: commands.verify(Path("results/ci")),
        lambda: commands.trace(Path(TEX)),
        lambda: commands.replay(Path(TEX)),
    ):
        with pytest.raises(DataError, match=r"this is the causaldq of .*has its own in src/"):
            ask()


RAW_FILE = "data/raw/tep_classic/d00.dat"


def test_downloaded_data_are_the_publishers_whatever_records_say(run: Path) -> None:
    """Other rows in the place of those fetched, with their hash in all records."""
    catalogue = Path(__file__).parents[2] / "data/sources.yaml"
    shutil.copyfile(catalogue, run / "data/sources.yaml")
    (run / RAW_FILE).parent.mkdir(parents=True)
    (run / RAW_FILE).write_text("other rows")
    write_record(run, "ci", record_of(run, "fetch", "fetch/tep", [], [RAW_FILE]))
    (record,) = (r for r in RecordStore(run, "ci").records if r.rule == "simulate")
    inputs = {RAW_FILE: facts(run / RAW_FILE)}
    write_record(run, "ci", record.model_copy(update={"inputs": inputs}))
    forge_records(run)
    (finding,) = (f for f in check(run, plan_of(run)).findings if f.file == RAW_FILE)
    assert "it is not the one of data/sources.yaml, 4c3c0b11eefa" in finding.why
    doubts = trace(run, run / TEX, TOLD).doubts
    assert doubts
    assert all("it is not the one of data/sources.yaml, 4c3c0b11eefa" in why for why in doubts)


@pytest.mark.parametrize("name", ["overview.html", "of/evaluate.jsonl.xz", "evaluate.jsonl.xz.old"])
def test_nothing_hides_among_the_records(run: Path, name: str) -> None:
    jobs = plan_of(run)
    place = run / "results/ci/records" / name
    place.parent.mkdir(exist_ok=True)
    place.write_text("p10: 1.5")
    assert found(run, jobs) == {("unexplained", f"results/ci/records/{name}")}


def test_nothing_hides_behind_a_link_to_a_folder(run: Path) -> None:
    jobs = plan_of(run)
    (run / "results/ci/more").symlink_to(run.parent / "outside")
    assert found(run, jobs) == {("unexplained", "results/ci/more")}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ('"status": 0, "status": 0', "the key 'status' stands twice"),
        ('"status": 1e400', "1e400 is no number"),
    ],
)
def test_a_record_says_one_thing_to_everybody(run: Path, said: str, why: str) -> None:
    """Of a key that stands twice, people read the first value and Python the last."""
    jobs = plan_of(run)
    edit(run, place_of("ci", "aggregate").as_posix(), '"status": 0', said)
    told = {f.file: f.why for f in check(run, jobs).findings}
    assert why in told[place_of("ci", "aggregate").as_posix()]


def test_a_space_more_within_quotes_is_another_setting(run: Path) -> None:
    """A name of a file, for one."""
    jobs = [
        PlannedJob(j.rule, j.outputs, j.command.replace('"seed": 1', '"seed":  1'))
        for j in plan_of(run)
        if (j.rule == "simulate")
    ] + [j for j in plan_of(run) if j.rule != "simulate"]
    assert {file for kind, file in found(run, jobs) if kind == "stale"} == {STREAMS, FACTS}


def test_what_git_keeps_beside_its_objects_changes_no_verdict(committed: Path) -> None:
    """Attributes that leave files out or rewrite them, and a graft that invents a history."""
    (committed / ".git/info").mkdir(exist_ok=True)
    (committed / ".git/info/attributes").write_text("scripts/* export-ignore\n* text eol=crlf\n")
    assert doubts(committed) == []
    stranger = git(committed, "commit-tree", "-m", "never merged", "HEAD^{tree}")
    tip = git(committed, "rev-parse", "HEAD")
    (committed / ".git/info/grafts").write_text(f"{tip} {stranger}\n")
    name_commit(committed, stranger)
    assert all("is not in the history" in doubt for doubt in doubts(committed))


def test_a_terminal_is_told_nothing_by_a_table(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A label that would hide all that follows, such as that nothing is verified."""
    monkeypatch.chdir(run)
    for name in (ADD, TWIN):
        edit(run, name, ",greedy,", ",greedy\x1b[8m,")
    with pytest.raises(SystemExit):
        commands.trace(Path(ADD), "delta=0.5")
    told = capsys.readouterr().out
    assert "greedy\\x1b[8m" in told
    assert "Not verified:" in told
    assert "\x1b[8m" not in told


def test_two_commits_are_compared_as_they_were_stored(committed: Path) -> None:
    """Whatever git is told to show in their place."""
    honest = git(committed, "rev-parse", "HEAD")
    edit(committed, ADD, ",11.5,", ",1.5,")
    git(committed, "commit", "-qam", "better")
    git(committed, "replace", "HEAD", honest)
    assert len(compare(committed, honest, "HEAD", "ci").moved) == 1
