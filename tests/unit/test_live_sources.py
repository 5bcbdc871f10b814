"""Pipes that go on, lines half written, files replaced: no row is lost, and none taken twice."""

import io
import json
import os
import threading
from pathlib import Path

import pytest
from plants import NAMES, csv_text, monitor, rows

from causaldq import Session
from causaldq.live import source as sources
from causaldq.live.outputs import RecordFile
from causaldq.live.records import Record, as_line
from causaldq.live.rows import RowReader
from causaldq.live.source import FileSource, FolderSource, PipeSource, Source, source_of
from causaldq.live.watch_loop import WatchLoop
from causaldq.tables.settings import TableSettings

LINES = csv_text(rows(30, seed=1)).splitlines(keepends=True)
HEADER = LINES[0]
PREAMBLE = TableSettings(header=3, first=5)


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "WAIT", 0.0)


def watched(
    folder: Path, source: Source, time: str | None = "time", form: TableSettings | None = None
) -> list[Record]:
    """What a run with a state adds to its output."""
    out = folder / "out.jsonl"
    before = len(out.read_bytes().splitlines()) if out.exists() else 0
    WatchLoop(
        Session(monitor()),
        RowReader(NAMES, "rows", time, form=form or TableSettings()),
        source,
        files=[RecordFile("output", out, as_line)],
        state=folder / "state",
    ).run()
    return [json.loads(line) for line in out.read_bytes().splitlines()[before:]]


def pipe(*lines: str) -> PipeSource:
    return PipeSource(io.BytesIO("".join(lines).encode()))


def times(records: list[Record]) -> list[str]:
    return [record["time"] for record in records if record["kind"] == "reading"]


# --- a pipe that goes on -------------------------------------------------------------------------


@pytest.mark.parametrize("time", ["time", None])
def test_a_resumed_pipe_needs_no_header(tmp_path: Path, time: str | None) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    wanted = watched(whole, pipe(*LINES[:9]), time)
    first = watched(tmp_path, pipe(*LINES[:4]), time)
    assert [*first, *watched(tmp_path, pipe(*LINES[4:9]), time)] == wanted


def test_a_resumed_pipe_may_begin_with_a_preamble_or_with_rows(tmp_path: Path) -> None:
    preamble = ["Plant 7\n", "2026\n", HEADER, "min" + ",x" * 6 + "\n"]
    watched(tmp_path, pipe(*preamble, *LINES[1:3]), form=PREAMBLE)
    found = watched(tmp_path, pipe(*LINES[3:6]), form=PREAMBLE)
    found += watched(tmp_path, pipe(*preamble, *LINES[6:9]), form=PREAMBLE)
    assert [record["kind"] for record in found] == ["reading"] * 6
    assert times(found) == [str(t) for t in range(2, 8)]


def test_a_clock_that_was_set_back_is_believed_after_a_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    watched(tmp_path, pipe(HEADER, *LINES[20:23]))
    found = watched(tmp_path, pipe(HEADER, *LINES[1:9]))
    assert [record["reason"] for record in found if record["kind"] == "skipped"] == ["late"] * 4
    assert times(found) == ["4", "5", "6", "7"]
    assert "came again" not in capsys.readouterr().err


@pytest.mark.parametrize("begin", [1, 10], ids=["from the first row", "some of the latest"])
def test_rows_that_come_again_are_counted_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], begin: int
) -> None:
    watched(tmp_path, pipe(*LINES[:19]))
    found = watched(tmp_path, pipe(HEADER, *LINES[begin:25]))
    assert times(found) == [str(t) for t in range(18, 24)]
    assert f"{19 - begin} rows came again and were left out" in capsys.readouterr().err


# --- a line without an end -----------------------------------------------------------------------


@pytest.mark.parametrize("folder", [False, True])
def test_half_a_line_is_left_for_the_next_run(tmp_path: Path, folder: bool) -> None:
    drop = tmp_path / "drop"
    drop.mkdir()
    path, said = drop / "a.csv", list[str]()

    def source() -> Source:
        name = str(drop if folder else path)
        return source_of(name, io.BytesIO(), follow=False, leave_half=True, say=said.append)

    path.write_text("".join(LINES[:3]) + LINES[3][:10])
    assert times(watched(tmp_path, source())) == ["0", "1"]
    assert "no line end" in said[0]
    path.write_text("".join(LINES[:6]))
    assert times(watched(tmp_path, source())) == ["2", "3", "4"]


def test_without_a_state_and_in_older_files_the_last_line_is_taken(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("".join(LINES[:3]).rstrip("\n"))
    file = FileSource(tmp_path / "a.csv")
    assert [file.line() for _ in range(3)][2] == LINES[2].rstrip("\n").encode()
    (tmp_path / "b.csv").write_text(HEADER + LINES[3])
    folder = FolderSource(tmp_path, leave_half=True)
    assert [folder.line() for _ in range(5)][2::2] == [
        *(LINES[2].rstrip("\n").encode(), LINES[3].encode()),
    ]


# --- files that change under a watch -------------------------------------------------------------


def drained(source: Source) -> list[str]:
    """Lines until two calls in a row give none: the first may find a new file."""
    found, none = list[str](), 0
    while none < 2:
        line = source.line()
        none = 0 if line else none + 1
        found += [line.decode()] if line else []
    return found


def test_a_file_that_is_replaced_is_followed(tmp_path: Path) -> None:
    path, said = tmp_path / "rows.csv", list[str]()

    def replace(lines: list[str]) -> None:
        (tmp_path / "new").write_text("".join(lines))
        os.replace(tmp_path / "new", path)

    replace(LINES[:4])
    source = FileSource(path, follow=True, say=said.append)
    assert drained(source) == LINES[:4]
    replace(LINES[:8])
    assert drained(source) == LINES[4:8], "the same file, and longer: it goes on"
    assert said == []
    other = [HEADER, *LINES[9:20]]
    replace(other)
    assert drained(source) == other, "another file: from its start"
    assert "read from its start" in said[0]
    path.unlink()
    assert drained(source) == []
    path.write_text("".join([HEADER, *LINES[20:22]]))
    assert drained(source) == [HEADER, *LINES[20:22]]


def test_what_was_written_before_a_file_was_rotated_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("".join(LINES[:4]))
    source = FileSource(path, follow=True)
    assert drained(source) == LINES[:4]

    def rotated(handle: int) -> os.stat_result:
        """Rows, and a new file, come between the last look at the file and the one at its name."""
        monkeypatch.undo()
        with path.open("a") as writer:
            writer.write("".join(LINES[4:7]))
        path.rename(tmp_path / "rows.csv.1")
        path.write_text("".join([HEADER, *LINES[7:9]]))
        return os.fstat(handle)

    monkeypatch.setattr(sources.os, "fstat", rotated)
    monkeypatch.setattr(sources, "WAIT", 0.0)
    found = [source.line() for _ in range(9)]
    assert b"".join(line for line in found if line).decode() == "".join(
        [*LINES[4:7], HEADER, *LINES[7:9]]
    )


@pytest.mark.parametrize("preamble", [0, 4])
def test_a_later_file_may_lack_its_header_but_not_be_of_another_plant(
    tmp_path: Path, preamble: int
) -> None:
    form = PREAMBLE if preamble else TableSettings(separator=",")
    before = ["a title\n", "\n", HEADER, "units\n"][:preamble] if preamble else [HEADER]
    for name, lines in {
        "a": [*before, *LINES[1:4]],
        "b": LINES[4:7],
        "c": ["other,names\n", "1,2\n"],
        "d": [",".join(f"x{i}" for i in range(len(HEADER.split(",")))) + "\n", *LINES[7:9]],
        "e": [*before, *LINES[9:11]],
    }.items():
        (tmp_path / f"{name}.csv").write_text("".join(lines))
    found = watched(tmp_path, FolderSource(tmp_path), form=form)
    assert times(found) == ["0", "1", "2", "3", "4", "5", "8", "9"]
    notes = [record["notes"] for record in found if record["kind"] == "reading"]
    assert [len(told) for told in notes] == [0, 0, 0, 1, 0, 0, 0, 0]
    assert "without a header" in notes[3][0]


def test_a_folder_is_looked_at_once_a_file_and_not_at_every_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        (tmp_path / f"{name}.csv").write_text("".join(LINES))
    folder, looks, look = FolderSource(tmp_path), list[int](), FolderSource._names

    def counted(source: FolderSource) -> list[str]:
        looks.append(1)
        return look(source)

    monkeypatch.setattr(FolderSource, "_names", counted)
    assert [folder.line() for _ in range(3 * len(LINES))] == [line.encode() for line in LINES] * 3
    assert len(looks) <= 6


def test_a_named_pipe_is_read(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text("".join(LINES[:4])))
    writer.start()
    found = source_of(str(path), io.BytesIO(), follow=False, say=print)
    assert times(watched(tmp_path, found)) == ["0", "1", "2"]
    writer.join()


def test_a_folder_takes_names_in_capitals(tmp_path: Path) -> None:
    (tmp_path / "A.CSV").write_text("".join(LINES[:4]))
    assert FolderSource(tmp_path).line() == HEADER.encode()


def test_a_header_with_one_name_twice_is_known_again() -> None:
    reader = RowReader(["flow", "flow (2)"], form=TableSettings(separator=","))
    taken = [reader.take(line) for line in (b"flow,flow\n", b"1,2\n", b"flow,flow\n", b"3,4\n")]
    kinds = [getattr(found, "reason", getattr(found, "values", None)) for found in taken]
    assert kinds == [
        *(None, {"flow": "1", "flow (2)": "2"}, "header", {"flow": "3", "flow (2)": "4"}),
    ]


def test_the_longest_line_that_is_read_is_known_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "LONGEST_LINE", 8)
    for text, length in ((b"1234567\n", 8), (b"12345678\n", 0)):
        path = tmp_path / "a.csv"
        path.write_bytes(text)
        file = FileSource(path)
        file.line()
        found = file.position()
        assert (found["offset"], found["length"]) == (len(text), length)


def test_a_folder_gives_its_last_line_unless_told_to_leave_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2")
    folder = FolderSource(tmp_path)
    assert [folder.line() for _ in range(2)] == [b"a,b\n", b"1,2"]
