"""Solar flares: settings, and windows of magnetic-field parameters as one tidy table.

The table has the columns window, label, step and then the parameters. The label is Q where no
flare follows (SWAN-SF writes NF or FQ), otherwise the class of the largest flare: B, C, M, X.
"""

import itertools
import json
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from pydantic import BeforeValidator, Field, model_validator

from causaldq.errors import DataError
from causaldq.pipeline.sources.base import FetchedSource, Recorded
from causaldq.pipeline.sources.catalogue import FileSet
from causaldq.pipeline.sources.fetch import Delivered, Fetched, Way, given
from causaldq.pipeline.sources.flare_tables import (
    fill_gaps,
    joined_windows,
    parameters_of,
    window_table,
    window_values,
)
from causaldq.setting import Distinct, Name, NotNegative, Settings
from causaldq.types import Floats

QUIET = "Q"

SWAN_PARAMETERS: tuple[str, ...] = (
    *("TOTUSJH", "TOTBSQ", "TOTPOT", "TOTUSJZ", "ABSNJZH", "SAVNCPP", "USFLUX", "TOTFZ"),
    *("MEANPOT", "EPSZ", "MEANSHR", "SHRGT45", "MEANGAM", "MEANGBT", "MEANGBZ", "MEANGBH"),
    *("MEANJZH", "TOTFY", "MEANJZD", "MEANALP", "TOTFX", "EPSY", "EPSX", "R_VALUE"),
)
"""Columns 2 to 25 of a SWAN-SF window. The BigData Cup has these and nine more."""

LONGEST_LINE = 16 << 20
"""Bytes. A window takes some 50 thousand; what is longer is no line of the BigData Cup."""

QUIET_LABEL = re.compile(rb'"label"\s*:\s*"Q"')
LINE_START = re.compile(rb'\s*\{\s*"((?:[^"\\]|\\.)*)"\s*:')

# lab[B]6.0@7473_id[3648]_st[...]_et[...].csv, and as the archive's partitions spell it:
# M1.0@265:Primary_ar115_s..._e....csv, with : or _ in the times, FQ_ar... where no flare follows.
SAMPLE_NAME = re.compile(
    r"lab\[(?P<label>\w+)\](?:[\d.]+@\d+)?_id\[(?P<region>\d+)\]"
    r"_st\[(?P<start>[^\]]+)\]_et\[[^\]]+\]\.csv"
)
ARCHIVE_NAME = re.compile(
    r"(?P<label>FQ|[A-Z])(?:[\d.]+@\d+[:_]\w+?)?_ar(?P<region>\d+)"
    r"_s(?P<start>\d{4}-\d\d-\d\dT[\d:_]+)_e[^_].*\.csv"
)


WindowId = Annotated[str, BeforeValidator(str)]
"""Many are numbers, and arrive as such."""


class FlareWindows(Settings):
    """Which windows are used, by their ids."""

    train_quiet: WindowId
    train_flare: WindowId
    test_quiet: Annotated[
        list[WindowId], Field(min_length=1, description="`paper` uses the first, `fair` all")
    ]
    test_flare: Annotated[
        list[WindowId], Field(min_length=1, description="`paper` uses the first, `fair` all")
    ]
    reference: Annotated[
        list[WindowId], Field(description="more quiet windows, for the scale and the limits")
    ]


class FlareSource(FetchedSource):
    """Solar flares: quiet windows, into which rows of flare windows are inserted."""

    kind: Literal["flares"]
    datasets: Annotated[
        Distinct[Literal["flares_bigdata", "flares_swan", "flares_surrogate"]],
        Field(description="the first of these that can be had"),
    ]
    path: Annotated[
        str | None, Field(description="the user's own BigData file or folder of SWAN-SF windows")
    ]
    windows: Annotated[
        dict[Name, FlareWindows], Field(description="for each data set the windows to use")
    ]
    more_quiet: Annotated[
        int,
        Field(ge=0, description="further quiet windows, the first there are, for scale and limits"),
    ]
    between: Annotated[
        NotNegative,
        Field(description="how much surrogate windows differ: 0 all alike, 1 as active regions do"),
    ]
    reference = "data/reference/flare_moments.json"
    is_inserted = True

    @model_validator(mode="after")
    def _windows_given(self) -> Self:
        for name in self.datasets:
            if name not in self.windows:
                raise ValueError(f"windows of {name} are missing")
        return self

    def own_files(self) -> dict[str, str]:
        return {"path": self.path} if self.path else {}

    def get(self, name: str, data_set: FileSet, order: Sequence[Way], folder: Path) -> Fetched:
        path = Path(self.path) if self.path else None
        if name == "flares_surrogate":
            return Fetched(name, {}, {"": ("made", str(self.reference))})
        if path is not None and path.is_dir() == (name == "flares_swan"):
            return given(name, data_set, path)
        if name == "flares_bigdata":
            raise DataError(f"{name}: no path given; {data_set.remedy}")
        return super().get(name, data_set, order, folder)

    def read(self, found: Delivered, reference: Path | None, rng: np.random.Generator) -> Recorded:
        used = self.windows[found.name]
        named = [used.train_quiet, *used.test_quiet, *used.reference]
        more = _more_quiet(found, self.more_quiet, named)
        quiet_ids = [*named, *more]
        flare_ids = [used.train_flare, *used.test_flare]
        filled = fill_gaps(_table(found, quiet_ids + flare_ids, reference, rng, self.between))
        values = {window: _values(filled.table, window, flare=False) for window in quiet_ids}
        values |= {window: _values(filled.table, window, flare=True) for window in flare_ids}
        return Recorded(
            parameters_of(filled.table),
            np.concatenate([values[w] for w in (used.train_quiet, *used.reference, *more)]),
            np.concatenate([values[window] for window in used.test_quiet]),
            filled.table,
            anomalous=values[used.train_flare],
            test_anomalous=np.concatenate([values[window] for window in used.test_flare]),
            window=len(values[used.train_quiet]),
            notes=[*filled.messages, *_fewer(self.more_quiet, more)],
        )


def _more_quiet(found: Delivered, n: int, named: Sequence[str]) -> list[str]:
    """The first n quiet windows of a data set that are not named already, or fewer."""
    ids: Iterator[str]
    if n == 0:
        return []
    if found.name == "flares_swan":
        index = index_swan(next(iter(found.files.values())).parent).drop_duplicates("window")
        ids = map(str, index.loc[index["label"] == QUIET, "window"])
    elif found.name == "flares_bigdata":
        ids = quiet_bigdata(next(iter(found.files.values())))
    else:
        ids = (f"surrogate_{QUIET}_{number}" for number in itertools.count(1))
    return list(itertools.islice((window for window in ids if window not in named), n))


def _fewer(wanted: int, found: Sequence[str]) -> list[str]:
    if len(found) == wanted:
        return []
    return [f"{wanted} more quiet windows were asked for, there are {len(found)}"]


def _table(
    found: Delivered, ids: list[str], moments: Path | None, rng: np.random.Generator,
    between: float,
) -> pd.DataFrame:  # fmt: skip
    if found.name == "flares_swan":
        return read_swan(next(iter(found.files.values())).parent, ids)
    if found.name == "flares_bigdata":
        return read_bigdata(next(iter(found.files.values())), ids)
    from causaldq.pipeline.sources.surrogate import read_moments, surrogate_windows

    return surrogate_windows(read_moments(Path(str(moments))), ids, rng, between)


def _values(table: pd.DataFrame, window: str, *, flare: bool) -> Floats:
    """(steps, p), a window's values, refused if it is not of the kind expected."""
    label, values = window_values(table, window)
    if flare == (label == QUIET):
        kind = "a flare window (B, C, M, X)" if flare else "a quiet one (Q)"
        raise DataError(f"window {window!r} is labelled {label}; give {kind}")
    return values


class WindowName(NamedTuple):
    """What a SWAN-SF file's name says. A region has many windows, so its number is no id."""

    window: str
    label: str


# --- IEEE BigData Cup 2020 ---------------------------------------------------------------------


def read_bigdata(path: Path, windows: Collection[str]) -> pd.DataFrame:
    """The tidy table of some windows of a file of JSON lines.

    The file is read line by line and only the wanted lines are parsed, so that memory does not
    depend on its size.
    """
    wanted = {str(window) for window in windows}
    found: dict[str, pd.DataFrame] = {}
    seen = 0
    for number, line in _lines(path):
        seen += 1
        window = _window_of(path, number, line)
        if window in wanted and window not in found:
            found[window] = _parse(path, number, line, window)
        if len(found) == len(wanted):
            break
    missing = sorted(wanted - set(found))
    if missing:
        raise DataError(
            f"{path} has no window {missing[0]!r} among its {seen}; "
            "give ids that it has, or another partition"
        )
    parameters = list(next(iter(found.values())).columns) if found else []
    for window, frame in found.items():
        if list(frame.columns) != parameters:
            raise DataError(f"{path}, window {window!r}: other parameters than the others have")
    return joined_windows([found[window] for window in dict.fromkeys(map(str, windows))])


def quiet_bigdata(path: Path) -> Iterator[str]:
    """The ids of the quiet windows of a file, in its order."""
    for _, line in _lines(path):
        found = LINE_START.match(line)
        if found is not None and QUIET_LABEL.search(line):
            yield found[1].decode("utf-8", "replace")


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, with their numbers from 1."""
    try:
        with path.open("rb") as handle:
            number = 0
            while line := handle.readline(LONGEST_LINE):
                number += 1
                if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                    raise DataError(
                        f"{path}, line {number}: longer than {LONGEST_LINE >> 20} MB; "
                        "give a file of JSON lines, one window a line"
                    )
                if line.strip():
                    yield number, line
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None


def _window_of(path: Path, number: int, line: bytes) -> str:
    found = LINE_START.match(line)
    if found is None:
        raise DataError(
            f"{path}, line {number}: not a window ({_excerpt(line)}); download it again"
        )
    return found[1].decode("utf-8", "replace")


def _excerpt(line: bytes) -> str:
    return repr(line[:30].decode("utf-8", "replace").strip())


def _parse(path: Path, number: int, line: bytes, window: str) -> pd.DataFrame:
    """One window, indexed by KEYS, a column a parameter; gaps are NaN."""
    try:
        content: Any = json.loads(line)
        entry = content[window]
        label, values = entry["label"], entry["values"]
        steps = sorted({int(step) for series in values.values() for step in series})
        columns = {
            name: [_number(series.get(str(step))) for step in steps]
            for name, series in values.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise DataError(f"{path}, line {number}: damaged ({reason}); download it again") from None
    if not steps or not isinstance(label, str):
        raise DataError(f"{path}, line {number}: an empty window; give another id")
    return window_table(window, label, columns, len(steps))


def _number(value: object) -> float:
    if value is None:
        return np.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    return float(value)


# --- SWAN-SF -----------------------------------------------------------------------------------


def swan_name(name: str) -> WindowName | None:
    """The window and the label in a file's name; None if it is not one of SWAN-SF."""
    found = SAMPLE_NAME.fullmatch(name) or ARCHIVE_NAME.fullmatch(name)
    if not found:
        return None
    start = re.sub(r"T(\d\d)_(\d\d)_(\d\d)", r"T\1:\2:\3", found["start"])
    label = QUIET if found["label"] in ("NF", "FQ") else found["label"]
    return WindowName(f"{found['region']}@{start}", label)


def index_swan(folder: Path) -> pd.DataFrame:
    """The columns window, label and path of every window in a folder, ordered by window."""
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder; give the one that holds the windows")
    rows = [
        (*known, str(path))
        for path in sorted(folder.rglob("*.csv"))
        if (known := swan_name(path.name)) is not None
    ]
    if not rows:
        raise DataError(
            f"{folder} holds no window named like lab[B]6.0@7473_id[3648]_st[..]_et[..]"
        )
    index = pd.DataFrame(rows, columns=["window", "label", "path"])
    return index.sort_values("window", ignore_index=True)


def read_swan(folder: Path, windows: Collection[str] | None = None) -> pd.DataFrame:
    """The tidy table of the windows in a folder: those named, or all."""
    index = index_swan(folder).drop_duplicates("window").set_index("window")
    wanted = list(index.index) if windows is None else list(dict.fromkeys(windows))
    for window in wanted:
        if window not in index.index:
            raise DataError(
                f"{folder} has no window {window!r}; it has {index.index[0]!r} and so on"
            )
    return joined_windows(
        [
            _swan_window(
                Path(str(index.at[window, "path"])), window, str(index.at[window, "label"])
            )
            for window in wanted
        ]
    )


def _swan_window(path: Path, window: str, label: str) -> pd.DataFrame:
    try:
        frame = pd.read_csv(path, sep="\t")
    except (OSError, ValueError) as error:
        raise DataError(_one_line(f"{path} cannot be read: {error}; fetch it again")) from None
    missing = [name for name in SWAN_PARAMETERS if name not in frame.columns]
    if missing:
        raise DataError(f"{path} has no column {missing[0]!r}; fetch it again")
    if frame.empty:
        raise DataError(f"{path} has no rows; fetch it again")
    try:
        values = frame[list(SWAN_PARAMETERS)].astype(np.float64)
    except ValueError as error:
        raise DataError(_one_line(f"{path} holds text: {error}; fetch it again")) from None
    columns = {name: values[name].tolist() for name in SWAN_PARAMETERS}
    return window_table(window, label, columns, len(frame))


def _one_line(text: str) -> str:
    return " ".join(text.split())
