"""The user's own data: read if it is sound, otherwise one line that helps."""

import gzip
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from pydantic import ValidationError

from causaldq.errors import DataError
from causaldq.pipeline.sources.own import OwnData, OwnSource, read_own

ROWS, NAMES = 12, ("flow", "level", "heat")
VALUES = np.random.default_rng(1).normal([5, 0, -3], [1, 2, 0.1], size=(ROWS, 3)).round(4)
SETTINGS: dict[str, Any] = {
    **{"kind": "own", "file": "plant.csv", "held_out": 0.25},
    **{"first_in_control": 1, "last_in_control": 8},
}


def text(values: Any = VALUES, names: tuple[str, ...] = NAMES, separator: str = ",") -> str:
    lines = [separator.join(names)]
    lines += [separator.join(str(cell) for cell in row) for row in values]
    return "\n".join(lines) + "\n"


def changed(row: int, column: int, cell: object) -> list[list[object]]:
    """The values with one cell replaced."""
    table: list[list[object]] = [list(line) for line in VALUES.tolist()]
    table[row][column] = cell
    return table


Write = Callable[[str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(content: str | bytes) -> Path:
        path = tmp_path / "plant.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return put


def read(path: Path, **more: Any) -> OwnData:
    return read_own(path, OwnSource.model_validate(SETTINGS | more))


def refusal(path: Path, **more: Any) -> str:
    with pytest.raises(DataError) as caught:
        read(path, **more)
    line = str(caught.value)
    assert len(line.splitlines()) == 1
    assert line.startswith(str(path))
    assert caught.value.__cause__ is None
    return line.removeprefix(str(path))


# --- what is read ------------------------------------------------------------------------------


def test_a_plain_file(write: Write) -> None:
    own = read(write(text()), first_in_control=2, last_in_control=9, first_fault=11)
    assert own.names == NAMES
    np.testing.assert_array_equal(own.values, VALUES)
    np.testing.assert_array_equal(own.reference, VALUES[1:9])
    assert own.fault == 10
    assert own.notes == ()


@pytest.mark.parametrize(
    ("content", "notes"),
    [
        (text().replace("\n", "\r\n"), ["Windows line ends: read as line ends"]),
        (text().replace("\n", "\r"), ["Windows line ends: read as line ends"]),
        (b"\xef\xbb\xbf" + text().encode(), ["a byte order mark: skipped"]),
        (text(separator=";"), ["cells are separated by semicolons: read so"]),
        (text(separator="\t"), ["cells are separated by tabs: read so"]),
        (text() + "\n  \n", []),
        (text()[:-1], ["the last line does not end: check that it is whole"]),
        (text(separator=" , "), []),
        ("\n" + text(), []),
        (text().replace("\n", "\n\n", 1), []),
        (
            text().replace("\n", "\n\n", 3).replace("\n\n", "\n", 2),
            ["between rows: 1: skipped"],
        ),
        (text().encode("utf-16"), ["text in utf-16: read as such"]),
        (gzip.compress(text().encode(), mtime=0), ["compressed by gzip: unfolded as it is read"]),
        ("Plant 4\n" + text(), ["a title: 'Plant 4': skipped"]),
        (
            text().replace(",", ";").replace(".", ","),
            ["cells are separated by semicolons: read so", "decimal commas: read as points"],
        ),
        (text(names=('"flow"', "level", "heat")), []),
        (
            b"\xef\xbb\xbf" + text(separator=";").replace("\n", "\r\n").encode(),
            [
                "a byte order mark: skipped",
                "Windows line ends: read as line ends",
                "cells are separated by semicolons: read so",
            ],
        ),
    ],
)
def test_what_is_unusual_is_read_and_noted(
    write: Write, content: str | bytes, notes: list[str]
) -> None:
    own = read(write(content))
    assert own.names == NAMES
    np.testing.assert_array_equal(own.values, VALUES)
    assert list(own.notes) == notes


def test_only_rows_that_are_used_need_to_be_sound(write: Write) -> None:
    path = write(text(changed(9, 1, "Bad")))
    own = read(path)
    np.testing.assert_array_equal(own.reference, VALUES[:8])
    assert np.isnan(own.values).sum() == 1
    line = refusal(path, first_fault=11)
    assert line.startswith(", line 11, column 'level': 'Bad' is no number")


def test_letters_of_windows_are_read(write: Write) -> None:
    own = read(write(text().encode().replace(b"level", "Füllstand".encode("cp1252"))))
    assert own.names == ("flow", "Füllstand", "heat")
    assert own.notes == ("text in cp1252: read as such",)


def test_columns_are_kept_and_dropped_in_the_order_of_the_file(write: Write) -> None:
    table = [[f"tag{i}", *row] for i, row in enumerate(VALUES.tolist())]
    path = write(text(table, ("tag", *NAMES)))
    assert read(path, drop=["tag"]).names == NAMES
    kept = read(path, keep=["heat", "flow"])
    assert kept.names == ("flow", "heat")
    np.testing.assert_array_equal(kept.values, VALUES[:, [0, 2]])


@pytest.mark.parametrize(
    "times",
    [
        [0.05 * i for i in range(ROWS)],
        [round(i / 3, 2) for i in range(ROWS)],
        [f"2024-03-30 {23 - ROWS + i:02}:00:00" for i in range(ROWS)],
        [f"2024-01-{i + 1:02}" for i in range(ROWS)],
        [f"2024-03-31T0{i // 6}:{10 * (i % 6):02}:00" for i in range(ROWS)],
        [f"2024-03-31T0{i // 6}:{10 * (i % 6):02}:00+02:00" for i in range(ROWS)],
    ],
)
def test_regular_times_are_no_stream(write: Write, times: list[object]) -> None:
    table = [[moment, *row] for moment, row in zip(times, VALUES.tolist(), strict=True)]
    own = read(write(text(table, ("when", *NAMES))), time="when")
    assert own.names == NAMES
    np.testing.assert_array_equal(own.values, VALUES)


def test_dates_do_not_depend_on_the_clock_of_the_machine(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In Berlin the hour after two o'clock was left out that night; the plant did not care."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    dates = [f"2024-03-31 {i // 4 + 1:02}:{15 * (i % 4):02}:00" for i in range(ROWS)]
    table = [[date, *row] for date, row in zip(dates, VALUES.tolist(), strict=True)]
    try:
        assert read(write(text(table, ("when", *NAMES))), time="when").names == NAMES
    finally:
        monkeypatch.undo()
        time.tzset()


def test_parquet_is_read_like_csv(tmp_path: Path) -> None:
    frame = pd.DataFrame(VALUES, columns=list(NAMES))
    frame["count"] = np.arange(ROWS) % 5
    frame["open"] = np.arange(ROWS) % 3 == 0
    frame.index = pd.date_range("2024-01-01", periods=ROWS, freq="h", name="when")
    frame.to_parquet(tmp_path / "plant.parquet")
    own = read(tmp_path / "plant.parquet", time="when")
    assert own.names == (*NAMES, "count", "open")
    np.testing.assert_array_equal(own.values[:, :3], VALUES)
    np.testing.assert_array_equal(own.values[:, 3], np.arange(ROWS) % 5)
    # The content counts, not the name.
    (tmp_path / "plant.parquet").rename(tmp_path / "plant.dat")
    assert read(tmp_path / "plant.dat", time="when").names == own.names


def test_large_files_do_not_take_long(write: Write) -> None:
    values = np.random.default_rng(2).normal(size=(20_000, 20))
    names = tuple(f"s{i}" for i in range(20))
    path = write(pd.DataFrame(values, columns=list(names)).to_csv(index=False))
    own = read(path, last_in_control=20_000)
    np.testing.assert_array_equal(own.values, values)


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "more", "expected"),
    [
        ("", {}, " is empty; give a file with a header and rows"),
        ("\n \n", {}, " holds empty lines only; give a file with a header and rows"),
        ("flow,level,heat\n", {}, " has a header and no rows; give rows of normal operation"),
        (
            text(VALUES[1:], tuple(str(v) for v in VALUES[0])),
            {},
            ", header: numbers where names are expected; put a header there",
        ),
        (
            text(names=("flow", "", "heat")),
            {},
            ", column 2: has no name; give it one",
        ),
        (
            text(names=("flow", "level", "flow ")),
            {},
            ", columns 1 and 3: both are called 'flow'; rename one",
        ),
        (
            text(),
            {"keep": ["flow", "levle"]},
            " has no column 'levle', which keep names; the nearest of its 3 is 'level'",
        ),
        (
            text(),
            {"time": "hour"},
            " has no column 'hour', which time names; the nearest of its 3 is 'heat'",
        ),
        (
            text(),
            {"drop": ["flow", "heat"]},
            " has 1 stream, two are the least; separate columns by comma, semicolon or tab, "
            "and check keep and drop",
        ),
        (
            text(changed(4, 1, "high")),
            {},
            ", line 6, column 'level': 'high' is no number; correct it, or drop the column",
        ),
        (
            text(changed(4, 1, "1_0")),
            {},
            ", line 6, column 'level': '1_0' is no number; correct it, or drop the column",
        ),
        (
            text(changed(4, 1, "1,5"), separator=";"),
            {},
            ", line 6, column 'level': '1,5' has a decimal comma; write decimal points",
        ),
        *(
            (
                text(changed(5, 2, cell)),
                {},
                ", line 7, column 'heat': no value; fill it in, or remove the row or the column",
            )
            for cell in ("", " ", "NaN", "NA", "null")
        ),
        *(
            (
                text(changed(0, 0, cell)),
                {},
                f", line 2, column 'flow': '{cell}' is too large or not finite; "
                "rescale or remove it",
            )
            for cell in ("inf", "-Infinity", "1e400", "1e101")
        ),
        (
            text(np.column_stack([VALUES[:, :2], np.full(ROWS, 7.1)])),
            {},
            ", column 'heat': constant in the in-control rows; drop the column",
        ),
        (
            text(VALUES[:, [0, 1, 0]]),
            {},
            ", columns 'flow' and 'heat': identical in the in-control rows; drop one",
        ),
        (
            text(np.column_stack([VALUES[:, :2], 32 - 1.8 * VALUES[:, 1]])),
            {},
            ", columns 'level' and 'heat': the same up to unit and origin in the in-control rows; "
            "drop one",
        ),
        (
            text(),
            {"last_in_control": 2},
            " has 2 in-control rows for 3 streams; give at least as many rows as streams, "
            "or drop columns",
        ),
        (
            text(),
            {"last_in_control": 13},
            " has 12 rows, so last_in_control cannot be 13; give a smaller one",
        ),
        (
            text(),
            {"first_fault": 20},
            " has 12 rows, so first_fault cannot be 20; give a smaller one",
        ),
        (
            text() + "1.5,2\n",
            {},
            ", line 14: 2 fields where the others have 3: the file is cut off; copy it again",
        ),
        (
            text()[: text().rindex(",")],
            {},
            ", line 13: 2 fields where the others have 3: the file is cut off; copy it again",
        ),
        (
            text().replace("\n", "\n1,2,3,4\n", 1),
            {},
            ", line 2: rows with more or fewer than 3 fields: 1; give every row the same fields",
        ),
        (
            text().replace("\n", "\n1,2\n", 1),
            {},
            ", line 2: rows with more or fewer than 3 fields: 1; give every row the same fields",
        ),
        (
            b"PK\x03\x04 and so on",
            {},
            " is a damaged zip archive (File is not a zip file); copy it again",
        ),
        (
            text().replace("\n", "\n\0", 1),
            {},
            ", line 2: a byte 0x00, so this is no text; export the data as CSV",
        ),
        (
            text().replace("\n", '\n"', 1),
            {},
            ", line 2: unexpected end of data; check the quotation marks",
        ),
    ],
)
def test_what_is_wrong_is_told(
    write: Write, content: str | bytes, more: dict[str, Any], expected: str
) -> None:
    assert refusal(write(content), **more) == expected


@pytest.mark.parametrize(
    ("row", "time", "expected"),
    [
        (6, 6.5, ", line 8, column 't': a step of 1.5 where 1 is usual; "),
        (6, 5, ", line 8, column 't': time stands still or runs back; "),
        (0, 20, ", line 3, column 't': time stands still or runs back; "),
        (7, 20, ", line 9, column 't': a step of 14 where 1 is usual; "),
        (3, "noon", ", line 5, column 't': 'noon' is no time; write numbers, or dates as "),
        (3, "", ", line 5, column 't': '' is no time; write numbers, or dates as "),
        (3, "31/12/2024", ", line 5, column 't': '31/12/2024' is no time; write "),
    ],
)
def test_a_changed_time_step_is_told(write: Write, row: int, time: object, expected: str) -> None:
    times: list[object] = list(range(ROWS))
    times[row] = time
    table = [[t, *values] for t, values in zip(times, VALUES.tolist(), strict=True)]
    assert refusal(write(text(table, ("t", *NAMES))), time="t").startswith(expected)


def test_time_that_runs_backwards_is_told(write: Write) -> None:
    table = [[ROWS - i, *row] for i, row in enumerate(VALUES.tolist())]
    line = refusal(write(text(table, ("t", *NAMES))), time="t")
    assert line.startswith(", line 3, column 't': time stands still or runs back; ")


def test_as_many_rows_as_streams_are_enough(write: Write) -> None:
    assert len(read(write(text()), last_in_control=3).reference) == 3


def test_lines_are_those_of_the_file_even_with_line_ends_in_cells(write: Write) -> None:
    table = [[f'"tag\n{i}"', *row] for i, row in enumerate(changed(2, 2, "x"))]
    line = refusal(write(text(table, ("tag", *NAMES))), drop=["tag"])
    assert line.startswith(", line 6, column 'heat': 'x' is no number")


def test_names_and_cells_cannot_break_the_line(write: Write) -> None:
    name = '"two\nlines\x85\u2028"'
    line = refusal(write(text(changed(1, 1, "a\u2028\tb" * 50), ("flow", name, "heat"))))
    assert "column 'two\\nlines" in line
    assert len(line) < 200


def test_files_that_are_not_there(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "none.csv")
    assert "is a folder" in refusal(tmp_path)


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1 rubbish PAR1", b"a,b\n1,2\n", b""])
def test_damaged_parquet(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "plant.parquet"
    path.write_bytes(content)
    assert "is no whole Parquet file" in refusal(path) if content else "is empty" in refusal(path)


def test_parquet_that_unfolds_is_refused_before_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plant.parquet"
    parquet.write_table(pa.table({name: pa.repeat(1.0, 500_000) for name in NAMES}), path)
    assert path.stat().st_size < 1 << 16
    monkeypatch.setattr("causaldq.tables.content.MOST_CELLS", 1_400_000)
    monkeypatch.setattr(pd, "read_parquet", lambda *_, **__: pytest.fail("it was unfolded"))
    assert "holds 1500000 values, more than 1400000; give a part of it" in refusal(path)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([None] * ROWS, ", row 1, column 'x': no value; "),
        ([*range(7), None, *range(4)], ", row 8, column 'x': no value; "),
        (["a", *"bcdefghijkl"], ", row 1, column 'x': 'a' is no number; "),
        ([[1, 2]] * ROWS, ", row 1, column 'x': "),
        (pd.date_range("2024", periods=ROWS).tolist(), ", row 1, column 'x': Timestamp"),
    ],
)
def test_parquet_cells_that_are_no_numbers(
    tmp_path: Path, cells: list[object], expected: str
) -> None:
    frame = pd.DataFrame(VALUES, columns=list(NAMES)).assign(x=pd.Series(cells))
    path = tmp_path / "plant.parquet"
    frame.to_parquet(path)
    assert refusal(path).startswith(expected)


@pytest.mark.parametrize(
    "more",
    [
        {"first_in_control": 0},
        {"first_in_control": 8},
        {"first_fault": 8},
        {"keep": ["a"], "drop": ["b"]},
        {"keep": ["a", "a"]},
        {"keep": []},
        {"tiem": "t"},
    ],
)
def test_settings_at_odds_with_themselves(more: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        OwnSource.model_validate(SETTINGS | more)


# --- whatever happens to a file ----------------------------------------------------------------

BASE = text(np.column_stack([np.arange(ROWS), VALUES]), ("t", *NAMES)).encode()
Edit = tuple[str, float, bytes]
SPICE = st.sampled_from(
    [
        *(b",", b";", b"\t", b'"', b"\n", b"\r", b"\r\n", b"\0", b"e", b"-", b".", b"_", b" "),
        *(
            b"nan",
            b"inf",
            b"1e999",
            b"\xef\xbb\xbf",
            b"\xff",
            b"\xc2\x85",
            b"\xe2\x80\xa8",
            b"PAR1",
        ),
    ]
)
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "delete", "replace", "cut", "double", "swap"]),
        st.floats(0, 1, exclude_max=True),
        st.one_of(SPICE, st.binary(min_size=1, max_size=4)),
    ),
    min_size=1,
    max_size=4,
)


def mangled(content: bytes, edits: list[Edit]) -> bytes:
    for how, share, new in edits:
        place = int(share * len(content))
        lines = content.splitlines(keepends=True)
        line = int(share * len(lines))
        if how == "insert":
            content = content[:place] + new + content[place:]
        elif how == "delete":
            content = content[:place] + content[place + len(new) :]
        elif how == "replace":
            content = content[:place] + new + content[place + len(new) :]
        elif how == "cut":
            content = content[:place]
        elif how == "double" and lines:
            content = b"".join([*lines[:line], lines[line], *lines[line:]])
        elif how == "swap" and lines:
            content = b"".join([*lines[line:], *lines[:line]])
    return content


def outcome(path: Path, **more: Any) -> OwnData | str:
    """The data, or the line that refuses them; anything else is a failure."""
    try:
        return read(path, **more)
    except DataError as error:
        return str(error)


@settings(max_examples=1200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=EDITS, timed=st.booleans())
def test_a_mangled_file_is_sound_or_refused_in_one_line(
    tmp_path: Path, edits: list[Edit], timed: bool
) -> None:
    path = tmp_path / "plant.csv"
    path.write_bytes(mangled(BASE, edits))
    found = outcome(path, **({"time": "t"} if timed else {}))
    if isinstance(found, str):
        assert len(found.splitlines()) == 1
        assert found.startswith(str(path))
        assert len(found) < len(str(path)) + 250
    else:
        assert found.values.shape[1] == len(found.names) == len(set(found.names)) >= 2
        assert np.isfinite(found.reference).all()
        assert (found.reference.std(0) > 0).all()
        assert len(found.reference) == 8
    assert list(tmp_path.iterdir()) == [path]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=EDITS)
def test_mangled_parquet_is_sound_or_refused_in_one_line(tmp_path: Path, edits: list[Edit]) -> None:
    path = tmp_path / "plant.parquet"
    pd.DataFrame(VALUES, columns=list(NAMES)).to_parquet(path)
    path.write_bytes(mangled(path.read_bytes(), edits))
    found = outcome(path)
    if isinstance(found, str):
        assert len(found.splitlines()) == 1
    else:
        assert np.isfinite(found.reference).all()
