"""Records tell what a job saw, and Snakemake is told what they say."""

import json
import os
import shutil
import subprocess
import sys
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import Any

import pytest

from causaldq.files import sha256, sha256_of_text
from causaldq.pipeline.lineage.file_access import watched_access, within
from causaldq.pipeline.lineage.records import (
    Record,
    RecordStore,
    facts,
    job_of,
    profile_of,
    write_record,
)
from causaldq.pipeline.lineage.repository import git_state
from causaldq.pipeline.lineage.snakemake_metadata import SnakemakeMetadata, reconcile

JOB = '''"""Copies a file, reading another on the way."""
from pathlib import Path

from causaldq.pipeline import command
from causaldq.errors import DataError
from causaldq.files import write_text


def work(a):
    text = a.given.read_text() + Path("data/hidden.csv").read_text()
    scratch = a.output.with_suffix(".scratch")
    write_text(scratch, text)
    scratch.unlink()
    if "bad" in text:
        raise DataError("the text is bad; give another")
    write_text(a.output, text)


if __name__ == "__main__":
    parser = command.parser(__doc__)
    parser.add_argument("--settings")
    parser.add_argument("--given", type=Path)
    parser.add_argument("--named", action="append")
    parser.add_argument("--output", type=Path)
    command.run(parser, work)
'''
WORDS = [
    *(
        "scripts/join_files.py",
        "--settings",
        '{"seed": 7, "a": [1, {"b": 2}]}',
        "--given",
        "data/in.csv",
    ),
    *("--named", "paper=data/named.csv", "--output", "artifacts/ci/out/one.csv"),
    *("--log", "logs/ci/copy/one.log"),
]
VERSION = 6


def make_project(folder: Path) -> Path:
    """A project with one script and some data."""
    for name, text in {
        "scripts/join_files.py": JOB,
        "data/in.csv": "in,",
        "data/hidden.csv": "hidden",
        "data/named.csv": "named",
        "requirements.lock": "numpy==1\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path)


def run(project: Path, *words: str) -> int:
    return subprocess.run([sys.executable, *words], cwd=project, capture_output=True).returncode


def the_record(project: Path) -> Record:
    store = RecordStore(project, "ci")
    assert store.broken == {}
    (record,) = store.records
    return record


# --- what a record says ----------------------------------------------------------------


def test_a_job_leaves_a_record_of_what_it_read_and_made(project: Path) -> None:
    assert run(project, *WORDS) == 0
    record = the_record(project)
    assert (record.job, record.rule, record.script) == ("copy/one", "copy", "scripts/join_files.py")
    assert record.words == ["python", *WORDS]
    assert record.settings == {"seed": 7, "a": [1, {"b": 2}]}
    assert record.seed == 7
    assert record.status == 0
    # what is named and what is only opened, but neither code, log nor scratch
    assert set(record.inputs) == {"data/in.csv", "data/hidden.csv", "data/named.csv"}
    assert record.inputs["data/in.csv"].sha256 == sha256_of_text("in,")
    assert {n: (f.sha256, f.size) for n, f in record.outputs.items()} == {
        "artifacts/ci/out/one.csv": (sha256_of_text("in,hidden"), 9)
    }
    assert record.code.lock == sha256_of_text("numpy==1\n")
    assert record.seconds > 0
    assert record.resources.cpu_seconds > 0
    assert record.resources.peak_memory_bytes > 1e6
    assert {"cpu", "threads", "python", "numpy", "torch"} <= set(record.host)


HOLDS = "held = b'x' * (300 << 20)"
STARTS = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no peak is kept here")
def test_peak_memory_is_the_jobs_and_not_that_of_who_started_it(project: Path) -> None:
    assert run(project, "-c", f"{HOLDS}; {STARTS}", sys.executable, *WORDS) == 0
    assert 1e6 < the_record(project).resources.peak_memory_bytes < 300 << 20


@pytest.mark.parametrize(
    "line",
    [HOLDS, f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLDS!r}])"],
    ids=["by the job", "by a program it starts"],
)
def test_what_was_held_in_memory_and_is_no_longer_counts(project: Path, line: str) -> None:
    script = project / "scripts/join_files.py"
    script.write_text(JOB.replace("    text =", f"    {line}\n    held = None\n    text ="))
    assert run(project, *WORDS) == 0
    assert the_record(project).resources.peak_memory_bytes > 300 << 20


def test_an_output_that_was_there_before_is_no_input(project: Path) -> None:
    run(project, *WORDS)
    assert run(project, *WORDS) == 0
    assert "artifacts/ci/out/one.csv" not in the_record(project).inputs


def test_a_failed_job_says_so_and_claims_no_output(project: Path) -> None:
    (project / "data/in.csv").write_text("bad")
    assert run(project, *WORDS) == 1
    assert (the_record(project).status, the_record(project).outputs) == (1, {})


def test_a_script_tried_by_hand_leaves_none(project: Path) -> None:
    assert run(project, *WORDS[:-2]) == 0
    assert run(project, *WORDS[:-1], "elsewhere.log") == 0
    assert not (project / "results").exists()


def test_an_edit_of_the_script_is_seen_in_its_code_and_a_comment_is_not(project: Path) -> None:
    hashes = []
    for addition in ("", "# a remark\n", "EXTRA = 1\n"):
        (project / "scripts/join_files.py").write_text(JOB + addition)
        run(project, *WORDS)
        hashes.append(the_record(project).code.hash)
    assert hashes[0] == hashes[1] != hashes[2]


def test_the_commit_is_noted_and_whether_code_differs_from_it(project: Path) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *who, *words], cwd=project, check=True, capture_output=True)

    assert git_state(project) == (None, None)
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "all")
    commit, dirty = git_state(project)
    assert commit is not None
    assert len(commit) == 40
    assert dirty is False
    (project / "results").mkdir()
    (project / "results/new.csv").write_text("results are no code")
    assert git_state(project) == (commit, False)
    (project / "scripts/join_files.py").write_text(JOB + "EXTRA = 1\n")
    assert git_state(project) == (commit, True)


def test_names_of_jobs_and_profiles() -> None:
    assert job_of(Path("logs/ci/train/p10.causal_dq.s0.log")) == ("train/p10.causal_dq.s0")
    assert job_of(Path("logs/ci/aggregate.log")) == "aggregate"
    assert profile_of(Path("logs/ci/aggregate.log")) == "ci"
    assert profile_of(Path("elsewhere/ci/aggregate.log")) is None


def test_files_are_seen_wherever_they_are_opened_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/a.csv").write_text("a")
    with watched_access(tmp_path) as seen:
        Path("folder/../folder/a.csv").read_text()
        (tmp_path / "b.csv").write_text("b")
        (tmp_path / "b.csv").replace(tmp_path / "c.csv")
        (tmp_path / ".hidden").write_text("no")
        Path(__file__).read_text()
    (tmp_path / "after.csv").write_text("no")
    assert seen.read == {"folder/a.csv"}
    assert seen.written == {"b.csv", "c.csv"}


def test_a_link_into_the_cache_is_seen_by_its_own_name(tmp_path: Path) -> None:
    cache = tmp_path / ".dvc" / "cache" / "0a"
    cache.parent.mkdir(parents=True)
    cache.write_text("content")
    (tmp_path / "link.csv").symlink_to(cache)
    assert within(tmp_path, tmp_path / "link.csv") == "link.csv"
    assert within(tmp_path, tmp_path) is None
    assert within(tmp_path, tmp_path.parent / "other.csv") is None


def test_a_damaged_record_speaks_for_nothing(finished: Path) -> None:
    place = finished / "results/ci/records/copy/one.json"
    good = json.loads(place.read_text())
    for text in ("{", "[]", json.dumps(good | {"outputs": 3}), json.dumps(good | {"more": 1})):
        place.write_text(text)
        store = RecordStore(finished, "ci")
        assert store.records == []
        assert list(store.broken) == ["results/ci/records/copy/one.json"]
        assert "one.json is no record" in store.broken["results/ci/records/copy/one.json"]


# --- what Snakemake is told ------------------------------------------------------------

OUT = "artifacts/ci/out/one.csv"


def note(record: Record, **changed: Any) -> dict[str, Any]:
    """What Snakemake writes when a job has ended."""
    return {
        "rule": "copy",
        "input": sorted(record.inputs),
        "log": ["logs/ci/copy/one.log"],
        "shellcmd": record.command.replace("python ", "python  ", 1),
        "params": [repr(record.code.hash), repr('{"seed": 7}')],
        "code": "python scripts/join_files.py {params}",
        "record_format_version": VERSION,
        "software_stack_hash": "d41d",
        "incomplete": False,
        "input_checksums": {n: f"sha256:{f.sha256}" for n, f in record.inputs.items()},
        **changed,
    }


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project after a run that Snakemake took part in."""
    project = make_project(tmp_path_factory.mktemp("once"))
    run(project, *WORDS)
    SnakemakeMetadata(project, VERSION).write(OUT, note(the_record(project)))
    return project


@pytest.fixture
def finished(once: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return shutil.copytree(once, tmp_path / "project")


def settle(project: Path) -> dict[str, str]:
    return reconcile(RecordStore(project, "ci"), SnakemakeMetadata(project, VERSION))


def test_notes_stand_where_snakemake_looks_for_them(tmp_path: Path) -> None:
    """As in Snakemake's own persistence: base64 names, cut where a file system would refuse."""
    metadata = SnakemakeMetadata(tmp_path, VERSION)
    for name in ("a.csv", "long/" * 100 + "a.csv"):
        place = metadata.place(name).relative_to(metadata.folder)
        assert all(len(part) <= 255 for part in place.parts)
        assert all(part.startswith("@") for part in place.parts[:-1])
        text = "".join(part.removeprefix("@") for part in place.parts)
        assert urlsafe_b64decode(text).decode() == name
        metadata.write(name, {"rule": "x"})
        assert metadata.read(name) == {"rule": "x"}


def test_a_good_tree_is_left_alone_and_its_notes_are_kept(finished: Path) -> None:
    place = SnakemakeMetadata(finished, VERSION).place(OUT)
    before = place.read_bytes()
    assert settle(finished) == {}
    assert place.read_bytes() == before
    kept = the_record(finished).snakemake
    assert kept is not None
    assert kept["params"] == note(the_record(finished))["params"]


def test_lost_notes_come_back_from_the_records(finished: Path) -> None:
    settle(finished)
    metadata = SnakemakeMetadata(finished, VERSION)
    whole = metadata.read(OUT)
    assert whole
    metadata.place(OUT).unlink()
    assert settle(finished) == {}
    restored = metadata.read(OUT)
    assert restored
    for key in ("rule", "input", "params", "code", "software_stack_hash", "input_checksums"):
        assert restored[key] == whole[key], key
    assert restored["shellcmd"].split() == whole["shellcmd"].split()
    assert metadata.fits(OUT, the_record(finished))


@pytest.mark.parametrize(
    "changed",
    [
        {"shellcmd": "python scripts/join_files.py --settings '{}'"},
        {"params": [repr("0" * 64)]},
        {"input_checksums": {"data/in.csv": "sha256:" + "0" * 64}},
        {"record_format_version": VERSION - 1},
    ],
)
def test_notes_of_another_job_are_replaced(finished: Path, changed: dict[str, Any]) -> None:
    settle(finished)
    metadata = SnakemakeMetadata(finished, VERSION)
    metadata.write(OUT, note(the_record(finished), **changed))
    assert settle(finished) == {}
    assert metadata.fits(OUT, the_record(finished))


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        ("artifacts/ci/out/one.csv", "is not what its record says"),
        ("data/in.csv", "is not what it was made from"),
        ("data/hidden.csv", "is not what it was made from"),
        ("results/ci/records/copy/one.json", "no record says how it was made"),
    ],
)
def test_what_no_record_explains_is_made_again(finished: Path, harm: str, reason: str) -> None:
    settle(finished)
    (finished / harm).write_text("other")
    doubts = settle(finished)
    assert list(doubts) == [OUT]
    assert reason in doubts[OUT]
    told = SnakemakeMetadata(finished, VERSION).read(OUT)
    assert told
    # No params of a job can be this one, so Snakemake runs it again, and shows the reason.
    assert told["params"] == [doubts[OUT]]
    assert told["record_format_version"] == VERSION


def test_a_file_that_snakemake_never_finished_is_made_again(finished: Path) -> None:
    SnakemakeMetadata(finished, VERSION).place(OUT).unlink()
    assert settle(finished) == {OUT: "its job was not run to its end by Snakemake"}


def test_a_file_that_a_rule_does_not_declare_is_no_reason_to_doubt_its_job(finished: Path) -> None:
    beside = "data/raw/beside.csv"
    (finished / beside).parent.mkdir()
    (finished / beside).write_text("fetched")
    record = the_record(finished)
    outputs = record.outputs | {beside: facts(finished / beside)}
    write_record(finished, "ci", record.model_copy(update={"outputs": outputs}))
    assert settle(finished) == {}
    (finished / beside).write_text("other")
    assert OUT in settle(finished)


def test_a_missing_file_is_snakemakes_own_business(finished: Path) -> None:
    settle(finished)
    (finished / OUT).unlink()
    assert settle(finished) == {}


def test_hashes_are_of_the_bytes_whatever_the_clock_says(finished: Path) -> None:
    store = RecordStore(finished, "ci")
    path = finished / OUT
    stamp = path.stat()
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert store.hash(OUT) == sha256(path) != the_record(finished).outputs[OUT].sha256
