"""Nothing that is done to a run goes unnoticed, and nobody notices what is not there."""

import hashlib
from pathlib import Path

import pytest
from attacks import ATTACKS, CELL, EVALUATE, RUN, TABLE, Attack, _better_runs, as_table
from clones import ROOT, call, commit, edit_record, snakemake
from tampering import forge, linked_copy

from causaldq.errors import CausalDQError
from causaldq.pipeline.lineage.dry_run import PlannedJob, planned_jobs
from causaldq.pipeline.lineage.trace import trace
from causaldq.pipeline.lineage.verdict_text import lines
from causaldq.pipeline.lineage.verify import verify

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def plan(finished: Path) -> list[PlannedJob]:
    return planned_jobs(finished, "ci")


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy to be harmed."""
    return linked_copy(finished, tmp_path / "clone")


def causaldq(folder: Path, *words: str) -> tuple[bool, str]:
    """What a command says, and whether it is content."""
    python = ["env", f"PYTHONPATH={folder}/src", "python", "-m", "causaldq"]
    done = call(folder, *python, *words, check=False)
    return done.returncode == 0, done.stdout


def asked_to_verify(root: Path, plan: list[PlannedJob], attack: Attack | None) -> str | None:
    """What `verify` says, if it is not content or does not know of what commit the records are."""
    if attack and attack.by_command:
        content, told = causaldq(root, "verify", "results/ci")
        return None if content and "as in commit" in told else told
    try:
        verdict = verify(root, "ci", plan=lambda *_: plan)
    except CausalDQError as error:
        return str(error)
    told = "\n".join([*(f"{f.file}: {f.why}" for f in verdict.findings), *lines(verdict)])
    return told if verdict.findings or verdict.commit is None else None


def asked_to_trace(root: Path, file: str, cell: str | None, by_command: bool) -> str | None:
    """What `trace` says, if it is not content."""
    if by_command:
        words = ["--cell", cell] if cell else []
        content, told = causaldq(root, "trace", file, *words)
        return None if content else told
    try:
        found = trace(root, root / file, cell)
    except CausalDQError as error:
        return str(error)
    return None if found.verified else "\n".join(found.reasons)


def test_an_honest_run_is_verified(finished: Path, plan: list[PlannedJob]) -> None:
    assert asked_to_verify(finished, plan, None) is None
    assert asked_to_trace(finished, TABLE, CELL, by_command=False) is None


def test_there_are_forty_and_the_documentation_lists_them() -> None:
    assert len(ATTACKS) >= 40
    assert len({attack.what for attack in ATTACKS}) == len(ATTACKS)
    assert all(attack.verify or attack.trace for attack in ATTACKS)
    page = (ROOT / "docs/attacks.md").read_text()
    assert as_table() in page, "PYTHONPATH=tests/workflow python tests/slow/attacks.py prints it"


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.what.replace(" ", "_"))
def test_it_is_noticed(
    attack: Attack, run: Path, plan: list[PlannedJob], monkeypatch: pytest.MonkeyPatch
) -> None:
    attack.harm(run)
    for key, value in attack.environment.items():
        monkeypatch.setenv(key, value)
    said = {
        "verify": asked_to_verify(run, plan, attack),
        "trace": asked_to_trace(run, *attack.target, by_command=attack.by_command),
    }
    for who, expected in {"verify": attack.verify, "trace": attack.trace}.items():
        told = said[who]
        assert (told is None) == (expected is None), f"{who}: {told}"
        assert expected is None or expected in (told or ""), f"{who}: {told}"


def test_a_run_forged_down_to_its_commit_is_found_by_replay(
    run: Path, plan: list[PlannedJob]
) -> None:
    """Better runs, and all that follows from them made anew, with its records; and committed."""
    _better_runs(run, RUN)
    digest = hashlib.sha256((run / RUN).read_bytes()).hexdigest()
    size = (run / RUN).stat().st_size
    facts = {"sha256": digest, "size": size}
    edit_record(run, EVALUATE, lambda record: record["outputs"].update({RUN: facts}))
    snakemake(run, "-j2", "--config", "profile=ci")
    forge(run)
    commit(run, "better results", "results/ci")
    assert asked_to_verify(run, plan, None) is None, "or the table of attacks has to say so"
    assert asked_to_trace(run, TABLE, CELL, by_command=False) is None
    content, told = causaldq(run, "replay", TABLE, "--cell", CELL)
    assert not content
    assert f"{EVALUATE}: other bytes in {RUN}" in told
    assert told.endswith("Replayed: it is not the same.\n")
    assert "add: the runs give " in told


def test_no_attack_has_reached_the_run_that_they_share(
    finished: Path, plan: list[PlannedJob]
) -> None:
    assert asked_to_verify(finished, plan, None) is None
    told = call(finished, "git", "status", "--porcelain").stdout
    assert told == ""


def test_without_room_for_notes_it_says_so(run: Path) -> None:
    """The largest file that may be written is empty, as on a full disk: nothing can be planned."""
    words = ["python", "-m", "causaldq", "verify", "results/ci"]
    limited = ["bash", "-c", f'ulimit -f 0; PYTHONPATH={run}/src exec "$@" 2>&1 | cat', "-", *words]
    told = call(run, *limited, check=False).stdout
    assert told.startswith("ConfigError: snakemake cannot plan profile ci: ")
    assert "No usable temporary directory" in told
    assert told.count("\n") == 1, "one line, and no traceback"
