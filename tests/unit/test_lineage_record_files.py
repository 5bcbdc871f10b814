"""Records are packed by rule without losing one, whenever the packing is killed."""

import contextlib
import json
import multiprocessing
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_run import make_run

from causaldq.errors import DataError
from causaldq.files import write_text
from causaldq.pipeline.lineage import record_files
from causaldq.pipeline.lineage.manifest import manifest_of
from causaldq.pipeline.lineage.record_files import (
    drop,
    fold,
    pack,
    packed_text,
    read_entries,
    restored,
    unfolded,
    usual,
    without,
)
from causaldq.pipeline.lineage.records import Record, RecordStore, folder_of, write_record

PLACE = folder_of("ci")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path)


def records(root: Path) -> dict[str, Record]:
    store = RecordStore(root, "ci")
    assert store.broken == {}
    return {record.job: record for record in store.records}


def files(root: Path) -> set[str]:
    folder = root / PLACE
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def test_packed_records_say_what_loose_ones_said(run: Path) -> None:
    before, manifest = records(run), manifest_of(run, "ci")
    assert pack(run, run / PLACE) == len(before)
    assert files(run) == {f"{record.rule}.jsonl.xz" for record in before.values()}
    assert records(run) == before
    assert manifest_of(run, "ci") == manifest
    assert pack(run, run / PLACE) == 0


def test_a_job_that_runs_again_changes_its_line_alone(run: Path) -> None:
    pack(run, run / PLACE)
    place = run / PLACE / "evaluate.jsonl.xz"
    before = unfolded(place).splitlines()
    again = records(run)["evaluate/p10.greedy"].model_copy(
        update={"started": "2026-01-01T00:00:00+00:00", "ended": "2026-01-01T00:00:09+00:00"}
    )
    write_record(run, "ci", again)
    assert records(run)["evaluate/p10.greedy"] == again, "the loose one is the later"
    pack(run, run / PLACE)
    after = unfolded(place).splitlines()
    changed = [a for a, b in zip(before, after, strict=True) if a != b]
    assert len(changed) == 1
    assert records(run)["evaluate/p10.greedy"] == again


def test_what_all_jobs_of_a_rule_share_is_said_once(run: Path) -> None:
    jobs = [json.loads(record.model_dump_json()) for record in records(run).values()]
    host = {"cpu": "a processor with a name that is long enough to be seen"}
    alike = [job | {"host": host} for job in jobs]
    assert packed_text(alike).count(host["cpu"]) == 1


def test_settings_stand_in_a_line_once(run: Path) -> None:
    settings = {"zulu": "a word that is long", "alpha": [{"b": 1, "a": True}]}
    text = json.dumps(settings, separators=(",", ":"))
    command = f"python scripts/x.py --settings '{text}' --log logs/ci/x/1.log"
    job = json.loads(records(run)["simulate/sim_p10"].model_dump_json())
    job |= {"job": "x/1", "rule": "x", "command": command, "settings": settings}
    job["snakemake"] = {"params": [repr(text)], "input": [], "log": ["logs/ci/x/1.log"]}
    write_text(run / PLACE / "x/1.json", json.dumps(job, sort_keys=True))
    pack(run, run / PLACE)
    assert unfolded(run / PLACE / "x.jsonl.xz").count("a word that is long") == 1
    (entry,) = [e for e in read_entries(run, run / PLACE) if e.job == "x/1"]
    assert entry.said == job


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.floats(allow_nan=False) | st.text("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.sampled_from("abcd"), JSON), min_size=2, max_size=6))
def test_what_is_usual_and_what_is_not_make_the_whole(values: list[dict[str, Any]]) -> None:
    shared = json.loads(json.dumps(usual(values)))
    for value in values:
        line = json.loads(json.dumps(without(value, shared)))
        assert json.dumps(restored(line, shared), sort_keys=True) == json.dumps(
            value, sort_keys=True
        )


class KilledError(Exception):
    """Stands for a kill: nothing after it happens."""


@pytest.mark.parametrize("step", range(0, 24, 2))
def test_a_kill_at_any_step_loses_nothing(
    run: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Every rename, replacement and deletion of the packing is where a run is killed once."""
    before = records(run)
    left = [step]

    def counted(name: str) -> None:
        work = getattr(Path, name)

        def do(path: Path, *arguments: Any, **options: Any) -> Any:
            if "records" in path.parts:
                left[0] -= 1
                if left[0] < 0:
                    raise KilledError
            return work(path, *arguments, **options)

        monkeypatch.setattr(Path, name, do)

    for name in ("replace", "unlink"):
        counted(name)
    with contextlib.suppress(KilledError):
        pack(run, run / PLACE)
    monkeypatch.undo()
    assert records(run) == before
    pack(run, run / PLACE)
    assert records(run) == before
    assert all(name.endswith(".jsonl.xz") for name in files(run))


def _write_again(root: str, record: Record, times: int) -> None:
    for number in range(times):
        write_record(Path(root), "ci", record.model_copy(update={"status": number}))


def test_a_reader_and_a_job_meet_a_packing(run: Path) -> None:
    """One process writes a record again and again, one thread packs, and a third reads."""
    wanted = set(records(run))
    job = records(run)["evaluate/p10.greedy"]
    writer = multiprocessing.get_context("fork").Process(
        target=_write_again, args=(str(run), job, 20)
    )
    stop = threading.Event()

    def pack_on() -> None:
        while not stop.is_set():
            pack(run, run / PLACE)

    packer = threading.Thread(target=pack_on, daemon=True)
    packer.start()
    writer.start()
    seen = 0
    try:
        while writer.is_alive():
            assert set(records(run)) == wanted
            seen += 1
    finally:
        writer.join()
        stop.set()
        packer.join()
    pack(run, run / PLACE)
    assert seen
    assert writer.exitcode == 0
    assert records(run)["evaluate/p10.greedy"].status == 19


def test_a_damaged_line_is_named_and_is_not_packed_away(run: Path) -> None:
    job = records(run)["evaluate/p10.greedy"]
    pack(run, run / PLACE)
    place = run / PLACE / "evaluate.jsonl.xz"
    lines = unfolded(place).splitlines()
    fold(place, "\n".join([*lines[:-1], lines[-1][:-9]]))
    store = RecordStore(run, "ci")
    assert list(store.broken) == [f"{PLACE}/evaluate.jsonl.xz, line {len(lines)}"]
    write_record(run, "ci", job)
    with pytest.raises(DataError, match=r"evaluate\.jsonl\.xz, line \d+ is damaged"):
        pack(run, run / PLACE)
    assert set(records_readable(run)) >= {"evaluate/p10.greedy"}, "what was new is not lost"
    lines = ['{"usual": {"job": []}}', "{}", "[1]", '{"whole": 1}']
    for text in ("", "{}", "[]", '{"usual": 3}\n{}', "\n".join(lines)):
        fold(place, text)
        broken = RecordStore(run, "ci").broken
        assert broken
        assert all(name.startswith(f"{PLACE}/evaluate.jsonl.xz") for name in broken)


def test_a_damaged_file_is_named(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack(run, run / PLACE)
    place = run / PLACE / "evaluate.jsonl.xz"
    good, name = place.read_bytes(), place.relative_to(run).as_posix()
    for content in (b"", b"{}", good[:-1], good + b"x", good[:40] + b"?" + good[41:]):
        place.write_bytes(content)
        assert list(RecordStore(run, "ci").broken) == [name]
        with pytest.raises(DataError, match=r"evaluate\.jsonl\.xz is damaged"):
            drop(run, run / PLACE, ["evaluate/p10.greedy"])
        assert place.read_bytes() == content
    place.write_bytes(good)
    assert RecordStore(run, "ci").broken == {}
    fold(place, unfolded(place) + " " * (17 << 20))
    monkeypatch.setattr(record_files, "LARGEST", 16 << 20)
    (why,) = RecordStore(run, "ci").broken.values()
    assert "unfolds to more than 16 MiB" in str(why)


def records_readable(root: Path) -> dict[str, Record]:
    return {record.job: record for record in RecordStore(root, "ci").records}


def test_a_line_of_another_rule_is_not_believed(run: Path) -> None:
    pack(run, run / PLACE)
    folder = run / PLACE
    (folder / "evaluate.jsonl.xz").write_bytes((folder / "simulate.jsonl.xz").read_bytes())
    assert list(RecordStore(run, "ci").broken) == [f"{PLACE}/evaluate.jsonl.xz, line 2"]


def test_a_file_that_is_no_record_stays_to_be_found(run: Path) -> None:
    place = run / PLACE / "evaluate/p10.greedy.json"
    for text in ("{", "[]", "[" * 100_000, '{"job": "other"}', '{"job": NaN}'):
        write_text(place, text)
        pack(run, run / PLACE)
        assert place.read_text() == text
        assert place.relative_to(run).as_posix() in RecordStore(run, "ci").broken


def test_dropped_records_are_gone_and_others_are_not(run: Path) -> None:
    before = records(run)
    pack(run, run / PLACE)
    write_record(run, "ci", before["simulate/sim_p10"])
    drop(run, run / PLACE, ["simulate/sim_p10", "evaluate/p10.greedy"])
    assert set(records(run)) == set(before) - {"simulate/sim_p10", "evaluate/p10.greedy"}
    assert not (run / PLACE / "simulate.jsonl.xz").exists()


def test_one_packs_at_a_time(run: Path) -> None:
    with record_files._alone(run):
        other = threading.Thread(target=pack, args=(run, run / PLACE), daemon=True)
        other.start()
        other.join(0.2)
        assert other.is_alive()
        assert all(name.endswith(".json") for name in files(run))
    other.join()
    assert all(name.endswith(".jsonl.xz") for name in files(run))
