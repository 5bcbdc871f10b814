"""verify, trace and diff, asked of a small run made by hand."""

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from dvc_data.hashfile.tree import Tree
from rich.console import Console
from small_run import (
    ADD,
    GIVEN,
    GREEDY,
    LIMITS,
    RANDOM,
    RUN,
    STREAMS,
    TEX,
    TOLD,
    TWIN,
    check,
    found,
    make_run,
    plan_of,
    record_of,
)

from causaldq.errors import DataError
from causaldq.files import write_json
from causaldq.pipeline import code
from causaldq.pipeline.lineage import cells, show
from causaldq.pipeline.lineage.cells import select
from causaldq.pipeline.lineage.changes import changed_settings, described
from causaldq.pipeline.lineage.diff import KEYS, compare, compare_cells, lines
from causaldq.pipeline.lineage.dry_run import PlannedJob, parse
from causaldq.pipeline.lineage.dvc_lock import locked_stages
from causaldq.pipeline.lineage.records import (
    RecordStore,
    place_of,
    same_command,
    seed_of,
    write_record,
)
from causaldq.pipeline.lineage.trace import as_data, trace
from causaldq.pipeline.lineage.verdict_text import MANY
from causaldq.pipeline.lineage.verdict_text import lines as verdict_lines
from causaldq.pipeline.lineage.verify import Finding, Verdict, prune

FEW = [RUN.format("few.greedy"), RUN.format("few.random")]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path)


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
    # streams and facts, four limits, four runs, two tidy tables, a table with its twin, a figure
    assert verdict.files == 15


@pytest.mark.parametrize("name", [STREAMS, GREEDY, ADD, TEX, TWIN])
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
    assert stale == {GREEDY, RANDOM, *FEW, *(j.outputs[0] for j in jobs if j.rule == "calibrate")}
    (run / GIVEN).write_text("other")
    assert ("stale", ADD) in found(run, jobs)


def test_what_is_missing_and_what_nobody_made_are_named(run: Path) -> None:
    jobs = plan_of(run)
    (run / TEX).unlink()
    (run / GIVEN).unlink()
    (run / "results/ci/tables/stray.tex").write_text("?")
    assert found(run, jobs) == {
        ("missing", TEX),
        ("missing", GIVEN),
        ("unexplained", "results/ci/tables/stray.tex"),
    }


def test_another_setting_makes_exactly_its_jobs_stale_and_is_named(run: Path) -> None:
    jobs = plan_of(run)
    i = next(i for i, job in enumerate(jobs) if job.outputs == [GREEDY])
    command = jobs[i].command.replace('"seed": 1', '"seed": 2')
    jobs[i] = PlannedJob("evaluate", [GREEDY], command)
    (finding,) = check(run, jobs).findings
    assert finding == Finding("stale", GREEDY, "made with other settings (seed: 1 → 2)")


def forget_code() -> None:
    code.forget()


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
    jobs = [job for job in plan_of(run) if job.outputs != [RANDOM]]
    verdict = check(run, jobs)
    record = place_of("ci", "evaluate/p10.random").as_posix()
    assert [(f.kind, f.file) for f in verdict.findings] == [("stale", RANDOM), ("stale", record)]
    assert prune(run, verdict) == [RANDOM, record]
    assert not (run / RANDOM).exists()
    assert not (run / record).exists()
    assert (run / place_of("ci", "evaluate/p10.greedy")).exists()


def test_a_path_is_checked_with_all_that_it_was_made_from(run: Path) -> None:
    jobs = plan_of(run)
    (run / STREAMS).write_bytes(b"other")
    (run / TEX).write_text("other")
    names = {file for _, file in found(run, jobs, GREEDY)}
    assert names == {STREAMS, LIMITS.format("sim_p10.m6.greedy"), GREEDY}
    assert ("changed", TEX) in found(run, jobs, "results/ci/tables")
    with pytest.raises(DataError, match="no file of profile ci"):
        check(run, jobs, "results/ci/nothing")


def test_a_failed_job_and_a_broken_record_are_named(run: Path) -> None:
    jobs = plan_of(run)
    record = next(r for r in RecordStore(run, "ci").records if r.job == "tables")
    write_record(run, "ci", record.model_copy(update={"status": 1, "outputs": {}}))
    (run / TEX).unlink()
    (run / place_of("ci", "simulate/sim_p10")).write_text("{")
    findings = {f.file: f for f in check(run, jobs).findings}
    assert findings[TEX].why == "its job ended with status 1"
    assert findings[TWIN].kind == "unexplained"
    assert findings["results/ci/records/simulate/sim_p10.json"].kind == "invalid"


def test_dvc_lock_is_compared_by_content(run: Path) -> None:
    """Hashes as DVC 3 defines them, computed with its own library."""
    jobs = plan_of(run)

    def md5(name: str) -> str:
        return hashlib.md5((run / name).read_bytes()).hexdigest()

    tree = Tree.from_list(
        [{"md5": md5(name), "relpath": Path(name).name} for name in (*FEW, GREEDY, RANDOM)],
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
    i = next(i for i, job in enumerate(jobs) if job.outputs == [GREEDY])
    jobs[i] = PlannedJob("evaluate", [GREEDY], f"{jobs[i].command} --more 1")
    (finding,) = check(run, jobs).findings
    assert finding.why == "made by another command ( → --more 1)"


# --- trace -----------------------------------------------------------------------------


def test_a_cell_is_traced_to_its_own_runs_and_recomputed(run: Path) -> None:
    chain = trace(run, run / TEX, TOLD)
    jobs = [step.record.job for step in chain.steps]
    own = ["simulate/sim_p10", "calibrate/sim_p10.m6.greedy", "evaluate/p10.greedy"]
    assert jobs == [*own, "aggregate", "tables"]
    assert chain.doubts == []
    # delays 10.5, 11.5 and 12.5, of variance 1; the run with the false alarm does not count
    assert chain.cells == [
        "p10, greedy, paper, case_a, delta=0.5: delay 11.5, standard error 0.58, 4 replications;"
        " published 14.2; recomputed from its runs: the same"
    ]
    data = as_data(chain)
    assert data["verified"] is True
    assert data["jobs"][2]["after"] == ["calibrate/sim_p10.m6.greedy", "simulate/sim_p10"]


def test_without_a_cell_everything_behind_a_file_is_shown(run: Path) -> None:
    jobs = [step.record.job for step in trace(run, run / ADD).steps]
    assert jobs[0] == "simulate/sim_p10"
    assert jobs[-1] == "aggregate"
    assert len(jobs) == 10
    assert [s.record.job for s in trace(run, run / STREAMS).steps] == ["simulate/sim_p10"]


@pytest.mark.parametrize("name", [STREAMS, GREEDY, ADD, TEX, GIVEN])
def test_nothing_on_the_way_may_differ(run: Path, name: str) -> None:
    before = trace(run, run / TEX, TOLD)
    assert not before.doubts
    with (run / name).open("ab") as handle:
        handle.write(b" ")
    doubts = trace(run, run / TEX, TOLD).doubts
    assert any(name in doubt for doubt in doubts)


def test_what_the_cell_does_not_come_from_may_differ(run: Path) -> None:
    (run / RANDOM).write_text("other")
    assert trace(run, run / TEX, TOLD).doubts == []


def test_a_missing_run_is_no_proof(run: Path) -> None:
    (run / GREEDY).unlink()
    chain = trace(run, run / TEX, TOLD)
    assert chain.doubts == []
    assert chain.absent == [GREEDY]
    assert chain.reasons[0].startswith(f"{GREEDY} is not there")
    assert as_data(chain)["verified"] is False


def test_what_runs_were_made_from_may_be_known_by_its_hash(run: Path) -> None:
    (run / STREAMS).unlink()
    chain = trace(run, run / TEX, TOLD)
    assert chain.verified
    assert chain.absent == [STREAMS]
    told = str(chain.told_absent())
    assert told.startswith("not here: 1 files of 0.0 MB (1 in streams), known by their hashes;")
    # simulate, calibrate, evaluate and tables took 2.5 s each
    assert "`replay` makes them again in about 10 s of one core" in told


def test_a_file_without_a_record_is_not_traced(run: Path) -> None:
    (run / "results/ci/tables/stray.tex").write_text("?")
    with pytest.raises(DataError, match="no successful record says how it was made"):
        trace(run, run / "results/ci/tables/stray.tex")
    with pytest.raises(DataError, match="does not exist"):
        trace(run, run / "results/ci/tables/none.tex")


def test_the_latest_record_speaks_for_a_file(run: Path) -> None:
    (run / STREAMS).write_bytes(b"made again")
    again = record_of(
        run, "simulate", "simulate/other_name", [], [STREAMS], ended="2025-01-02T00:00:00+00:00"
    )
    write_record(run, "ci", again)
    assert RecordStore(run, "ci").makers[STREAMS].job == "simulate/other_name"


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
    chain = trace(run, run / TEX, "random, fair, case_a, delta=2")
    console = Console(width=10_000, file=io.StringIO())
    console.print(show.as_tree(chain))
    tree = console.file.getvalue()  # type: ignore[attr-defined]
    for text in ("evaluate/p10.random", f"✓ {RANDOM}", f"✗ {GIVEN}", "--settings {…}"):
        assert text in tree
    page = show.as_page(chain)
    assert "Not verified" in page
    assert chain.steps[0].record.outputs[STREAMS].sha256 in page
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org", "")


LOCK = """\
schema: '2.0'
stages:
  data:
    cmd: snakemake data
    deps:
    - path: Snakefile
      hash: md5
      md5: 0123456789abcdef0123456789abcdef
    outs:
    - path: artifacts/ci/streams
      hash: md5
      md5: 0123456789abcdef0123456789abcdef.dir
"""


def test_a_lock_names_outputs_and_none_is_no_fault(tmp_path: Path) -> None:
    assert locked_stages(tmp_path / "dvc.lock") == {}
    (tmp_path / "dvc.lock").write_text(LOCK)
    (out,) = locked_stages(tmp_path / "dvc.lock")["data"].outs
    assert (out.path, out.md5) == ("artifacts/ci/streams", "0123456789abcdef0123456789abcdef.dir")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not a lock",
        "- a\n",
        "a: [",
        "\0\x80",
        "stages:\n",
        "stages: [data]\n",
        "stages: {data: x}\n",
        "stages: {data: {outs: x}}\n",
        "stages: {data: {outs: [x]}}\n",
        "stages: {data: {outs: }}\n",
        "stages: {data: {outs: [{md5: a}]}}\n",
        "stages: {data: {outs: [{path: artifacts/ci/x}]}}\n",
        "stages: {data: {outs: [{path: 2020-01-01, md5: a}]}}\n",
        "stages: {data: {outs: [{path: /etc/passwd, md5: a}]}}\n",
        "stages: {data: {outs: [{path: artifacts/../../x, md5: a}]}}\n",
        "[" * 5000,
        "!!python/object/apply:os.system [exit]\n",
        LOCK[: LOCK.index("streams")],
        f"<<<<<<< HEAD\n{LOCK}=======\n{LOCK}>>>>>>> other\n",
    ],
)
def test_a_damaged_lock_is_named_in_one_line(run: Path, text: str) -> None:
    (run / "dvc.lock").write_text(text, encoding="latin-1")
    with pytest.raises(
        DataError, match=r"dvc\.lock is damaged \(.*\); restore it .* git"
    ) as caught:
        check(run, [])
    assert "\n" not in str(caught.value)


def test_a_folder_in_the_place_of_the_lock_is_named(run: Path) -> None:
    (run / "dvc.lock").mkdir()
    with pytest.raises(DataError, match=r"dvc\.lock is damaged \(Is a directory\)"):
        check(run, [])


# --- cells -----------------------------------------------------------------------------


def test_cells_are_chosen_by_words_and_by_keys(run: Path) -> None:
    table = pd.read_csv(run / ADD)
    assert len(select(table, "greedy, p10")) == 8
    assert len(select(table, "greedy, case_a, p10, delta=0.50")) == 2
    words = "case=case_a, protocol=fair, method=random, m=3, delta=2"
    assert len(select(table, words)) == 1


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("c", "no row with 'c'"),
        ("greedy, delta=3", "no row with 'delta=3' among those chosen so far; have 0.5, 2.0"),
        ("detla=3", "there is no 'detla'; give one of table, setting"),
        ("delta=large", "delta is a number, not 'large'"),
    ],
)
def test_a_cell_that_is_not_there_is_explained(run: Path, cell: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        select(pd.read_csv(run / ADD), cell)


RESULTS = Path(__file__).parents[2] / "results/paper"
TABLES = sorted(path.relative_to(RESULTS).as_posix() for path in RESULTS.rglob("*.csv"))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_answers_to_a_cell_or_says_in_one_line_why_not(name: str) -> None:
    table = pd.read_csv(RESULTS / name)
    first = table.iloc[0]
    texts = [str(value) for value in first if isinstance(value, str) and "," not in value]
    if not texts and "delta" in table:
        texts = [f"delta={first['delta']:g}"]
    found, lines_said = 0, []
    for cell in ("greedy", "causal_dq, case_a, delta=0.25", "p=50", "nothing of the kind", *texts):
        try:
            rows = select(table, cell)
        except DataError as error:
            lines_said.append(str(error))
            continue
        found += len(rows)
        for _, row in rows.iloc[:3].iterrows():
            assert "\n" not in cells.described(row)
    assert found, "its own first row"
    assert [line for line in lines_said if "\n" in line or len(line) > 2000] == []


def test_a_word_can_mean_any_column_of_text_but_not_a_list_of_files() -> None:
    table = pd.DataFrame({"policy": ["a", "b"], "add": [1.0, 2.0], "files": ["x", "y"]})
    (row,) = (row for _, row in select(table, "b").iterrows())
    assert cells.described(row) == "policy=b, add=2.0, files=y"
    with pytest.raises(DataError, match=r"no row with 'y' among those chosen so far; have a, b$"):
        select(table, "y")
    with pytest.raises(DataError, match="'1' could be anything; give add, files as name=value"):
        select(table[["add", "files"]], "1")


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
    settings = RecordStore(two, "ci").makers[TEX].settings
    write_record(two, "ci", record_of(two, "tables", "tables", [ADD], [TEX, TWIN], settings))
    before, after = (str(tmp_path / name / "results/ci") for name in ("one", "two"))
    difference = compare(tmp_path, before, after, "ci")
    assert difference.settings == {"seed": (1, 2)}
    assert list(difference.code) == ["scripts/tables.py"]
    assert difference.data == ["artifacts/streams/sim_p10.npz"]
    # every delay is two steps later, with a variance of 1 / 3 on both sides
    assert len(difference.moved) == difference.cells == 32
    for cell in difference.moved:
        assert cell.after - cell.before == pytest.approx(2.0)
        assert cell.standard_errors == pytest.approx(2.0 / np.sqrt(2 / 3))
    text = "\n".join(lines(difference))
    assert "seed: 1 → 2" in text
    assert "32 of 32 moved" in text
    assert "+2.4 s.e." in text


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
