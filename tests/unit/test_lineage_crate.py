"""A crate holds a run that was verified, with the code that made it, and who ran it where."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from small_run import ADD, EVENTS, GREEDY, check, make_run, plan_of

from causaldq.errors import DataError
from causaldq.pipeline import code
from causaldq.pipeline.lineage import commands, verify
from causaldq.pipeline.lineage.crate import make_crate
from causaldq.pipeline.lineage.crate_entities import Packed
from causaldq.pipeline.lineage.manifest import write_manifest
from causaldq.pipeline.lineage.records import RecordStore, write_record
from causaldq.pipeline.lineage.repository import told


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def forget_code() -> None:
    code.forget()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of a commit, whose working folder is left as it was then."""
    root = make_run(tmp_path / "project")
    for name in ("Snakefile", "README.md", "requirements.lock", "src/causaldq/library.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name} as committed\n")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2024-12-31T00:00:00Z")
    git(root, "init", "-q")
    git(root, "add", "--all")
    git(root, "commit", "-qm", "code")
    name_commit(root, git(root, "rev-parse", "HEAD"))
    jobs = plan_of(root)
    monkeypatch.chdir(root)
    monkeypatch.setattr(verify, "verify", lambda *_: check(root, jobs))
    return root


def name_commit(root: Path, commit: str, *rules: str, **more: Any) -> None:
    lock = subprocess.run(
        ["git", "show", f"{commit}:requirements.lock"], cwd=root, check=True, capture_output=True
    )
    more = {"lock": hashlib.sha256(lock.stdout).hexdigest()} | more
    for record in RecordStore(root, "ci").records:
        if not rules or record.rule in rules:
            known = record.code.model_copy(update={"commit": commit, **more})
            write_record(root, "ci", record.model_copy(update={"code": known}))
    write_manifest(root, "ci")


def pack(root: Path, **options: Any) -> dict[str, dict[str, Any]]:
    """The crate's entities by name."""
    commands.crate(root.parent / "crate", "ci", **options)
    text = (root.parent / "crate/ro-crate-metadata.json").read_text()
    return {entity["@id"]: entity for entity in json.loads(text)["@graph"]}


WHO = {"operator": "Ada Example", "host": "bench.example.org"}


def test_who_ran_it_and_where_is_asked_for_once_and_never_made_up(run: Path) -> None:
    with pytest.raises(DataError, match="nobody has told who ran it; give --operator"):
        pack(run)
    with pytest.raises(DataError, match="nobody has told on which machine"):
        pack(run, operator="Ada Example")
    assert not (run.parent / "crate").exists()
    entity = pack(run, host="bench.example.org")
    assert told(run) == WHO
    shutil.rmtree(run.parent / "crate")
    assert pack(run) == entity
    job = entity["#job-aggregate"]
    assert entity[job["agent"]["@id"]]["@type"] == "Person"
    assert entity[job["agent"]["@id"]]["name"] == "Ada Example"
    assert entity[job["location"]["@id"]]["name"] == "bench.example.org"
    assert entity[entity["#run"]["agent"]["@id"]]["name"] == "Ada Example"


def test_what_a_record_says_of_them_goes_first(run: Path) -> None:
    record = next(r for r in RecordStore(run, "ci").records if r.job == "aggregate")
    update = {"operator": "Bob Example", "host": {**record.host, "name": "node7"}}
    write_record(run, "ci", record.model_copy(update=update))
    write_manifest(run, "ci")
    entity = pack(run, **WHO)
    job, other = entity["#job-aggregate"], entity["#job-tables"]
    assert entity[job["agent"]["@id"]]["name"] == "Bob Example"
    assert entity[job["location"]["@id"]]["name"] == "node7"
    assert entity[other["agent"]["@id"]]["name"] == "Ada Example"


def test_a_run_that_is_not_verified_is_not_packed(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / GREEDY).write_text("other")
    with pytest.raises(DataError, match="the run of ci is not verified"):
        pack(run, **WHO)
    assert f"{GREEDY}: results/ci/records/evaluate/p10.greedy.json" in capsys.readouterr().out
    assert not (run.parent / "crate").exists()
    entity = pack(run, **WHO, anyway=True)
    assert "NOT VERIFIED: it was packed with 3 findings" in entity["./"]["description"]
    findings = json.loads((run.parent / "crate/findings.json").read_text())
    assert {finding["file"] for finding in findings} == {GREEDY, ADD, EVENTS}
    assert {"@id": "findings.json"} in entity["./"]["hasPart"]


def test_a_good_crate_says_that_it_was_verified(run: Path) -> None:
    entity = pack(run, **WHO)
    assert "Everything was verified" in entity["./"]["description"]
    assert "findings.json" not in entity
    assert (run.parent / "crate/results/ci/manifest.json").is_file()


def test_the_code_is_that_of_the_recorded_commit(run: Path) -> None:
    """Whatever has become of it since: comments do not change a job's hash."""
    then = git(run, "rev-parse", "HEAD")
    for name in ("src/causaldq/library.py", "scripts/tables.py", "Snakefile"):
        (run / name).write_text("# a later remark\n")
    forget_code()
    entity = pack(run, **WHO)
    crate = run.parent / "crate"
    assert (crate / "src/causaldq/library.py").read_text().endswith("as committed\n")
    assert (crate / "Snakefile").read_text().endswith("as committed\n")
    assert (crate / "scripts/tables.py").read_text() == ""
    assert entity["Snakefile"]["version"] == entity["scripts/tables.py"]["version"] == then


def test_jobs_of_several_commits_have_their_own_code(run: Path) -> None:
    then = git(run, "rev-parse", "HEAD")
    (run / "scripts/tables.py").write_text("EXTRA = 1\n")
    git(run, "commit", "-qam", "other tables")
    forget_code()
    record = next(r for r in RecordStore(run, "ci").records if r.job == "tables")
    other = code.job_hash(run / record.script, record.settings)
    now = git(run, "rev-parse", "HEAD")
    name_commit(run, now, "tables", hash=other)
    entity = pack(run, **WHO)
    crate = run.parent / "crate"
    assert entity["#job-tables"]["instrument"] == {"@id": f"code/{now[:12]}/scripts/tables.py"}
    assert (crate / f"code/{now[:12]}/scripts/tables.py").read_text() == "EXTRA = 1\n"
    assert (crate / f"code/{now[:12]}/src/causaldq/library.py").is_file()
    assert entity["#job-figures"]["instrument"] == {"@id": "scripts/figures.py"}
    assert entity["scripts/figures.py"]["version"] == then
    for job, known in (("tables", other), ("figures", None)):
        told_of = [entity[p["@id"]] for p in entity[f"#job-{job}"]["additionalProperty"]]
        told_by_name = {p["name"]: p["value"] for p in told_of}
        expected = next(r for r in RecordStore(run, "ci").records if r.job == job).code
        assert told_by_name == {"code hash": known or expected.hash, "commit": expected.commit}


def test_code_that_nobody_has_is_not_made_up(run: Path) -> None:
    (run / "scripts/tables.py").write_text("EXTRA = 1\n")
    forget_code()
    name_commit(run, git(run, "rev-parse", "HEAD"), "tables", hash="0" * 64)
    with pytest.raises(DataError, match="tables: its code is in no commit, and not here"):
        make_crate(run, "ci", run.parent / "crate", Packed([], "Ada", "here"))
    entity = pack(run, **WHO, anyway=True)
    assert "The code of tables is not in it." in entity["./"]["description"]
