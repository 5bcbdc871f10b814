"""One hash over all records, tied to a commit and perhaps a signature; and one on every page."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from small_run import (
    ADD,
    EVENTS,
    GREEDY,
    change_record,
    check,
    facts,
    forge_records,
    make_run,
    plan_of,
    record_of,
)

from causaldq.errors import DataError
from causaldq.files import sha256_of_text, write_json
from causaldq.pipeline.lineage.manifest import (
    SigningError,
    attest,
    manifest_of,
    sign,
    write_manifest,
)
from causaldq.pipeline.lineage.provenance import provenance, run_provenance
from causaldq.pipeline.lineage.records import RecordStore, write_record
from causaldq.pipeline.lineage.snakemake_metadata import SnakemakeMetadata, reconcile
from causaldq.pipeline.lineage.verdict_text import lines
from causaldq.pipeline.lineage.verify import verify
from causaldq.pipeline.report.tidy import short_hash

MANIFEST, SIGNATURE = "results/ci/manifest.json", "results/ci/manifest.json.sig"
PROVENANCE = "results/ci/provenance.json"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("once") / "project")


@pytest.fixture
def run(once: Path, tmp_path: Path) -> Path:
    return shutil.copytree(once, tmp_path / "project")


def manifest_findings(root: Path) -> list[str]:
    return [f.why for f in check(root, plan_of(root)).findings if f.file == MANIFEST]


# --- the manifest ----------------------------------------------------------------------


def test_the_hash_is_one_over_all_records(run: Path) -> None:
    """As the documentation says: SHA-256 of a sorted list of names and hashes of records."""
    folder = run / "results/ci/records"

    def text(value: Any) -> str:
        return json.dumps(value, sort_keys=True, separators=(",", ":"))

    listed = []
    for path in folder.rglob("*.json"):
        said = json.loads(path.read_text())
        said.pop("snakemake")
        listed.append([str(path.relative_to(folder))[: -len(".json")], sha256_of_text(text(said))])
    assert len(listed) == 12
    assert manifest_of(run, "ci").hash == sha256_of_text(text(sorted(listed)))
    assert json.loads((run / MANIFEST).read_text())["hash"] == manifest_of(run, "ci").hash
    assert manifest_findings(run) == []


@pytest.mark.parametrize(
    "changed",
    [
        {"host": {"cpu": "another"}},
        {"started": "2025-01-01T00:00:01.000+00:00"},
        {"resources": {"cpu_seconds": 2.0, "peak_memory_bytes": 1}},
    ],
)
def test_what_cannot_be_checked_otherwise_is_held_by_the_manifest(
    run: Path, changed: dict[str, Any]
) -> None:
    change_record(run, "evaluate/p10.greedy", **changed)
    (why,) = manifest_findings(run)
    assert why == "records are not those it lists: evaluate/p10.greedy is another"
    assert [f.file for f in check(run, plan_of(run)).findings] == [MANIFEST], "nothing else tells"


def test_records_that_come_and_go_are_named(run: Path) -> None:
    folder = run / "results/ci/records"
    (folder / "tables.json").unlink()
    shutil.copy(folder / "figures.json", folder / "more.json")
    (why,) = manifest_findings(run)
    assert why == "records are not those it lists: more is not listed, tables is gone"


def test_snakemakes_own_notes_may_change(run: Path) -> None:
    change_record(run, "tables", snakemake={"rule": "tables"})
    assert manifest_findings(run) == []


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 1, "hash": "0", "records": {}}'])
def test_a_damaged_manifest_is_named(run: Path, text: str) -> None:
    (run / MANIFEST).write_text(text)
    (why,) = manifest_findings(run)
    assert why.startswith("it is damaged")


def test_a_missing_manifest_is_named_and_written_on_demand(run: Path) -> None:
    (run / MANIFEST).unlink()
    (why,) = manifest_findings(run)
    assert "`python -m causaldq manifest` writes it" in why
    assert write_manifest(run, "ci") is not None
    assert manifest_findings(run) == []
    assert write_manifest(run, "none") is None


# --- commits ---------------------------------------------------------------------------


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(folder: Path) -> str:
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "--allow-empty", "-m", "all")
    return git(folder, "rev-parse", "HEAD")


def told(root: Path) -> str:
    return "\n".join(lines(check(root, plan_of(root))))


def test_the_records_are_those_of_a_commit_or_of_none(run: Path) -> None:
    assert attest(run, "ci").commit is None, "no repository"
    git(run, "init", "-q")
    assert "not committed" in told(run)
    first = commit(run)
    assert attest(run, "ci").commit == first
    assert f"as in commit {first[:7]}" in told(run)
    (run / "README.md").write_text("more")
    commit(run)
    assert attest(run, "ci").commit == first, "where they were committed"


def test_records_forged_with_their_manifest_are_not_committed(run: Path) -> None:
    git(run, "init", "-q")
    first = commit(run)
    (run / GREEDY).write_text((run / GREEDY).read_text() + " ")
    before = (run / MANIFEST).read_text()
    forge_records(run)
    assert attest(run, "ci").problem is None
    assert attest(run, "ci").commit is None
    assert "not committed" in told(run)
    # An earlier state of the history is told as such.
    second = commit(run)
    assert attest(run, "ci").commit == second
    git(run, "checkout", "-q", first, "--", "results")
    assert (run / MANIFEST).read_text() == before
    assert attest(run, "ci").commit == first
    git(run, "commit", "-qm", "back again")
    assert attest(run, "ci").commit == git(run, "rev-parse", "HEAD")


def test_the_index_of_git_is_not_believed(run: Path) -> None:
    """Git can be told to take a file for unchanged."""
    git(run, "init", "-q")
    commit(run)
    git(run, "update-index", "--assume-unchanged", MANIFEST)
    change_record(run, "evaluate/p10.greedy", host={"cpu": "another"})
    write_manifest(run, "ci")
    assert attest(run, "ci").commit is None


def test_a_commit_outside_the_history_is_none(run: Path) -> None:
    git(run, "init", "-q")
    commit(run)
    git(run, "checkout", "-q", "-b", "aside")
    change_record(run, "evaluate/p10.greedy", host={"cpu": "another"})
    write_manifest(run, "ci")
    commit(run)
    content = (run / MANIFEST).read_text(), (run / "results/ci/records").rename(run / "kept")
    git(run, "checkout", "-qf", "-")
    shutil.rmtree(run / "results/ci/records")
    content[1].rename(run / "results/ci/records")
    (run / MANIFEST).write_text(content[0])
    assert attest(run, "ci").problem is None
    assert attest(run, "ci").commit is None


# --- signatures ------------------------------------------------------------------------


@pytest.fixture
def key(tmp_path: Path) -> Path:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("needs ssh-keygen")
    path = tmp_path / "key"
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "auditor", "-f", str(path)]
    subprocess.run(words, check=True)
    return path


def signers(key: Path, name: str = "auditor@example.org") -> Path:
    public = key.with_suffix(".pub").read_text().split()
    key.with_suffix(".signers").write_text(f"{name} {public[0]} {public[1]}\n")
    return key.with_suffix(".signers")


def test_a_signature_is_checked(run: Path, key: Path) -> None:
    sign(run, "ci", key)
    assert (attest(run, "ci").signature or "").startswith("by the key SHA256:")
    assert attest(run, "ci", signers(key)).signature == "by auditor@example.org"
    assert f"signed {attest(run, 'ci').signature}" in told(run)


def test_a_signature_by_somebody_else_or_of_something_else_is_invalid(
    run: Path, key: Path, tmp_path: Path
) -> None:
    sign(run, "ci", key)
    other = tmp_path / "other"
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)]
    subprocess.run(words, check=True)
    attested = attest(run, "ci", signers(other))
    assert attested.signature is None
    assert "by nobody whom" in (attested.bad_signature or "")
    # The manifest as it is now, with the signature of the one before.
    kept = (run / SIGNATURE).read_text()
    change_record(run, "evaluate/p10.greedy", host={"cpu": "another"})
    write_manifest(run, "ci")
    assert not (run / SIGNATURE).exists()
    (run / SIGNATURE).write_text(kept)
    for listed in (None, signers(key)):
        attested = attest(run, "ci", listed)
        assert attested.signature is None
        assert attested.bad_signature
    assert ("invalid", SIGNATURE) in {(f.kind, f.file) for f in check(run, plan_of(run)).findings}


def test_a_signature_that_is_asked_for_and_not_there_is_told_of(run: Path, key: Path) -> None:
    assert attest(run, "ci").bad_signature is None
    assert attest(run, "ci", signers(key)).bad_signature == (
        "there is none, and --signers asks for one"
    )
    told = verify(run, "ci", signers=signers(key), plan=lambda *_: plan_of(run)).findings
    assert [(f.kind, f.file) for f in told] == [("invalid", SIGNATURE)]


def test_what_cannot_be_signed_is_explained(run: Path, tmp_path: Path) -> None:
    with pytest.raises(SigningError, match="cannot sign with"):
        sign(run, "ci", tmp_path / "none")
    (run / MANIFEST).unlink()
    with pytest.raises(DataError, match="does not exist"):
        sign(run, "ci", tmp_path / "none")


# --- what pages print ------------------------------------------------------------------


def tell(root: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(root)
    run_provenance([Path(ADD), Path(EVENTS)], Path(PROVENANCE))
    record = record_of(root, "provenance", "provenance", [ADD, EVENTS], [PROVENANCE])
    write_record(root, "ci", record)
    write_manifest(root, "ci")
    return short_hash(root / PROVENANCE)


def test_pages_print_a_hash_over_what_was_done(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tell(run, monkeypatch)
    assert len(before) == 12
    jobs = json.loads((run / PROVENANCE).read_text())["jobs"]
    assert set(jobs) == {r.job for r in RecordStore(run, "ci").records} - {
        *("tables", "figures", "provenance")
    }
    verdict = check(run, plan_of(run))
    assert verdict.findings == []
    assert verdict.provenance == before
    # When and where is not what.
    change_record(
        run, "evaluate/p10.greedy", host={"cpu": "another"}, ended="2025-01-03T00:00+00:00"
    )
    assert provenance(RecordStore(run, "ci"), [ADD])["hash"][:12] == before
    assert tell(run, monkeypatch) == before


@pytest.mark.parametrize("what", ["settings", "code", "inputs", "outputs", "command"])
def test_other_work_has_another_hash(run: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    before = tell(run, monkeypatch)
    record = next(r for r in RecordStore(run, "ci").records if r.job == "evaluate/p10.greedy")
    other = {
        "settings": {"seed": 2},
        "code": record.code.model_copy(update={"hash": "0" * 64}),
        "inputs": record.inputs | {GREEDY: facts(run / ADD)},
        "outputs": {GREEDY: facts(run / ADD)},
        "command": record.command + " --more",
    }[what]
    write_record(run, "ci", record.model_copy(update={what: other}))
    verdict = check(run, plan_of(run))
    assert verdict.provenance != before
    told = {f.file: f for f in verdict.findings}
    assert told[PROVENANCE].kind == "stale"
    # Snakemake is told to make it again.
    assert PROVENANCE in reconcile(RecordStore(run, "ci"), SnakemakeMetadata(run, 6))


def test_tidy_results_without_a_record_have_no_provenance(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run)
    (run / "results/ci/records/evaluate/p10.greedy.json").unlink()
    with pytest.raises(DataError, match=r"p10\.greedy\.csv has no successful record"):
        run_provenance([Path(ADD)], Path(PROVENANCE))
    write_json(run / PROVENANCE, {})
