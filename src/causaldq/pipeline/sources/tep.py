"""The Tennessee Eastman Process: its settings, and three kinds of files as one tidy table.

The table has the columns dataset, fault, run, sample, split and then the 52 variables
xmeas_1..41 and xmv_1..11. Samples count from 1 and are 3 minutes apart.
"""

import re
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field

from causaldq.errors import DataError
from causaldq.pipeline.sources.base import FetchedSource, Recorded, split
from causaldq.pipeline.sources.fetch import Delivered
from causaldq.setting import Count, Distinct, Share
from causaldq.types import Floats

Split = Literal["train", "test"]


class Variable(NamedTuple):
    """A variable of the process, after tables 3 to 5 of Downs and Vogel (1993)."""

    id: str
    description: str
    unit: str


def _measurements() -> list[Variable]:
    continuous = [
        ("A feed (stream 1)", "kscmh"),
        ("D feed (stream 2)", "kg/h"),
        ("E feed (stream 3)", "kg/h"),
        ("A and C feed (stream 4)", "kscmh"),
        ("Recycle flow (stream 8)", "kscmh"),
        ("Reactor feed rate (stream 6)", "kscmh"),
        ("Reactor pressure", "kPa gauge"),
        ("Reactor level", "%"),
        ("Reactor temperature", "°C"),
        ("Purge rate (stream 9)", "kscmh"),
        ("Product separator temperature", "°C"),
        ("Product separator level", "%"),
        ("Product separator pressure", "kPa gauge"),
        ("Product separator underflow (stream 10)", "m³/h"),
        ("Stripper level", "%"),
        ("Stripper pressure", "kPa gauge"),
        ("Stripper underflow (stream 11)", "m³/h"),
        ("Stripper temperature", "°C"),
        ("Stripper steam flow", "kg/h"),
        ("Compressor work", "kW"),
        ("Reactor cooling water outlet temperature", "°C"),
        ("Separator cooling water outlet temperature", "°C"),
    ]
    analysed = [
        *(f"Component {part} in reactor feed (stream 6)" for part in "ABCDEF"),
        *(f"Component {part} in purge gas (stream 9)" for part in "ABCDEFGH"),
        *(f"Component {part} in product (stream 11)" for part in "DEFGH"),
    ]
    every = continuous + [(description, "mol%") for description in analysed]
    return [Variable(f"xmeas_{i}", *entry) for i, entry in enumerate(every, 1)]


def _manipulated() -> list[Variable]:
    described = [
        "D feed flow (stream 2)",
        "E feed flow (stream 3)",
        "A feed flow (stream 1)",
        "A and C feed flow (stream 4)",
        "Compressor recycle valve",
        "Purge valve (stream 9)",
        "Separator pot liquid flow (stream 10)",
        "Stripper liquid product flow (stream 11)",
        "Stripper steam valve",
        "Reactor cooling water flow",
        "Condenser cooling water flow",
    ]
    return [Variable(f"xmv_{i}", text, "%") for i, text in enumerate(described, 1)]


VARIABLES: tuple[Variable, ...] = (*_measurements(), *_manipulated())
"""All 52 variables, in the order of every file. The twelfth valve, the agitator's, is constant
and in none of the files."""

COLUMNS: tuple[str, ...] = tuple(variable.id for variable in VARIABLES)

PAPER_STREAMS: tuple[str, ...] = COLUMNS[2:]
"""The paper's p = 50: columns 5 to 55 of the file of Rieth et al., xmeas_3..41 and xmv_1..11."""

FAULTS: dict[int, str] = {
    1: "A/C feed ratio, step",
    2: "B in feed, step",
    3: "D feed temperature, step",
    4: "reactor cooling water, step",
    5: "condenser cooling water, step",
    6: "A feed lost",
    7: "C header pressure lost",
    8: "feed composition, random",
    9: "D feed temperature, random",
    10: "C feed temperature, random",
    11: "reactor cooling water, random",
    12: "condenser cooling water, random",
    13: "reaction kinetics, drift",
    14: "reactor cooling valve, sticking",
    15: "condenser cooling valve, sticking",
    16: "unknown",
    17: "unknown",
    18: "unknown",
    19: "unknown",
    20: "unknown",
    21: "stream 4 valve, stuck",
}
"""Where each fault originates, after table 8 of Downs and Vogel (1993) and Chiang et al. (2001)."""

KEYS = ("dataset", "fault", "run", "sample", "split")

COPY_NAMES: tuple[str, ...] = (
    *("A Feed", "D Feed", "E Feed", "A and C Feed", "Recycle Flow", "Reactor Feed Rate"),
    *("Reactor Pressure", "Reactor Level", "Reactor Temperature", "Purge Rate"),
    *("Product Sep Temp", "Product Sep Level", "Product Sep Pressure", "Product Sep Underflow"),
    *("Stripper Level", "Stripper Pressure", "Stripper Underflow", "Stripper Temp"),
    *("Stripper Steam Flow", "Compressor Work", "Reactor Coolant Temp", "Separator Coolant Temp"),
    *(f"Component {part} to Reactor" for part in "ABCDEF"),
    *(f"Component {part} in Purge" for part in "ABCDEFGH"),
    *(f"Component {part} in Product" for part in "DEFGH"),
    *("D feed load", "E feed load", "A feed load", "A and C feed load"),
    *("Compressor recycle valve", "Purge valve", "Separator liquid load"),
    *("Stripper liquid load", "Stripper steam valve", "Reactor coolant load"),
    "Condenser coolant load",
)
"""What the copy of run 1 calls the 52 variables, in the same order."""

HOURS_A_SAMPLE = 0.05

RIETH_IN_CONTROL = ["TEP_FaultFree_Training.RData", "TEP_FaultFree_Testing.RData"]
RIETH_FAULTY = ["TEP_Faulty_Testing.RData"]


class TepSource(FetchedSource):
    """The Tennessee Eastman Process: recorded rows in control, and under real faults."""

    kind: Literal["tep"]
    datasets: Annotated[
        Distinct[Literal["tep_rieth", "tep_rieth_run1", "tep_classic"]],
        Field(description="the first of these that can be had; all but the last from a mirror"),
    ]
    streams: Annotated[Distinct[str] | None, Field(description="variables; null: the paper's 50")]
    runs: Annotated[Count, Field(description="of a data set with many runs, how many are read")]
    faults: Annotated[list[Count], Field(description="faults whose rows are read")]
    held_out: Annotated[
        Share, Field(description="share of in-control rows kept for tests if there are no others")
    ]
    origins = "data/reference/tep_origins.yaml"

    @property
    def p(self) -> int:
        return len(self.streams or PAPER_STREAMS)

    @property
    def has_events(self) -> bool:
        return True

    def needed(self, name: str) -> list[str] | None:
        faulty = RIETH_FAULTY if self.faults else []
        return RIETH_IN_CONTROL + faulty if name == "tep_rieth" else None

    def read(self, found: Delivered, reference: Path | None, rng: np.random.Generator) -> Recorded:
        table = self._table(found)
        names = list(self.streams or PAPER_STREAMS)
        for name in names:
            if name not in COLUMNS:
                raise DataError(f"streams: no variable {name!r}; they are named xmeas_1, xmv_1")
        in_control = in_control_rows(table, "train", names)
        notes, runs = [], 1
        if "test" in set(table["split"]):
            held_out = in_control_rows(table, "test", names)
            runs = table[(table["fault"] == 0) & (table["split"] == "test")]["run"].nunique()
        else:
            in_control, held_out = split(in_control, self.held_out)
            notes = [f"no in-control test rows: the last {len(held_out)} training rows held out"]
        return Recorded(
            names,
            in_control,
            held_out,
            table,
            events=self._events(table, names),
            window=len(held_out) // runs if runs > 1 else 0,
            units={variable.id: variable.unit for variable in VARIABLES},
            notes=notes,
        )

    def _table(self, found: Delivered) -> pd.DataFrame:
        if found.name == "tep_classic":
            return read_classic(found.files)
        if found.name == "tep_rieth":
            return read_rieth(found.files, range(1, self.runs + 1))
        return read_rieth_run1(found.files)

    def _events(self, table: pd.DataFrame, names: list[str]) -> list[tuple[str, Floats, int]]:
        """Every run under every fault that the table has, of its test rows if there are any."""
        which: Split = "test" if "test" in set(table["split"]) else "train"
        of_split = table[table["split"] == which]
        present = of_split[["fault", "run"]].drop_duplicates().itertuples(index=False)
        return [
            (f"fault {fault}", *fault_rows(of_split, int(fault), int(run), which, names))
            for fault, run in present
            if int(fault) in self.faults
        ]


def last_sample_in_control(dataset: str, split: Split) -> int:
    """The sample after which the fault of a faulty run acts; 0 if it acts from the start."""
    starts: dict[tuple[str, Split], int] = {
        ("tep_classic", "train"): 0,
        ("tep_classic", "test"): 160,
        ("tep_rieth", "train"): 20,
        ("tep_rieth", "test"): 160,
        ("tep_rieth_run1", "train"): 20,
    }
    if (dataset, split) not in starts:
        raise DataError(f"{dataset} has no {split} samples of the Tennessee Eastman Process")
    return starts[dataset, split]


# --- classic files ---------------------------------------------------------------------------


def read_classic(files: Mapping[str, Path]) -> pd.DataFrame:
    """The tidy table of classic files, by name: d00.dat, d00_te.dat, d01.dat and so on."""
    return _joined(_classic(name, path) for name, path in sorted(files.items()))


def _classic(name: str, path: Path) -> pd.DataFrame:
    found = re.fullmatch(r"d(\d\d)(_te)?\.dat", name)
    if not found:
        raise DataError(f"{path} is no classic file of the process; they are named d00_te.dat")
    fault, split = int(found[1]), "test" if found[2] else "train"
    rows = 960 if split == "test" else 500 if fault == 0 else 480
    stored = (len(COLUMNS), rows) if (fault, split) == (0, "train") else (rows, len(COLUMNS))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an empty file, which the shape tells
            values = np.loadtxt(path, dtype=np.float64, ndmin=2)
    except (OSError, ValueError) as error:
        raise DataError(_one_line(f"{path} cannot be read: {error}; fetch it again")) from None
    if values.shape != stored:
        raise DataError(f"{path} is {values.shape}, not {stored}; fetch it again")
    if stored[0] == len(COLUMNS):
        values = values.T
    return _tidy("tep_classic", values, split=split, fault=fault, run=1, path=path)


# --- Rieth et al. ----------------------------------------------------------------------------


def read_rieth(files: Mapping[str, Path], runs: Iterable[int] | None = None) -> pd.DataFrame:
    """The tidy table of RData files such as TEP_FaultFree_Training.RData; some runs or all.

    A file is read whole before runs are picked: 0.2 GB in control, up to 4.2 GB faulty.
    """
    wanted = None if runs is None else set(runs)
    return _joined(_rieth(name, path, wanted) for name, path in sorted(files.items()))


def _rieth(name: str, path: Path, runs: set[int] | None) -> pd.DataFrame:
    split: Split = "test" if "testing" in name.lower() else "train"
    if split == "train" and "training" not in name.lower():
        raise DataError(f"{path}: neither Training nor Testing is in its name; keep the names")
    frame = _rdata(path)
    keys = ["faultNumber", "simulationRun", "sample"]
    missing = [column for column in (*keys, *COLUMNS) if column not in frame.columns]
    if missing:
        raise DataError(f"{path} has no column {missing[0]!r}; fetch it again")
    if runs is not None:
        frame = frame[frame["simulationRun"].isin(runs)]
    return _tidy(
        "tep_rieth",
        frame[list(COLUMNS)].to_numpy(np.float64),
        split=split,
        fault=frame["faultNumber"].to_numpy().astype(np.int64),
        run=frame["simulationRun"].to_numpy().astype(np.int64),
        sample=frame["sample"].to_numpy().astype(np.int64),
        path=path,
    )


def _rdata(path: Path) -> pd.DataFrame:
    """The one data frame of an RData file."""
    import pyreadr

    try:
        objects = pyreadr.read_r(str(path))
    except (pyreadr.PyreadrError, pyreadr.LibrdataError, OSError, ValueError) as error:
        raise DataError(_one_line(f"{path} is no RData file: {error}; fetch it again")) from None
    frames = [frame for frame in objects.values() if frame is not None]
    if len(frames) != 1:
        raise DataError(f"{path} holds {len(frames)} data frames where one is expected")
    frame: pd.DataFrame = frames[0]
    return frame


# --- the copy of run 1 -----------------------------------------------------------------------


def read_rieth_run1(files: Mapping[str, Path]) -> pd.DataFrame:
    """The tidy table of the copy of run 1: fault0.csv to fault20.csv."""
    return _joined(_run1(name, path) for name, path in sorted(files.items()))


def _run1(name: str, path: Path) -> pd.DataFrame:
    found = re.fullmatch(r"fault(\d+)\.csv", name)
    if not found:
        raise DataError(f"{path} is no copy of run 1; the files are named fault0.csv")
    try:
        frame = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise DataError(_one_line(f"{path} cannot be read: {error}; fetch it again")) from None
    missing = [column for column in ("time", *COPY_NAMES) if column not in frame.columns]
    if missing:
        raise DataError(f"{path} has no column {missing[0]!r}; fetch it again")
    try:
        values = frame[list(COPY_NAMES)].to_numpy(np.float64)
        samples = frame["time"].to_numpy(np.float64) / HOURS_A_SAMPLE
    except ValueError as error:
        raise DataError(_one_line(f"{path} holds text: {error}; fetch it again")) from None
    expected = np.arange(1, len(frame) + 1)
    if not np.allclose(samples, expected, atol=0.01):
        raise DataError(f"{path}: samples are not 3 minutes apart; fetch it again")
    fault = int(found[1])
    return _tidy("tep_rieth_run1", values, split="train", fault=fault, run=1, path=path)


# --- the table -------------------------------------------------------------------------------


def _tidy(
    dataset: str,
    values: Floats,
    *,
    split: str,
    fault: int | np.ndarray,
    run: int | np.ndarray,
    path: Path,
    sample: np.ndarray | None = None,
) -> pd.DataFrame:
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise DataError(f"{path}: {COLUMNS[column]} has no value in row {row + 1}; fetch it again")
    keys = pd.DataFrame(
        {
            "dataset": dataset,
            "fault": fault,
            "run": run,
            "sample": np.arange(1, len(values) + 1) if sample is None else sample,
            "split": split,
        },
        index=pd.RangeIndex(len(values)),
    )
    return pd.concat([keys, pd.DataFrame(values, columns=list(COLUMNS))], axis=1)


def _joined(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    frames = list(parts)
    if not frames:
        raise DataError("no file of the Tennessee Eastman Process was given")
    table = pd.concat(frames, ignore_index=True)
    order = ["split", "fault", "run", "sample"]
    return table.sort_values(order, kind="stable", ignore_index=True)


def in_control_rows(
    table: pd.DataFrame, split: Split, streams: Iterable[str] = PAPER_STREAMS
) -> Floats:
    """(n, p), the rows of fault 0 in one split, all runs one after another."""
    chosen = table[(table["fault"] == 0) & (table["split"] == split)]
    if chosen.empty:
        raise DataError(f"the table has no in-control {split} samples")
    return chosen[list(streams)].to_numpy(np.float64, copy=True)


def fault_rows(
    table: pd.DataFrame, fault: int, run: int, split: Split, streams: Iterable[str] = PAPER_STREAMS
) -> tuple[Floats, int]:
    """(n, p) rows of one faulty run, and the index of the first one under the fault."""
    chosen = table[(table["fault"] == fault) & (table["run"] == run) & (table["split"] == split)]
    if chosen.empty:
        raise DataError(f"the table has no {split} samples of fault {fault}, run {run}")
    first = last_sample_in_control(str(chosen["dataset"].iloc[0]), split)
    return chosen[list(streams)].to_numpy(np.float64, copy=True), first


def _one_line(text: str) -> str:
    return " ".join(text.split())
