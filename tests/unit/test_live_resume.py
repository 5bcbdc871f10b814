"""Nothing is lost: killed anywhere, a watch ends with the files of one that was never killed."""

import gzip
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from plants import NAMES, csv_text, monitor, rows, saved
from typer.testing import CliRunner

from causaldq import Session, WatchSettings
from causaldq.__main__ import app
from causaldq.errors import DataError
from causaldq.files import read_arrays, write_arrays
from causaldq.live import watch_loop
from causaldq.live.control import Control
from causaldq.live.outputs import RecordFile
from causaldq.live.records import Record, as_line
from causaldq.live.rows import RowReader
from causaldq.live.source import FileSource, FolderSource, PipeSource, Source, source_of
from causaldq.live.watch_loop import WatchLoop

KILLS = 2
"""Real ones, each with a process of its own; tests/slow has more."""
VALUES = np.vstack([rows(6, seed=1), rows(8, seed=2, fault=0, size=3.0), rows(8, seed=3)])


def text() -> str:
    lines = csv_text(VALUES).splitlines()
    lines.insert(5, lines[4])  # doubled
    lines[6] = "4,,,,,,"
    lines.insert(9, lines[0])
    lines.insert(13, "3,bad")
    return "\n".join(lines) + "\n"


class Killed(BaseException):
    """As if the process had ended here."""


def watch_loop_of(folder: Path, source: Source | None = None, save_every: int = 1) -> WatchLoop:
    if not (folder / "rows.csv").exists():
        (folder / "rows.csv").write_text(text())
    session = Session(monitor(), WatchSettings(after="restart", clear_after=3))
    return WatchLoop(
        session,
        RowReader(NAMES, "rows.csv", "time"),
        source or FileSource(folder / "rows.csv"),
        files=[
            RecordFile("output", folder / "out.jsonl", as_line),
            RecordFile("alarms", folder / "alarms.jsonl", as_line, lambda r: r["kind"] == "event"),
        ],
        control=Control(folder / "control"),
        state=folder / "state",
        save_every=save_every,
    )


def written(folder: Path) -> tuple[bytes, bytes]:
    return (folder / "out.jsonl").read_bytes(), (folder / "alarms.jsonl").read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """What an uninterrupted run writes."""
    folder = tmp_path_factory.mktemp("whole")
    watch_loop_of(folder).run()
    events = [json.loads(line)["event"] for line in written(folder)[1].splitlines()]
    assert (events[0], events[-1]) == ("raised", "cleared")
    return written(folder)


def dies_at(count: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Let the count-th write or save end the process: before, half-way, or just after it."""
    left = [count]
    write, seal = RecordFile.write, watch_loop.write_sealed

    def counted() -> bool:
        left[0] -= 1
        return left[0] == 0

    def half(self: RecordFile, record: Record) -> None:
        if counted():
            raise Killed
        if self.handle and self.wanted(record) and counted():
            shown = self.shown(record).encode()
            self.handle.write(shown[: len(shown) // 2])
            self.handle.flush()
            raise Killed
        write(self, record)

    def sealed(*given: object) -> None:
        if counted():
            raise Killed
        seal(*given)  # type: ignore[arg-type]
        if counted():
            raise Killed

    monkeypatch.setattr(RecordFile, "write", half)
    monkeypatch.setattr(watch_loop, "write_sealed", sealed)
    return lambda: left[0] > 0


@pytest.mark.parametrize(
    ("source", "save_every", "stride"), [("file", 1, 3), ("file", 4, 5), ("pipe", 1, 13)]
)
def test_a_kill_at_any_moment_changes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    whole: tuple[bytes, bytes],
    source: str,
    save_every: int,
    stride: int,
) -> None:
    """At every write and every save of the run, in turn, or at every so many."""
    kills = 0
    monkeypatch.setattr(os, "fsync", lambda _: None)  # a kill loses nothing that was written
    for count in range(1, 10_000, stride):
        folder = tmp_path / str(count)
        folder.mkdir()

        def made(where: Path = folder) -> WatchLoop:
            pipe = PipeSource(io.BytesIO(text().encode())) if source == "pipe" else None
            return watch_loop_of(where, pipe, save_every)

        with monkeypatch.context() as patch:
            survives = dies_at(count, patch)
            try:
                made().run()
            except Killed:
                kills += 1
            if survives():
                break
        made().run()
        if source == "file":
            assert written(folder) == whole, count
        else:  # rows before the last one saved come again, and only new ones count
            mine = [json.loads(x) for x in written(folder)[0].splitlines()]
            wanted = [json.loads(x) for x in whole[0].splitlines()]
            new = [r for r in mine if r["kind"] != "skipped"]
            assert new == [r for r in wanted if r["kind"] != "skipped"], count
            assert written(folder)[1] == whole[1]
    assert kills * stride > 100


def test_a_hundred_kills_at_random_moments_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: tuple[bytes, bytes]
) -> None:
    """Killed, resumed and killed again, until it ends; once more, and nothing is added."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    rng, kills, runs = random.Random(24), 0, 0
    while kills < 100:
        folder = tmp_path / str(runs)
        folder.mkdir()
        runs += 1
        while True:
            with monkeypatch.context() as patch:
                dies_at(rng.randint(1, 45), patch)
                try:
                    watch_loop_of(folder, save_every=rng.randint(1, 6)).run()
                    break
                except Killed:
                    kills += 1
        watch_loop_of(folder).run()
        assert written(folder) == whole
    assert runs > 3


def test_a_real_kill_changes_nothing(tmp_path: Path) -> None:
    """SIGKILL once so many lines are there: where the process then is, is left to chance."""
    path = saved(tmp_path)
    (tmp_path / "rows.csv").write_text(text())
    command = [
        sys.executable, "-m", "causaldq", "watch", str(path), str(tmp_path / "rows.csv"), "--time",
        "time", "--json", "--save-every", "3",
    ]  # fmt: skip

    def options(folder: Path) -> list[str]:
        return [
            "--output", str(folder / "out.jsonl"), "--alarms", str(folder / "alarms.jsonl"),
            "--state", str(folder / "state"),
        ]  # fmt: skip

    calm, killed = tmp_path / "calm", tmp_path / "killed"
    calm.mkdir()
    killed.mkdir()
    subprocess.run([*command, *options(calm)], check=False, capture_output=True)
    given = text().splitlines(keepends=True)
    for number in range(KILLS):
        # Rows come in parts: the one before, however fast, has not written what is waited for.
        part = given[: len(given) * (number + 1) // KILLS]
        (tmp_path / "rows.csv").write_text("".join(part))
        wanted = lines(killed / "out.jsonl") + 5
        process = subprocess.Popen(
            [*command, *options(killed), "--follow"], stderr=subprocess.PIPE, text=True
        )
        _wait(lambda least=wanted: lines(killed / "out.jsonl") >= least, process)
        kind = signal.SIGTERM if number == KILLS - 1 else signal.SIGKILL
        process.send_signal(kind)
        said = process.communicate()[1]
        assert number == 0 or "resumed after row" in said
        if kind == signal.SIGTERM:
            assert "saved after row" in said
            assert process.returncode in (0, 3)
    done = subprocess.run([*command, *options(killed)], capture_output=True, text=True)
    assert done.returncode == 3
    assert "resumed after row" in done.stderr
    assert written(killed) == written(calm)


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _wait(done: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    while not done():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)


def test_commands_given_while_it_was_down_are_done(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    table = csv_text(VALUES).splitlines(keepends=True)
    path.write_text("".join(table[:10]))
    watch_loop_of(tmp_path).run()
    first = lines(tmp_path / "out.jsonl")
    (tmp_path / "control").write_text("without level\nmaintenance on\n")
    path.write_text("".join(table))
    watch_loop_of(tmp_path).run()
    found = [json.loads(line) for line in written(tmp_path)[0].splitlines()]
    assert [r.get("event", r["kind"]) for r in found[first : first + 3]] == [
        *("without", "maintenance on", "skipped"),
    ]
    watch_loop_of(tmp_path).run()
    assert len(written(tmp_path)[0].splitlines()) == len(found), "and done once"


def test_a_drop_folder_is_taken_in_the_order_of_names(
    tmp_path: Path, whole: tuple[bytes, bytes]
) -> None:
    """In parts, with a stop after each, as in one piece."""
    drop, work = tmp_path / "drop", tmp_path / "work"
    drop.mkdir()
    work.mkdir()
    said: list[str] = []
    everything = text().splitlines(keepends=True)
    header = everything[0]
    body = everything[1:]
    for number, first in enumerate(range(0, len(body), 10)):
        part = "".join(body[first : first + 10])
        (drop / f"2026-01-{number + 1:02d}.csv").write_text(header + part)
        (drop / "notes.txt").write_text("not a table")
        watch_loop_of(work, FolderSource(drop, say=said.append)).run()
    assert written(work) == whole
    (drop / "2026-01-09.csv").write_text("time,flow\n1,2\n")
    watch_loop_of(work, FolderSource(drop)).run()
    last = json.loads(written(work)[0].splitlines()[-1])
    assert (last["kind"], last["reason"]) == ("skipped", "header")
    assert said == []


# --- bad files -----------------------------------------------------------------------------------


@pytest.fixture
def half_done(tmp_path: Path) -> Path:
    """A state that was saved in the middle."""
    table = text().splitlines(keepends=True)
    (tmp_path / "rows.csv").write_text("".join(table[:15]))
    watch_loop_of(tmp_path).run()
    (tmp_path / "rows.csv").write_text("".join(table))
    return tmp_path


def changed(path: Path, **facts: object) -> None:
    """The state with other facts, and a hash that does not know of them."""
    arrays = read_arrays(path)
    found = json.loads(arrays["state"].tobytes()) | facts
    arrays["state"] = np.frombuffer(json.dumps(found).encode(), dtype=np.uint8)
    write_arrays(path, arrays)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def swap(path: Path) -> None:
    arrays = read_arrays(path)
    arrays["strength"] = arrays["strength"] + 1.0
    write_arrays(path, arrays)


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "an empty state": (lambda f: (f / "state").write_bytes(b""), "damaged"),
    "half a state": (
        lambda f: (f / "state").write_bytes((f / "state").read_bytes()[:900]), "damaged",
    ),
    "text for a state": (lambda f: (f / "state").write_text("reset"), "damaged"),
    "a pickle for a state": (
        lambda f: (f / "state").write_bytes(b"cos\nsystem\n(S'touch danger'\ntR."), "damaged",
    ),
    "a flipped bit": (lambda f: flip(f / "state"), "damaged"),
    "an array changed": (lambda f: swap(f / "state"), "damaged"),
    "a fact changed": (lambda f: changed(f / "state", control=5), "damaged"),
    "another version": (lambda f: changed(f / "state", version=99), "version 99"),
    "the state of another monitor": (
        lambda f: changed(f / "state", identity="0"), "damaged",
    ),
    "a monitor for a state": (
        lambda f: monitor().save(f / "state"), "no array 'state'; it is no state: begin",
    ),
    "arrays for a state": (
        lambda f: write_arrays(f / "state", {"state": np.zeros(3)}), "no state, or damaged",
    ),
    "a folder for a state": (
        lambda f: ((f / "state").unlink(), (f / "state").mkdir()), "damaged",
    ),
    "another file of rows": (
        lambda f: (f / "rows.csv").write_text(csv_text(rows(40, seed=9))), "not the file",
    ),
    "a file of rows that lost its end": (
        lambda f: (f / "rows.csv").write_text(text()[:100]), "not the file",
    ),
    "an output that lost its end": (
        lambda f: (f / "out.jsonl").write_bytes(b"{}"), "had .* when the state was saved",
    ),
    "an alarm log that is gone": (
        lambda f: ((f / "state").unlink(), (f / "alarms.jsonl").unlink()), "exists already",
    ),
    "an output without a state": (lambda f: (f / "state").unlink(), "exists already"),
    "a state of objects": (
        lambda f: np.savez(f / "state.npz", state=np.array([Danger()], dtype=object))
        or (f / "state.npz").rename(f / "state"), "damaged",
    ),
    "a state that unfolds without end": (
        lambda f: (f / "state").write_bytes(bomb()), "damaged",
    ),
    "a state with a path for a name": (
        lambda f: with_member(f / "state", "../danger.npy"), "damaged",
    ),
    "a state without its header": (
        lambda f: (f / "state").write_bytes((f / "state").read_bytes()[200:]), "damaged",
    ),
}  # fmt: skip


class Danger:
    """Whoever unpickles it, runs it."""

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return os.mkdir, ("danger",)


def bomb() -> bytes:
    """A kilobyte that unfolds to a megabyte."""
    made = io.BytesIO()
    np.savez_compressed(made, state=np.zeros(1 << 17))
    return made.getvalue()


def with_member(path: Path, name: str) -> None:
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, b"danger")


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_bad_file_is_named_and_left_alone(half_done: Path, kind: str) -> None:
    damage, words = DAMAGE[kind]
    damage(half_done)
    before = {path: path.read_bytes() for path in half_done.iterdir() if path.is_file()}
    with pytest.raises(DataError, match=words):
        watch_loop_of(half_done).run()
    assert {path: path.read_bytes() for path in half_done.iterdir() if path.is_file()} == before
    assert not Path("danger").exists()


def test_a_state_belongs_to_one_monitor(half_done: Path) -> None:
    made = watch_loop_of(half_done)
    made.session.monitor.limit = monitor(limit=7.0).limit
    made.identity = made.session.monitor.identity
    with pytest.raises(DataError, match="belongs to another monitor"):
        made.run()


def test_changed_settings_hold_from_then_on(
    half_done: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = watch_loop_of(half_done)
    rules = made.session.settings.sensors.model_copy(update={"without": ["level"]})
    made.session.settings = made.session.settings.model_copy(update={"sensors": rules})
    made.run()
    assert "settings have changed" in capsys.readouterr().err
    assert "level" not in made.session.next


def test_commands_outlive_other_settings_but_not_other_rules(
    half_done: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = watch_loop_of(half_done)
    made.control.waiting.append("without level")
    made.run()
    for change in ("clear_after", "sensors"):
        made = watch_loop_of(half_done)
        old = made.session.settings
        rules = old.sensors.model_copy(update={"always": ["flow"]})
        new = {"clear_after": 5, **({"sensors": rules} if change == "sensors" else {})}
        made.session.settings = old.model_copy(update=new)
        capsys.readouterr()
        made.run()
        kept = change == "clear_after"
        assert (made.session.monitor.sensors.without == ["level"]) == kept
        assert ("undo commands: without level" in capsys.readouterr().err) != kept


def test_an_old_control_file_that_is_new_to_the_state_is_not_carried_out(half_done: Path) -> None:
    made = watch_loop_of(half_done)
    made.control = Control()
    made.run()
    (half_done / "control").write_text("without level\n")
    made = watch_loop_of(half_done)
    made.run()
    assert made.session.monitor.sensors.without == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--state", "none/there/state"], ""),
        (["--output", "out", "--save-every", "0"], "Invalid value"),
        (["--settings", "none.toml"], "none.toml: No such file"),
        (["--table", "none.toml"], "none.toml: No such file"),
        (["--settings", "."], ".: Is a directory"),
        (["--alarms", "."], "exists already|Is a directory"),
        (["--output", "o", "--alarms", "./o"], "--output and --alarms are one file"),
        (["--state", "rows.csv"], "the rows and --state are one file"),
        (["--state", "plant.monitor"], "the monitor and --state are one file"),
        (["--control", "rows.csv"], "the rows and --control are one file"),
    ],
)
def test_a_path_that_cannot_be_used_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path)
    (tmp_path / "rows.csv").write_text(text())
    done = CliRunner().invoke(app, ["watch", "plant.monitor", "rows.csv", *options])
    if not words:
        assert done.exit_code == 3
        return
    assert done.exit_code in (1, 2)
    assert re.search(words, str(done.exception) + done.output)


@pytest.mark.parametrize(
    "begins",
    [gzip.compress(b"a,b\n1,2\n", mtime=0), b"PAR1....", b"PK\x03\x04...."],
    ids=["gzip", "Parquet", "zip"],
)
def test_a_file_that_is_no_text_is_refused_with_the_remedy(tmp_path: Path, begins: bytes) -> None:
    path = tmp_path / "plant.csv.gz"
    path.write_bytes(begins)
    with pytest.raises(DataError, match=r"lines of text.*zcat plant\.csv\.gz"):
        source_of(str(path), io.BytesIO(), follow=False, say=print)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_told_with_the_file_and_the_remedy(tmp_path: Path) -> None:
    monitor().save(tmp_path / "plant.monitor")
    (tmp_path / "rows.csv").write_text(csv_text(rows(5, seed=1)))
    given = ["watch", str(tmp_path / "plant.monitor"), str(tmp_path / "rows.csv")]
    done = CliRunner().invoke(app, [*given, "--time", "time", "--output", "/dev/full"])
    assert done.exit_code == 1
    told = "DataError: /dev/full: No space left on device; make room and start again"
    assert str(done.exception) == told or told in done.output
