"""Ways in which the example plant's file can be mangled, and what inspect should find then."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from causaldq import example_plant
from causaldq.tables.inspection import Inspection
from causaldq.tables.settings import TableSettings, as_toml, read_settings

PLANT = example_plant()[:400].reset_index()
STREAMS = list(PLANT.columns[1:])
TEXT = PLANT.to_csv(index=False)
LINES = TEXT.splitlines(keepends=True)
CLOCK = ("clock", "column 'minute'")
Change = Callable[[pd.DataFrame], Any]


def put(folder: Path, made: object) -> Path:
    path = folder / "plant.csv"
    if isinstance(made, pd.DataFrame):
        made = made.to_csv(index=False)
    assert isinstance(made, str | bytes)
    path.write_bytes(made.encode() if isinstance(made, str) else made)
    return path


def cells(name: str, new: dict[int, object]) -> Change:
    """Some cells of a column replaced, by row."""

    def change(table: pd.DataFrame) -> pd.DataFrame:
        column = table[name].astype(object)
        for row, cell in new.items():
            column[row] = cell
        return table.assign(**{name: column})

    return change


def column(name: str, make: Callable[[pd.DataFrame], Any]) -> Change:
    return lambda table: table.assign(**{name: make(table)})


def parquet(table: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.to_parquet(buffer)
    return buffer.getvalue()


def dates(form: str) -> Change:
    return lambda table: table.assign(
        minute=pd.date_range("2024-03-01", periods=len(table), freq="10min").strftime(form)
    )


def semicolons(table: pd.DataFrame) -> str:
    return table.to_csv(index=False, sep=";", decimal=",")


def twice(table: pd.DataFrame) -> str:
    return table.to_csv(index=False).replace("steam_flow", "feed_flow", 1)


def noise(table: pd.DataFrame) -> Any:
    return np.random.default_rng(4).standard_normal(len(table))


def walk(table: pd.DataFrame) -> Any:
    """Memory without drift: every tenth of the rows averages to zero."""
    steps = np.convolve(noise(table), np.ones(8), "same")
    return steps - np.repeat(steps.reshape(-1, 40).mean(1), 40)


UNITS = "min," + ",".join(["kg/h", "C", "kg/h", "C", "bar", "%", "kg/h", "%"]) + "\n"
SEMICOLONS = [("separator", "file"), ("decimal comma", "file")]
SAME: list[tuple[str, Change, list[tuple[str, str]]]] = [
    ("nothing", lambda t: t, []),
    ("semicolons", lambda t: t.to_csv(index=False, sep=";"), [("separator", "file")]),
    ("tabs", lambda t: t.to_csv(index=False, sep="\t"), [("separator", "file")]),
    ("bars", lambda t: t.to_csv(index=False, sep="|"), [("separator", "file")]),
    ("spaces", lambda t: t.to_string(index=False) + "\n", [("separator", "file")]),
    ("decimal commas", semicolons, SEMICOLONS),
    (
        "quoted decimal commas",
        lambda t: t.map(lambda cell: str(cell).replace(".", ",")),
        [("decimal comma", "file")],
    ),
    ("byte order mark", lambda _: b"\xef\xbb\xbf" + TEXT.encode(), [("byte order mark", "file")]),
    ("UTF-16", lambda _: TEXT.encode("utf-16"), [("encoding", "file")]),
    ("UTF-16 without a mark", lambda _: TEXT.encode("utf-16-le"), [("encoding", "file")]),
    ("UTF-32", lambda _: TEXT.encode("utf-32"), [("encoding", "file")]),
    (
        "Windows letters",
        lambda _: (LINES[0] + UNITS.replace("C", "\N{DEGREE SIGN}C") + "".join(LINES[1:])).encode(
            "cp1252"
        ),
        [("encoding", "file"), ("units", "line 2")],
    ),
    ("Windows line ends", lambda _: TEXT.replace("\n", "\r\n"), [("line ends", "file")]),
    ("no last line end", lambda _: TEXT[:-1], [("last line", "file")]),
    ("gzip", lambda _: gzip.compress(TEXT.encode()), [("gzip", "file")]),
    (
        "gzip of two parts",
        lambda _: gzip.compress(TEXT[:999].encode()) + gzip.compress(TEXT[999:].encode()),
        [("gzip", "file")],
    ),
    ("Parquet", parquet, [("parquet", "file")]),
    ("title", lambda _: "Plant 4, export of 2024\n" + TEXT, [("title", "line 1")]),
    ("a year above the header", lambda _: "2024\n" + TEXT, [("title", "line 1")]),
    (
        "titles and an empty line",
        lambda _: "Plant 4\nshift: B\n\n" + TEXT,
        [("title", "line 1"), ("title", "line 2")],
    ),
    ("units", lambda _: LINES[0] + UNITS + "".join(LINES[1:]), [("units", "line 2")]),
    (
        "units beside text",
        lambda t: (
            t.assign(shift="night")
            .to_csv(index=False)
            .replace("\n", "\n" + UNITS.replace("\n", ",\n"), 1)
        ),
        [("units", "line 2"), ("text column", "column 'shift'")],
    ),
    (
        "title, units, semicolons and commas",
        lambda t: (
            "Werk 4\n"
            + semicolons(t).split("\n")[0]
            + "\n"
            + UNITS.replace(",", ";")
            + semicolons(t).split("\n", 1)[1]
        ),
        [*SEMICOLONS, ("title", "line 1"), ("units", "line 3")],
    ),
    (
        "empty lines",
        lambda _: "".join(LINES[:9]) + "\n\n" + "".join(LINES[9:]),
        [("empty lines", "line 10")],
    ),
    (
        "a separator at the end of each line",
        lambda _: TEXT.replace("\n", ",\n"),
        [("empty column", "column 10")],
    ),
    (
        "a separator at the end of each row",
        lambda _: LINES[0] + "".join(LINES[1:]).replace("\n", ",\n"),
        [("empty column", "column 10")],
    ),
    ("a text column", column("shift", lambda _: "night"), [("text column", "column 'shift'")]),
    ("an empty column", column("spare", lambda _: ""), [("missing", "column 'spare'")]),
    (
        "a sparse column",
        column("lab", lambda t: np.where(t.minute % 3, np.nan, noise(t))),
        [("missing", "column 'lab'")],
    ),
    ("a constant", column("valve", lambda _: 7.1), [("constant", "column 'valve'")]),
    (
        "nearly a constant",
        column("valve", lambda t: np.where(t.minute % 50, 7.0, noise(t))),
        [("nearly constant", "column 'valve'")],
    ),
    ("a copy", column("copy", lambda t: t.steam_flow), [("duplicate", "column 'copy'")]),
    (
        "Fahrenheit",
        column("f", lambda t: (32 + 1.8 * t.feed_temperature).round(2)),
        [("rescaled", "column 'f'")],
    ),
    ("a counter", column("total", lambda t: t.minute // 7), [("one way", "column 'total'")]),
    (
        "a column without a name",
        lambda t: t.assign(x="a").rename(columns={"x": ""}),
        [("no name", "column 10"), ("text column", "column 'column 10'")],
    ),
    (
        "the index without a name",
        lambda _: TEXT.replace("minute,", "", 1),
        [("no name", "column 1"), ("clock", "column 'column 1'")],
    ),
]  # fmt: skip
"""Changes after which the same rows of the same streams are there."""


BAD = {50: "Bad", 51: "Bad", 70: "No Data"}
LOST: list[tuple[str, Change, list[tuple[str, str]], list[int]]] = [
    (
        "text among numbers",
        cells("steam_flow", BAD),
        [("text", "column 'steam_flow'"), ("missing", "column 'steam_flow'")],
        [50, 51, 70],
    ),
    (
        "missing cells",
        cells("steam_flow", {3: "", 9: "NA", 11: "-"}),
        [("missing", "column 'steam_flow'")],
        [3, 9, 11],
    ),
    (
        "a logger's word",
        cells("feed_flow", {7: -9999, 8: -9999}),
        [("code", "column 'feed_flow'"), ("missing", "column 'feed_flow'")],
        [7, 8],
    ),
    (
        "infinite",
        cells("feed_flow", {7: "inf", 8: "1e400"}),
        [("infinite", "column 'feed_flow'"), ("missing", "column 'feed_flow'")],
        [7, 8],
    ),
    (
        "a decimal comma",
        cells("feed_flow", {7: "11,9"}),
        [("text", "column 'feed_flow'"), ("missing", "column 'feed_flow'")],
        [7],
    ),
    ("spikes", cells("feed_flow", {7: 500.0, 90: -3}), [("spikes", "column 'feed_flow'")], [7, 90]),
    (
        "rows of another width",
        lambda _: "".join([*LINES[:5], "1,2,3\n", *LINES[5:]]),
        [
            ("ragged", "line 6"),
            ("no time", "column 'minute'"),
            *(("missing", f"column '{name}'") for name in STREAMS),
        ],
        [4],
    ),
    (
        "cut off",
        lambda _: TEXT[:-40],
        [
            ("last line", "file"),
            ("cut off", "line 401"),
            ("no time", "column 'minute'"),
            *(("missing", f"column '{name}'") for name in STREAMS),
        ],
        [399],
    ),
]  # fmt: skip
"""Changes after which some rows, counted from 0, lack a value, or hold what is none."""


ODD: list[tuple[str, Change, list[tuple[str, str]]]] = [
    (
        "held values",
        column("lab", lambda t: np.repeat(noise(t)[:80], 5)),
        [("held", "streams"), ("autocorrelation", "streams")],
    ),
    (
        "a stuck sensor",
        lambda t: t.assign(feed_flow=t.feed_flow.where((t.minute < 90) | (t.minute > 130), 12.0)),
        [("stuck", "column 'feed_flow'")],
    ),
    ("memory", column("slow", walk), [("autocorrelation", "streams")]),
    (
        "drift",
        column("lab", lambda t: noise(t) + (t.minute >= 200)),
        [("drift", "column 'lab'")],
    ),
    (
        "falling times",
        cells("minute", {30: 28, 31: 29, 32: 29}),
        [("falling times", "column 'minute'"), ("uneven times", "column 'minute'")],
    ),
    (
        "a gap in time",
        lambda t: t.drop(index=range(100, 120)),
        [("uneven times", "column 'minute'")],
    ),
    ("times that run back", lambda t: t[::-1], [("falling times", "column 'minute'")]),
    ("two columns of one name", twice, [("duplicate name", "columns 2 and 4")]),
    ("few rows", lambda t: t[:60], [("few rows", "normal rows")]),
    # Halves of seven and eight rows differ by chance as much as by drift.
    ("very few rows", lambda t: t[:15], [("few rows", "normal rows")]),
    (
        "no header",
        lambda _: "".join(LINES[1:]),
        [("no header", "header"), ("clock", "column 'column 1'")],
    ),
]  # fmt: skip


def kinds(found: Inspection) -> list[tuple[str, str]]:
    return [(finding.kind, finding.where) for finding in found.findings]


def settled(found: Inspection, folder: Path) -> TableSettings:
    """The settings of an inspection, through a file."""
    assert found.settings is not None
    place = folder / "settings.toml"
    place.write_text(as_toml(found.settings, [finding.what for finding in found.findings]))
    assert read_settings(place) == found.settings
    return found.settings
