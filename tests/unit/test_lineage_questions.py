"""verify, trace and diff, asked of a small run made by hand."""

import hashlib
import io
import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from dvc_data.hashfile.tree import Tree
from rich.console import Console

from causaldq import code
from causaldq.errors import DataError
from causaldq.files import write_csv, write_json
from causaldq.lineage import show
from causaldq.lineage.cells import mean_delay, select
from causaldq.lineage.changes import changed_settings, described
from causaldq.lineage.diff import KEYS, compare, compare_cells, lines
from causaldq.lineage.planned import PlannedJob, parse
from causaldq.lineage.records import (
    CodeFacts,
    Ledger,
    Record,
    Resources,
    facts,
    place_of,
    same_command,
    seed_of,
    write_record,
)
from causaldq.lineage.trace import as_data, trace
from causaldq.lineage.verify import MANY, Finding, Verdict, prune, verify
from causaldq.lineage.verify import lines as verdict_lines

STREAMS = "artifacts/ci/streams/s.npz"
RUN = "artifacts/ci/runs/p.{}.csv"
ADD, TEX, TWIN = "results/ci/add.csv", "results/ci/tables/t_p.tex", "results/ci/tables/t_p.csv"
GIVEN = "data/published.csv"
SETTINGS = {"seed": 1, "scenarios": {"p": {"restart": False, "setting": None}}}


def record_of(
    root: Path, rule: str, job: str, inputs: Sequence[str], outputs: Sequence[str], **more: Any
) -> Record:
    """A record of files as they are."""
    script = f"scripts/{rule}.py"
    (root / script).parent.mkdir(exist_ok=True)
    (root / script).touch()
    settings = more.get("settings", {"seed": 1})
    words = ["python", script, "--settings", json.dumps(settings)]
    words += ["--in", *inputs, "--out", *outputs]
    return Record(
        job=job,
        rule=rule,
        script=script,
        command=shlex.join(words),
        settings=settings,
        seed=settings.get("seed"),
        inputs={name: facts(root / name) for name in inputs},
        outputs={name: facts(root / name) for name in outputs},
        code=CodeFacts(commit="c" * 40, dirty=False, hash=code.code_hash(root / script), lock=None),
        started="2026-01-01T00:00:00.000+00:00",
        ended=more.get("ended", "2026-01-01T00:00:02.500+00:00"),
        status=more.get("status", 0),
        resources=Resources(cpu_seconds=1.0, peak_memory_bytes=1),
        host={"cpu": "a cpu", "threads": 1, "python": "3", "numpy": "2", "torch": "2"},
    )


def delays_of(shift: float) -> pd.DataFrame:
    """Runs of one method: two protocols, two deltas, four replications, one false alarm."""
    rows = [
        {
            "protocol": protocol,
            "setting": "case_a",
            "sigma": 0.0,
            "delta": delta,
            "replication": r,
            "delay": shift + r + delta,
            "false_alarm": int(r == 3),
        }
        for protocol in ("paper", "fair")
        for delta in (0.5, 2.0)
        for r in range(4)
    ]
    return pd.DataFrame(rows)


def tidy_row(method: str, protocol: str, delta: float, runs: pd.DataFrame) -> dict[str, Any]:
    """By hand: delays of replications 0, 1 and 2."""
    first = runs["delay"].min() - 0.5
    return {
        **{"table": "t", "scenario": "p", "setting": "case_a", "p": 10, "m": 6, "k": 5},
        **{"sigma": 0.0, "delta": delta, "delta_train": 1.0, "method": method},
        **{"protocol": protocol, "n_rep": 4, "n_seeds": 0, "add": first + 1 + delta, "se": 0.5},
        **{"published_add": np.nan, "files": RUN.format(method)},
    }


def make_run(root: Path, shift: float = 10.0, seed: int = 1) -> Path:
    """Streams, two methods' runs, the tidy table and a table, with their records."""
    for name in (STREAMS, ADD, TEX, GIVEN):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / STREAMS).write_bytes(b"streams of seed %d" % seed)
    (root / GIVEN).write_text("published")
    methods = {"a": shift, "b": shift + 1}
    rows = []
    records = [record_of(root, "simulate", "simulate/s", [], [STREAMS], settings={"seed": seed})]
    for method, start in methods.items():
        runs = delays_of(start)
        write_csv(root / RUN.format(method), runs)
        rows += [
            tidy_row(method, protocol, delta, runs)
            for protocol in ("paper", "fair")
            for delta in (0.5, 2.0)
        ]
        job = f"evaluate/p.{method}"
        records.append(record_of(root, "evaluate", job, [STREAMS], [RUN.format(method)]))
    write_csv(root / ADD, pd.DataFrame(rows))
    write_csv(root / TWIN, pd.DataFrame(rows))
    (root / TEX).write_text("a table")
    runs = [RUN.format(method) for method in methods]
    settings = SETTINGS | {"seed": seed}
    records += [
        record_of(root, "aggregate", "aggregate", [*runs, GIVEN], [ADD], settings=settings),
        record_of(root, "tables", "tables", [ADD], [TEX, TWIN]),
    ]
    for record in records:
        write_record(root, "ci", record)
    return root


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path)


def plan_of(root: Path) -> list[PlannedJob]:
    """What was run is what is asked for."""
    records = Ledger(root, "ci").records
    return [PlannedJob(r.rule, list(r.outputs), r.command) for r in records]


def check(root: Path, jobs: list[PlannedJob], within: str | None = None) -> Verdict:
    place = Path(within) if within else None
    return verify(root, "ci", within=place, plan=lambda *_: jobs)


def found(root: Path, jobs: list[PlannedJob], within: str | None = None) -> set[tuple[str, str]]:
    return {(f.kind, f.file) for f in check(root, jobs, within).findings}


# --- verify ----------------------------------------------------------------------------


def test_many_files_with_one_thing_wrong_are_told_in_one_line() -> None:
    many = [Finding("missing", f"artifacts/ci/runs/{i}.csv", "gone") for i in range(MANY + 1)]
    few = [
        Finding("stale", "results/ci/add.csv", "old"),
        Finding("stale", "results/ci/a.png", "old"),
    ]
    told = list(verdict_lines(Verdict("ci", 1, 99, [*many, *few], [])))
    assert told[1] == f"  artifacts/ci/runs/, {MANY + 1} files: gone"
    assert told[3:5] == ["  results/ci/add.csv: old", "  results/ci/a.png: old"]
    assert told[-1] == f"ci: {MANY + 3} findings in 99 files"


def test_a_good_tree_has_no_findings(run: Path) -> None:
    verdict = check(run, plan_of(run))
    assert verdict.findings == []
    assert verdict.files == 6


@pytest.mark.parametrize("name", [STREAMS, RUN.format("a"), ADD, TEX, TWIN])
def test_one_flipped_bit_is_named(run: Path, name: str) -> None:
    jobs = plan_of(run)
    content = bytearray((run / name).read_bytes())
    content[len(content) // 2] ^= 1
    (run / name).write_bytes(content)
    assert ("changed", name) in found(run, jobs)


def test_what_was_made_from_a_changed_file_is_stale(run: Path) -> None:
    jobs = plan_of(run)
    (run / STREAMS).write_bytes(b"other")
    stale = {file for kind, file in found(run, jobs) if kind == "stale"}
    assert stale == {RUN.format("a"), RUN.format("b")}
    (run / GIVEN).write_text("other")
    assert ("stale", ADD) in found(run, jobs)


def test_what_is_missing_and_what_nobody_made_are_named(run: Path) -> None:
    jobs = plan_of(run)
    (run / RUN.format("b")).unlink()
    (run / GIVEN).unlink()
    (run / "results/ci/tables/stray.tex").write_text("?")
    assert found(run, jobs) == {
        ("missing", RUN.format("b")),
        ("missing", GIVEN),
        ("unexplained", "results/ci/tables/stray.tex"),
    }


def test_another_setting_makes_exactly_its_jobs_stale_and_is_named(run: Path) -> None:
    jobs = plan_of(run)
    i = next(i for i, job in enumerate(jobs) if job.outputs == [STREAMS])
    command = jobs[i].command.replace('"seed": 1', '"seed": 2')
    jobs[i] = PlannedJob("simulate", [STREAMS], command)
    (finding,) = check(run, jobs).findings
    assert finding == Finding("stale", STREAMS, "made with other settings (seed: 1 → 2)")


def forget_code() -> None:
    for part in (code.executed, code.imported, code._hash):
        part.cache_clear()


def test_other_code_makes_its_jobs_stale_and_a_comment_does_not(run: Path) -> None:
    jobs = plan_of(run)
    script = run / "scripts/tables.py"
    script.write_text("# a remark\n")
    forget_code()
    assert found(run, jobs) == set()
    script.write_text("EXTRA = 1\n")
    forget_code()
    assert found(run, jobs) == {("stale", TEX), ("stale", TWIN)}


def test_what_is_no_longer_asked_for_is_stale_and_can_be_pruned(run: Path) -> None:
    jobs = [job for job in plan_of(run) if job.outputs != [RUN.format("b")]]
    verdict = check(run, jobs)
    assert [(f.kind, f.file) for f in verdict.findings] == [("stale", RUN.format("b"))]
    assert prune(run, verdict) == [RUN.format("b")]
    assert not (run / place_of("ci", "evaluate/p.b")).exists()
    assert (run / place_of("ci", "evaluate/p.a")).exists()


def test_a_path_is_checked_with_all_that_it_was_made_from(run: Path) -> None:
    jobs = plan_of(run)
    (run / STREAMS).write_bytes(b"other")
    (run / TEX).write_text("other")
    names = {file for _, file in found(run, jobs, RUN.format("a"))}
    assert names == {STREAMS, RUN.format("a")}
    assert ("changed", TEX) in found(run, jobs, "results/ci/tables")
    with pytest.raises(DataError, match="no file of profile ci"):
        check(run, jobs, "results/ci/nothing")


def test_a_failed_job_and_a_broken_record_are_named(run: Path) -> None:
    jobs = plan_of(run)
    record = next(r for r in Ledger(run, "ci").records if r.job == "tables")
    write_record(run, "ci", record.model_copy(update={"status": 1, "outputs": {}}))
    (run / TEX).unlink()
    (run / place_of("ci", "simulate/s")).write_text("{")
    findings = {f.file: f for f in check(run, jobs).findings}
    assert findings[TEX].why == "its job ended with status 1"
    assert findings[TWIN].kind == "unexplained"
    assert findings["results/ci/records/simulate/s.json"].kind == "changed"


def test_dvc_lock_is_compared_by_content(run: Path) -> None:
    """Hashes as DVC 3 defines them, computed with its own library."""
    jobs = plan_of(run)

    def md5(name: str) -> str:
        return hashlib.md5((run / name).read_bytes()).hexdigest()

    tree = Tree.from_list(
        [{"md5": md5(RUN.format(m)), "relpath": f"p.{m}.csv"} for m in ("a", "b")],
        hash_name="md5",
    )
    tree.digest()
    folder = tree.hash_info.value
    for other, kinds in ((False, set()), (True, {("changed", "artifacts/ci/runs")})):
        outs = [
            {"path": "artifacts/ci/runs", "md5": "0.dir" if other else folder},
            {"path": ADD, "md5": md5(ADD)},
        ]
        elsewhere = [{"path": "artifacts/other/runs", "md5": "0.dir"}]
        stages = {"delays": {"outs": outs}, "elsewhere": {"outs": elsewhere}}
        (run / "dvc.lock").write_text(json.dumps({"stages": stages}))
        assert found(run, jobs) == kinds


def test_jobs_are_read_from_a_dry_run() -> None:
    text = """Building DAG of jobs...
[Mon Nov 16 05:18:18 2026]
rule theory:
    output: results/ci/theory.json, results/ci/curves.csv
    log: logs/ci/theory.log
    reason: Forced execution
Shell command: python scripts/theory.py --settings '{"a b": 1}' --output results/ci/theory.json

[Mon Nov 16 05:18:18 2026]
localrule all:
    input: results/ci/theory.json
    jobid: 0
Job stats:
"""
    assert parse(text) == [
        PlannedJob(
            "theory",
            ["results/ci/theory.json", "results/ci/curves.csv"],
            "python scripts/theory.py --settings '{\"a b\": 1}' --output results/ci/theory.json",
        )
    ]


def test_commands_are_compared_as_a_shell_reads_them(run: Path) -> None:
    assert same_command("python a.py  --x 1", "python a.py --x 1")
    assert same_command("python a.py 'b'", 'python a.py "b"')
    assert not same_command("python a.py 'b c'", "python a.py b c")
    jobs = plan_of(run)
    i = next(i for i, job in enumerate(jobs) if job.outputs == [STREAMS])
    jobs[i] = PlannedJob("simulate", [STREAMS], f"{jobs[i].command} --more 1")
    (finding,) = check(run, jobs).findings
    assert finding.why == "made by another command ( → --more 1)"


# --- trace -----------------------------------------------------------------------------


def test_a_cell_is_traced_to_its_own_runs_and_recomputed(run: Path) -> None:
    chain = trace(run, run / TEX, "a, paper, delta=0.5")
    jobs = [step.record.job for step in chain.steps]
    assert jobs == ["simulate/s", "evaluate/p.a", "aggregate", "tables"]
    assert chain.doubts == []
    # delays 10.5, 11.5 and 12.5; the run with the false alarm does not count
    assert chain.cells == [
        "p, a, paper, case_a, delta=0.5: delay 11.5, standard error 0.5, 4 replications;"
        " 11.5 from the runs themselves"
    ]
    (left_out,) = [step.left_out for step in chain.steps if step.record.job == "aggregate"]
    assert left_out == 1
    data = as_data(chain)
    assert data["vouched_for"] is True
    assert data["jobs"][1]["after"] == ["simulate/s"]


def test_without_a_cell_everything_behind_a_file_is_shown(run: Path) -> None:
    jobs = [step.record.job for step in trace(run, run / ADD).steps]
    assert jobs == ["simulate/s", "evaluate/p.a", "evaluate/p.b", "aggregate"]
    assert [s.record.job for s in trace(run, run / STREAMS).steps] == ["simulate/s"]


@pytest.mark.parametrize("name", [STREAMS, RUN.format("a"), ADD, TEX, GIVEN])
def test_nothing_on_the_way_may_differ(run: Path, name: str) -> None:
    before = trace(run, run / TEX, "a, paper, delta=0.5")
    assert not before.doubts
    with (run / name).open("ab") as handle:
        handle.write(b" ")
    doubts = trace(run, run / TEX, "a, paper, delta=0.5").doubts
    assert any(name in doubt for doubt in doubts)


def test_what_the_cell_does_not_come_from_may_differ(run: Path) -> None:
    (run / RUN.format("b")).write_text("other")
    assert trace(run, run / TEX, "a, paper, delta=0.5").doubts == []


def test_a_missing_file_is_no_proof(run: Path) -> None:
    (run / STREAMS).unlink()
    (doubt,) = trace(run, run / TEX, "a, paper, delta=0.5").doubts
    assert doubt.startswith(f"{STREAMS} is not there")


def test_a_number_that_its_runs_do_not_give_is_doubted(run: Path) -> None:
    """Even when the records were made to fit."""
    for name in (ADD, TWIN):
        (run / name).write_text((run / name).read_text().replace("11.5", "9.5"))
    ledger = Ledger(run, "ci")
    for record in ledger.records:
        update = {
            side: {name: facts(run / name) for name in getattr(record, side)}
            for side in ("inputs", "outputs")
        }
        write_record(run, "ci", record.model_copy(update=update))
    chain = trace(run, run / TEX, "a, paper, delta=0.5")
    assert chain.doubts == ["the runs give 11.5, the table has 9.5"]


def test_a_file_without_a_record_is_not_traced(run: Path) -> None:
    (run / "results/ci/tables/stray.tex").write_text("?")
    with pytest.raises(DataError, match="no record says how it was made"):
        trace(run, run / "results/ci/tables/stray.tex")
    with pytest.raises(DataError, match="does not exist"):
        trace(run, run / "results/ci/tables/none.tex")


def test_the_latest_record_speaks_for_a_file(run: Path) -> None:
    (run / STREAMS).write_bytes(b"made again")
    again = record_of(
        run, "simulate", "simulate/other_name", [], [STREAMS], ended="2027-01-01T00:00:00+00:00"
    )
    write_record(run, "ci", again)
    assert Ledger(run, "ci").makers[STREAMS].job == "simulate/other_name"


def test_fetched_files_show_their_address(run: Path) -> None:
    name = "artifacts/ci/fetched/s.json"
    origin = {"sha256": "f" * 64, "source": "download", "place": "https://example.org/x.csv"}
    (run / name).parent.mkdir()
    write_json(run / name, {"files": {"x.csv": origin}})
    write_record(run, "ci", record_of(run, "fetch", "fetch/s", [], [name]))
    (step,) = trace(run, run / name).steps
    (source,) = step.sources
    assert source.note == "download: https://example.org/x.csv"


def test_trees_and_pages_show_jobs_marks_and_commands(run: Path) -> None:
    (run / GIVEN).write_text("<other>")
    chain = trace(run, run / TEX, "b, fair, delta=2")
    console = Console(width=10_000, file=io.StringIO())
    console.print(show.as_tree(chain))
    tree = console.file.getvalue()  # type: ignore[attr-defined]
    for text in ("evaluate/p.b", "✓ artifacts/ci/runs/p.b.csv", f"✗ {GIVEN}", "--settings {…}"):
        assert text in tree
    page = show.as_page(chain)
    assert "Not vouched for" in page
    assert chain.steps[0].record.outputs[STREAMS].sha256 in page
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org", "")


# --- cells -----------------------------------------------------------------------------


def test_cells_are_chosen_by_words_and_by_keys(run: Path) -> None:
    table = pd.read_csv(run / ADD)
    assert len(select(table, "a")) == 4
    assert len(select(table, "a, case_a, delta=0.50")) == 2
    assert len(select(table, "case=case_a, protocol=fair, method=b, delta=2")) == 1


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("c", "no row with 'c'"),
        ("a, delta=3", "no row with 'delta=3' among those chosen so far; have 0.5, 2.0"),
        ("detla=3", "there is no 'detla'; give one of table, scenario"),
        ("delta=large", "delta is a number, not 'large'"),
    ],
)
def test_a_cell_that_is_not_there_is_explained(run: Path, cell: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        select(pd.read_csv(run / ADD), cell)


def test_the_mean_is_that_of_the_cells_own_runs(run: Path) -> None:
    row = pd.read_csv(run / ADD).iloc[0]
    # delays 10.5, 11.5, 12.5, and 13.5 after a false alarm
    assert mean_delay(run, row, SETTINGS) == 11.5
    again = {"scenarios": {"p": {"restart": True}}}
    assert mean_delay(run, row, again) == 12.0
    named = {"scenarios": {"p": {"setting": "tep"}}}
    row["setting"] = "tep"
    assert mean_delay(run, row, named) == 11.5


def test_the_mean_of_runs_of_another_kind_is_not_guessed(run: Path) -> None:
    row = pd.read_csv(run / ADD).iloc[0]
    for text in ("value\n1\n", None):
        row["files"] = "other.csv"
        if text:
            (run / "other.csv").write_text(text)
        else:
            (run / "other.csv").unlink()
        assert mean_delay(run, row, SETTINGS) is None


# --- diff ------------------------------------------------------------------------------


def test_equal_runs_do_not_differ(tmp_path: Path) -> None:
    for name in ("one", "two"):
        make_run(tmp_path / name)
    before, after = (str(tmp_path / name / "results/ci") for name in ("one", "two"))
    assert compare(tmp_path, before, after, "ci").same


def test_settings_data_code_and_moved_cells_are_named(tmp_path: Path) -> None:
    make_run(tmp_path / "one")
    two = make_run(tmp_path / "two", shift=12.0, seed=2)
    (two / "scripts/tables.py").write_text("EXTRA = 1\n")
    forget_code()
    write_record(two, "ci", record_of(two, "tables", "tables", [ADD], [TEX, TWIN]))
    before, after = (str(tmp_path / name / "results/ci") for name in ("one", "two"))
    difference = compare(tmp_path, before, after, "ci")
    assert difference.settings == {"seed": (1, 2)}
    assert list(difference.code) == ["scripts/tables.py"]
    assert difference.data == ["artifacts/streams/s.npz"]
    # every delay is two steps later, with a standard error of .5 on both sides
    assert len(difference.moved) == difference.cells == 8
    for cell in difference.moved:
        assert cell.after - cell.before == pytest.approx(2.0)
        assert cell.standard_errors == pytest.approx(2.0 / np.sqrt(0.5))
    text = "\n".join(lines(difference))
    assert "seed: 1 → 2" in text
    assert "8 of 8 moved" in text
    assert "+2.8 s.e." in text


def test_cells_of_one_side_only_and_undefined_cells() -> None:
    def table(deltas: list[float], add: list[float]) -> pd.DataFrame:
        frame = pd.DataFrame({key: ["x"] * len(deltas) for key in KEYS})
        return frame.assign(delta=deltas, sigma=0.0, add=add, se=[0.0, np.nan, 1.0][: len(add)])

    nan = float("nan")
    moved, before, after, both = compare_cells(
        table([1.0, 2.0, 3.0], [5.0, nan, 7.0]), table([1.0, 2.0], [6.0, nan])
    )
    assert both == 2
    assert [(m.before, m.after, m.standard_errors) for m in moved] == [(5.0, 6.0, None)]
    assert len(before) == 1
    assert after == []


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="neither a folder of results nor a commit"):
        compare(tmp_path, "nothing", "nothing", "ci")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"has no add\.csv"):
        compare(tmp_path, "empty", "empty", "ci")


def test_nested_settings_are_compared_one_by_one() -> None:
    old = {"a": {"b": 1, "c": [1, 2]}, "d": {}}
    new = {"a": {"b": 1, "c": [1, 3]}, "d": {"e": 0}}
    changes = changed_settings(old, new)
    assert changes == {"a.c": ([1, 2], [1, 3]), "d": ({}, None), "d.e": (None, 0)}
    assert changed_settings(old, old) == {}
    many = {str(i): (0, 1) for i in range(5)}
    assert described(many) == "0: 0 → 1; 1: 0 → 1; 2: 0 → 1; and 2 more"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"seed": 3, "m": 2}, 3),
        ({"networks": [{"seed": 5}, {"seed": 5}]}, 5),
        ({"networks": [{"seed": 5}, {"seed": 6}]}, None),
        ({"m": 2}, None),
        (None, None),
    ],
)
def test_the_seed_of_a_job_is_found_where_its_settings_have_it(
    settings: dict[str, Any] | None, expected: int | None
) -> None:
    assert seed_of(settings) == expected
