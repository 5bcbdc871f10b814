"""Bad rows, one kind after the other: none ends the watch, none is swallowed, none alarms."""

import io
import json

import jsonschema
import numpy as np
import pytest
from plants import MEAN, NAMES, csv_text, monitor, rows

from causaldq import Session, WatchSettings
from causaldq.errors import DataError
from causaldq.live.records import SCHEMA_FILE, Record, as_line, as_text
from causaldq.live.rows import CLOCK, Clock, RowReader
from causaldq.live.source import PipeSource
from causaldq.live.watch_loop import WatchLoop
from causaldq.tables.cells import moments
from causaldq.tables.layout import LONGEST_LINE

GOOD = [f"{x:g}" for x in MEAN]
SCHEMA = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))


class Kept:
    """Records in a list, each as the schema wants it."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def write(self, record: Record) -> None:
        SCHEMA.validate(json.loads(as_line(record)))
        assert as_text(record)
        self.records.append(record)


def watched(text: bytes, every: float | None = None) -> list[Record]:
    session, kept = Session(monitor(), WatchSettings(every=every)), Kept()
    reader = RowReader(NAMES, "rows.csv", "time", Clock(every))
    WatchLoop(session, reader, PipeSource(io.BytesIO(text)), outputs=[kept]).run()
    return kept.records


def line(time: object, *cells: str) -> bytes:
    return ",".join([str(time), *(cells or GOOD)]).encode() + b"\n"


def with_cell(text: str) -> bytes:
    """A row all of whose sensors show the same."""
    return line(5, *([text] * 6))


MISSING = {
    "empty cells": with_cell(""),
    "blanks": with_cell("   "),
    "text": with_cell("Bad"),
    "not available": with_cell("#N/A"),
    "no data, as a historian says it": with_cell("No Data"),
    "a dash": with_cell("-"),
    "nan": with_cell("nan"),
    "NaN with a sign": with_cell("-NaN"),
    "inf": with_cell("inf"),
    "minus infinity": with_cell("-Infinity"),
    "a number too large for a number": with_cell("1e400"),
    "a value beyond any sensor": with_cell("1e300"),
    "underscores": with_cell("1_0"),
    "a unit behind the number": with_cell("10 bar"),
    "hexadecimal": with_cell("0x10"),
    "true": with_cell("True"),
    "two numbers": with_cell("10 11"),
    "a date": with_cell("2026-01-01"),
    "a formula": with_cell("=1+1"),
    "code": with_cell("__import__('os').system('true')"),
    "a thousands' point": with_cell("1.000.000"),
    "a quoted decimal comma": with_cell('"10,5"'),
    "only the time": b"5\n",
    "bytes that are no text": line(5, *(["\x00"] * 6)).replace(b"\x00", b"\xff\xfe"),
    "a zero byte": with_cell("\x00"),
    "a quote that never ends": b'5,"10,300,5,98,-2,4\n',
}
SKIPPED = {
    "the header again": (",".join(("time", *NAMES)).encode() + b"\n", "header"),
    "the header with a mark of its bytes": (
        b"\xef\xbb\xbf" + ",".join(("time", *NAMES)).encode() + b"\n", "header",
    ),
    "a row of the same time": (line(4), "doubled"),
    "the same time, written otherwise": (line("4.0"), "doubled"),
    "a row that is late": (line(2), "late"),
    "a row from before the first": (line(-100), "late"),
    "too many cells": (line(5, *GOOD, "1", "2"), "unreadable"),
    "decimal commas": (b"5,10,1,300,2,5,3,98,4,-2,5,4,6\n", "unreadable"),
    "a line without end": (b"5," + b"1" * (LONGEST_LINE + 10) + b"\n", "unreadable"),
}  # fmt: skip
NOTED = {
    "a short row": (b"5,10,300\n", "short row: 3 of 7"),
    "a row cut in a number": (b"5,10,300,5,9", "short row: 5 of 7"),
    "a time that is none": (line("yesterday"), "'yesterday' cannot be read"),
    "no time": (line(""), "'' cannot be read"),
    "a time that is not finite": (line("nan"), "'nan' cannot be read"),
    "a gap": (line(9), "4 rows did not come"),
}
SILENT = {
    "an empty line": b"\n",
    "commas": b",,,,,,\n",
    "blanks and commas": b" , ,\t, , , ,\r\n",
}
FINE = {
    "Windows line ends": line(5).replace(b"\n", b"\r\n"),
    "blanks around numbers": line(5, *(f"  {x} " for x in GOOD)),
    "quoted numbers": line(5, *(f'"{x}"' for x in GOOD)),
    "empty cells behind": line(5, *GOOD, "", ""),
    "exponents": line(5, *(f"{float(x):e}" for x in GOOD)),
    "no line end at the end": line(5).rstrip(b"\n"),
}


def test_there_are_forty_kinds() -> None:
    assert len(MISSING) + len(SKIPPED) + len(NOTED) + len(SILENT) >= 40


def played(bad: bytes, every: float | None = None) -> tuple[list[Record], list[Record]]:
    """Records of the bad row, and of two good ones behind it."""
    normal = csv_text(rows(5, seed=8)).encode()
    behind = b"" if not bad.endswith(b"\n") else line(20) + line(21)
    before = len(watched(normal, every))
    records = watched(normal + bad + behind, every)
    last = len(records) - (2 if behind else 0)
    return records[before:last], records[last:]


def goes_on(after: list[Record]) -> None:
    for record in after:
        assert record["kind"] == "reading"
        assert not record["alarm"]
        assert record["read"]
        assert record["statistic"] is not None


@pytest.mark.parametrize("kind", MISSING)
def test_a_row_without_values_is_a_step_that_lacks_them(kind: str) -> None:
    (record,), after = played(MISSING[kind])
    assert record["kind"] == "reading"
    assert (record["step"], record["read"]) == (6, [])
    assert len(record["missing"]) == 3
    assert not set(record["next"]) & set(record["missing"]), "others are asked for"
    assert record["statistic"] is not None
    assert not record["alarm"]
    goes_on(after)


@pytest.mark.parametrize("kind", SKIPPED)
def test_a_line_that_is_no_new_row_is_no_step(kind: str) -> None:
    bad, reason = SKIPPED[kind]
    (record,), after = played(bad)
    assert (record["kind"], record["reason"], record["step"]) == ("skipped", reason, 5)
    assert after[0]["step"] == 6
    goes_on(after)


@pytest.mark.parametrize("kind", NOTED)
def test_what_is_odd_about_a_row_is_noted(kind: str) -> None:
    bad, words = NOTED[kind]
    (record,), after = played(bad, every=1.0)
    assert any(words in note for note in record["notes"])
    for left in after:
        left["notes"] = []  # the gap before them
    goes_on(after)


@pytest.mark.parametrize("kind", SILENT)
def test_an_empty_line_is_nothing(kind: str) -> None:
    records, after = played(SILENT[kind])
    assert records == []
    goes_on(after)


@pytest.mark.parametrize("kind", FINE)
def test_a_row_may_be_written_otherwise(kind: str) -> None:
    (record,), _ = played(FINE[kind])
    assert len(record["read"]) == 3
    assert record["missing"] == record["notes"] == []


def test_columns_may_change_their_order_with_a_new_header() -> None:
    order = ["steam", "time", *NAMES[:5]]
    cells = {"time": "5", **dict(zip(NAMES, GOOD, strict=True))}
    text = ",".join(order) + "\n" + ",".join(cells[name] for name in order) + "\n"
    normal = csv_text(rows(5, seed=8)).encode()
    turned = watched(normal + text.encode())[-1]
    straight = watched(normal + line(5))[-1]
    assert turned == straight


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "not even a header"),
        (b"\n\n", "not even a header"),
        (b"time;flow;heat\n1;2;3\n", "no column 'flow'"),
        (b"flow,heat,level,purity,speed,steam\n", "no column 'time'"),
        (b"time,flow,heat,level,purity,speed\n1,2,3,4,5,6\n", "no column 'steam'"),
        (b"time,flow,flow,heat,level,purity,speed,steam\n", "two columns 'flow'"),
        (b"1,10,300,5,98,-2,4\n", "no column 'flow'"),
        (b"PK\x03\x04\x00\x00\n", "no column 'flow'"),
    ],
)
def test_a_file_that_is_none_is_refused_at_once(text: bytes, words: str) -> None:
    with pytest.raises(DataError, match=words):
        watched(text)


def test_a_clock_that_was_set_back_is_believed_after_some_rows() -> None:
    clock = Clock()
    assert clock.judge("2099-01-01T00:00:00") == ("", "")
    reasons = [clock.judge(f"2026-01-01T00:0{k}:00")[0] for k in range(CLOCK + 2)]
    assert reasons == ["late"] * (CLOCK - 1) + [""] * 3
    assert Clock().judge("5") == ("", "")


def test_rows_out_of_order_are_not_taken_for_a_clock_set_back() -> None:
    clock = Clock()
    clock.judge("100")
    assert [clock.judge(str(t))[0] for t in (9, 8, 7, 6, 5, 4, 3)] == ["late"] * 7


@pytest.mark.parametrize("text", ["noon", "inf", "1_000", ""])
def test_times_are_what_inspect_takes_for_times(text: str) -> None:
    assert np.isnan(moments([text])).all()
    assert Clock().judge(text) == ("", f"time {text!r} cannot be read")


@pytest.mark.parametrize(
    ("early", "late"),
    [("12.5", "13"), ("1970-01-01", "1970-01-01 00:01"), ("1970-01-01T01:00:00+01:00", "1")],
)
def test_times_are_numbers_or_dates(early: str, late: str) -> None:
    clock = Clock()
    assert clock.judge(early) == clock.judge(late) == ("", "")
    assert clock.judge(late)[0] == "doubled"
    assert clock.judge(early)[0] == "late"


def test_a_gap_is_told_only_where_the_time_between_rows_is_known() -> None:
    text = csv_text(rows(3)).encode() + line(50)
    assert watched(text)[-1]["notes"] == []
    assert watched(text, every=1.0)[-1]["notes"] == ["47 rows did not come"]
