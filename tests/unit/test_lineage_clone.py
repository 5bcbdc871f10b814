"""In a clone without artifacts: what is verified, what is not here, and what is asked for."""

import shutil
from pathlib import Path

import pytest
from small_run import (
    ADD,
    EVENTS,
    FACTS,
    GREEDY,
    STREAMS,
    TEX,
    TOLD,
    TWIN,
    check,
    edit,
    found,
    make_run,
    plan_of,
    record_of,
)

from causaldq.errors import DataError
from causaldq.files import read_csv
from causaldq.pipeline.lineage import cells
from causaldq.pipeline.lineage.absent import LEFT_TO_A_RUN, may_be_absent
from causaldq.pipeline.lineage.asked import resolve
from causaldq.pipeline.lineage.dry_run import PlannedJob
from causaldq.pipeline.lineage.manifest import write_manifest
from causaldq.pipeline.lineage.records import RecordStore, write_record
from causaldq.pipeline.lineage.small_files import (
    PLACE,
    read_small_files,
    write_small_files,
)
from causaldq.pipeline.lineage.trace import trace
from causaldq.pipeline.lineage.verdict_text import lines
from causaldq.pipeline.lineage.verify import verify
from causaldq.pipeline.report.codes import cell_code, cell_of

SMALL = PLACE.format(profile="ci")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose small files are kept, as its rule does it."""
    root = make_run(tmp_path)
    monkeypatch.chdir(root)
    names = [
        name
        for record in RecordStore(root, "ci").records
        for name in record.outputs
        if name.startswith("artifacts/") and name != STREAMS
    ]
    write_small_files(Path(SMALL), map(Path, names))
    write_record(root, "ci", record_of(root, "small_files", "small_files", names, [SMALL]))
    write_manifest(root, "ci")
    return root


def test_small_files_come_back_as_they_were(run: Path) -> None:
    kept = read_small_files(run / SMALL)
    assert kept[GREEDY] == (run / GREEDY).read_bytes()
    assert kept[FACTS] == (run / FACTS).read_bytes()
    before = (run / SMALL).read_bytes()
    write_small_files(Path(SMALL), map(Path, reversed(kept)))
    assert (run / SMALL).read_bytes() == before


def test_a_clone_is_clean_and_says_in_one_line_what_is_not_here(run: Path) -> None:
    jobs = plan_of(run)
    shutil.rmtree(run / "artifacts")
    verdict = check(run, jobs)
    assert verdict.findings == []
    told = [line for line in lines(verdict) if "not here" in line]
    assert len(told) == 1
    assert told[0].startswith("ci: not here: 1 files of 0.0 MB (1 in streams)")
    assert verdict.absent is not None
    assert verdict.absent.seconds == pytest.approx(2.5)


def test_a_number_is_verified_down_to_its_runs(run: Path) -> None:
    shutil.rmtree(run / "artifacts")
    chain = trace(run, run / TEX, TOLD)
    assert chain.verified
    assert chain.absent == [STREAMS]
    assert "recomputed from its runs: the same" in chain.cells[0]


def test_what_repeats_other_results_is_left_to_a_run(run: Path) -> None:
    """A clone has no rows of tables: they are told of, and taken from the tidy results."""
    jobs = plan_of(run)
    with_rows = trace(run, run / TEX, TOLD)
    (run / TWIN).unlink()
    verdict = check(run, jobs)
    assert verdict.findings == []
    assert verdict.absent is not None
    assert verdict.absent.folders == {"tables": 1}
    chain = trace(run, run / TEX, TOLD)
    assert chain.verified
    assert chain.cells == with_rows.cells
    assert "recomputed from its runs: the same" in chain.cells[0]
    assert trace(run, run / TWIN, TOLD).lacking == [TWIN]
    # The printed table still has to be what its tidy results give.
    edit(run, TEX, "11.5", "11.4")
    assert not trace(run, run / TEX, TOLD).verified


def test_git_leaves_out_what_verify_does_not_ask_for() -> None:
    ignored = (Path(__file__).parents[2] / ".gitignore").read_text().split()
    of_paper = {line for line in ignored if line.startswith("results/paper/")}
    assert of_paper == {f"results/paper/{pattern}" for pattern in LEFT_TO_A_RUN}
    for name in ("add.csv", "tables/overall.tex", "figures/overall.png", "cards.html"):
        assert not may_be_absent(f"results/paper/{name}")


REPORT, PAGE = "results/ci/report.html", "results/ci/overview.html"
PDF = "results/ci/paper.pdf"


def add_page(root: Path, *, has_document: bool) -> None:
    """The page that is read first, and the report."""
    for rule, name in (("front_page", PAGE), ("report", REPORT)):
        (root / name).write_text("a page")
        settings = {"seed": 1, "has_document": has_document}
        write_record(root, "ci", record_of(root, rule, rule, [ADD], [name], settings))
    write_manifest(root, "ci")


@pytest.mark.parametrize("name", [REPORT, TWIN, PAGE])
def test_what_is_deleted_from_a_run_of_ones_own_is_missing(run: Path, name: str) -> None:
    """A clone has none of the results that git leaves out; one that has some has made them all."""
    add_page(run, has_document=True)
    jobs = plan_of(run)
    (run / name).unlink()
    assert found(run, jobs) == {("missing", name)}
    (run / name).write_text("a page")
    for left in (REPORT, TWIN):
        (run / left).unlink()
    assert {file for kind, file in found(run, jobs) if kind == "missing"} == set()


@pytest.mark.parametrize("has_document", [True, False])
def test_what_is_asked_for_is_what_the_runs_own_machine_could_make(
    run: Path, has_document: bool
) -> None:
    asked = []

    def plan(*words: object) -> list[PlannedJob]:
        asked.append(words[3])
        return []

    verify(run, "ci", plan=plan)
    add_page(run, has_document=has_document)
    verify(run, "ci", plan=plan)
    assert asked == [None, has_document], "before there is a page, what this machine can make"


def test_a_document_that_is_not_asked_for_must_be_of_the_same_results(run: Path) -> None:
    """Made with LaTeX, in a run that went on without it."""
    add_page(run, has_document=False)
    jobs = plan_of(run)
    (run / PDF).write_text("a document")
    write_record(run, "ci", record_of(run, "document", "document", [ADD, TEX], [PDF]))
    write_manifest(run, "ci")
    assert found(run, jobs) == set()
    edit(run, TEX, "11.5", "11.4")
    assert ("stale", PDF) in found(run, jobs)


def test_a_kept_run_that_is_not_the_recorded_one_is_found(run: Path) -> None:
    jobs = plan_of(run)
    edit(run, GREEDY, "10.5", "10.6")
    write_small_files(Path(SMALL), map(Path, read_small_files(run / SMALL)))
    shutil.rmtree(run / "artifacts")
    assert not trace(run, run / TEX, TOLD).verified
    found = {(finding.kind, finding.file) for finding in check(run, jobs).findings}
    assert {("changed", SMALL), ("changed", GREEDY)} <= found


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no Parquet at all"])
def test_a_damaged_store_holds_nothing(run: Path, content: bytes) -> None:
    shutil.rmtree(run / "artifacts")
    (run / SMALL).write_bytes(content)
    with pytest.raises(DataError, match="is damaged"):
        read_small_files(run / SMALL)
    chain = trace(run, run / TEX, TOLD)
    assert GREEDY in chain.lacking


def test_a_result_that_is_not_here_is_missing(run: Path) -> None:
    jobs = plan_of(run)
    shutil.rmtree(run / "artifacts")
    (run / EVENTS).unlink()
    (finding,) = check(run, jobs).findings
    assert (finding.kind, finding.file) == ("missing", EVENTS)


def test_an_artifact_that_would_be_made_otherwise_is_missing(run: Path) -> None:
    """Its hash tells of other settings, so it is not what is asked for."""
    jobs = [
        job if job.rule != "simulate" else type(job)(job.rule, job.outputs, f"{job.command} --x")
        for job in plan_of(run)
    ]
    shutil.rmtree(run / "artifacts")
    found = {(finding.kind, finding.file) for finding in check(run, jobs).findings}
    assert ("missing", STREAMS) in found


def test_a_run_that_settings_have_left_behind_is_told_of_in_one_line(run: Path) -> None:
    jobs = [type(job)(job.rule, job.outputs, f"{job.command} --x") for job in plan_of(run)]
    told = [line for line in lines(check(run, jobs)) if line.startswith("note: most of it is of")]
    assert len(told) == 1
    assert "commit ccccccc" in told[0]
    assert not any("most of it" in note for note in check(run, plan_of(run)).notes)


# --- what is asked for ---------------------------------------------------------------------


def test_a_code_of_the_document_or_of_a_card_is_understood(run: Path) -> None:
    assert resolve(run, Path("ci:noise_free_p10"), TOLD) == (run / TEX, TOLD)
    row = cells.select(read_csv(run / ADD), f"{TOLD}, p10").iloc[0]
    code = cell_code(row)
    assert cell_of(code) is not None
    for asked in (code, f"{code}/add", f"{code}/arl0"):
        file, cell = resolve(run, Path(f"ci:{asked}"), None)
        assert file == run / ADD
        (found,) = trace(run, file, cell).rows
        assert cell_code(found) == code
    with pytest.raises(DataError, match=r"no ci:noise_fre_p10; did you mean noise_free_p10\?"):
        resolve(run, Path("ci:noise_fre_p10"), None)


def test_printed_labels_name_a_cell(run: Path) -> None:
    table = read_csv(run / ADD)
    by_names = cells.select(table, "greedy, case_a, paper, p10, delta=0.5")
    assert len(by_names) == 1
    for text in (
        "Greedy, case (a), the paper's protocol, p10, δ = 0.5",
        "greedy, Case (a), paper, scenario=p10, δ=0.5",
    ):
        assert cells.select(table, text).equals(by_names)


def test_a_label_may_have_a_comma_and_hold_another(run: Path) -> None:
    table = read_csv(run / ADD).replace({"greedy": "causal_dq", "random": "causal_dq_eq"})
    assert set(cells.select(table, "Causal DQ, case (a)")["method"]) == {"causal_dq"}
    found = cells.select(table, "Causal DQ, location-agnostic, case (a)")
    assert set(found["method"]) == {"causal_dq_eq"}


def test_a_mistyped_name_is_told_what_is_near(run: Path) -> None:
    with pytest.raises(DataError, match=r"did you mean greedy\?"):
        cells.select(read_csv(run / ADD), "gredy")
    with pytest.raises(DataError, match=r"did you mean results/ci/tables/noise_free_p10\.tex"):
        trace(run, run / "results/ci/tables/noise_fre_p10.tex")
