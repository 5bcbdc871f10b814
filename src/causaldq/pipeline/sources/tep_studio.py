"""The Tennessee Eastman Process, simulated: as many runs in control and under faults as one likes.

The simulator is the package tep-studio (BSD-3), which compiles the process in C when it is
installed. Its process has Ricker's control and other noise than the classic files: the means of
its variables agree with them, their deviations do not, so that the two are never mixed.
"""

from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from causaldq.errors import DataError
from causaldq.files import one_line
from causaldq.pipeline.sources.base import FetchedSource, Recorded
from causaldq.pipeline.sources.catalogue import FileSet
from causaldq.pipeline.sources.fetch import Delivered, Fetched, Way
from causaldq.pipeline.sources.tep import COLUMNS, HOURS_A_SAMPLE, PAPER_STREAMS, VARIABLES
from causaldq.setting import Count, Distinct
from causaldq.types import Floats

STEPS_A_SAMPLE = 100
"""Of the simulator's control, 1.8 seconds each."""
DISTURBANCES = 28
REMEDY = (
    "tep-studio is not there: `pip install 'causaldq[tep]'` compiles it, and needs a C compiler"
    " (Debian: apt-get install gcc python3-dev)"
)


class TepStudioSource(FetchedSource):
    """Simulated runs of the process: some in control to learn from, others to test on, faults."""

    kind: Literal["tep_studio"]
    datasets: Distinct[Literal["tep_studio"]]
    streams: Annotated[Distinct[str] | None, Field(description="variables; null: the paper's 50")]
    faults: Annotated[
        Distinct[Annotated[int, Field(ge=1, le=DISTURBANCES)]],
        Field(description="disturbances that are switched on"),
    ]
    train_rows: Annotated[Count, Field(description="in control, to learn from; of one run")]
    test_rows: Annotated[Count, Field(description="of every other run")]
    onset: Annotated[Count, Field(description="rows before a fault sets in")]
    warm_up: Annotated[int, Field(ge=0, description="rows at the start of a run that are left out")]
    held_out_runs: Annotated[Count, Field(description="in control, for tests")]
    fault_runs: Annotated[Count, Field(description="under each fault")]

    @property
    def p(self) -> int:
        return len(self.streams or PAPER_STREAMS)

    @property
    def has_events(self) -> bool:
        return True

    def get(self, name: str, data_set: FileSet, order: Sequence[Way], folder: Path) -> Fetched:
        try:
            return Fetched(name, {}, {"": ("made", f"tep-studio {version('tep-studio')}")})
        except PackageNotFoundError:
            raise DataError(f"{name}: {REMEDY}") from None

    def read(self, found: Delivered, reference: Path | None, rng: np.random.Generator) -> Recorded:
        names = list(self.streams or PAPER_STREAMS)
        for name in names:
            if name not in COLUMNS:
                raise DataError(f"streams: no variable {name!r}; they are named xmeas_1, xmv_1")
        simulate = _simulator()
        chosen = [COLUMNS.index(name) for name in names]
        tables: list[pd.DataFrame] = []
        notes: list[str] = []
        events: list[tuple[str, Floats, int]] = []
        quiet: dict[str, list[Floats]] = {"train": [], "test": []}
        for fault, run, split in self._runs():
            rows = self.train_rows if split == "train" else self.test_rows
            seed = int(rng.integers(1, 1 << 30))
            begins = self.warm_up + (self.onset if fault else 0)
            values = simulate(seed, self.warm_up + rows, fault, begins)[self.warm_up :]
            if len(values) < rows:
                notes.append(
                    f"fault {fault}, run {run}: the plant shut down after {len(values)} rows; its"
                    " last row is repeated"
                )
                values = np.concatenate([values, np.repeat(values[-1:], rows - len(values), 0)])
            keys: dict[str, Any] = {
                "dataset": "tep_studio", "fault": fault, "run": run, "split": split,
            }  # fmt: skip
            table = pd.DataFrame(values, columns=list(COLUMNS))
            tables.append(table.assign(sample=np.arange(1, rows + 1), **keys))
            if fault:
                events.append((f"fault {fault}", values[:, chosen], self.onset))
            else:
                quiet[split].append(values[:, chosen])
        first = ["dataset", "fault", "run", "sample", "split"]
        return Recorded(
            names,
            np.concatenate(quiet["train"]),
            np.concatenate(quiet["test"]),
            pd.concat(tables, ignore_index=True)[[*first, *COLUMNS]],
            events=events,
            window=self.test_rows,
            units={variable.id: variable.unit for variable in VARIABLES},
            notes=notes,
        )

    def _runs(self) -> Iterator[tuple[int, int, Literal["train", "test"]]]:
        """Fault, number and purpose of every run; 0 stands for no fault."""
        yield 0, 1, "train"
        for run in range(1, self.held_out_runs + 1):
            yield 0, run, "test"
        for fault in self.faults:
            for run in range(1, self.fault_runs + 1):
                yield fault, run, "test"


Simulate = Callable[[int, int, int, int], Floats]
"""From a seed, rows, a fault and the row at which it sets in: values (rows, 52), or fewer rows if
the plant shut down."""


def _simulator() -> Simulate:
    """The package's closed loop, in rows of the classic files."""
    try:
        from tep_studio import ClosedLoopSimulation
    except ImportError as error:
        raise DataError(f"{REMEDY} ({one_line(error)})") from None

    def simulate(seed: int, rows: int, fault: int, begins: int) -> Floats:
        none, disturbed = np.zeros(DISTURBANCES), np.zeros(DISTURBANCES)
        disturbed[fault - 1] = 1.0 if fault else 0.0

        def schedule(hours: float) -> Floats:
            return disturbed if fault and hours >= begins * HOURS_A_SAMPLE else none

        loop: Any = ClosedLoopSimulation(horizon=rows * HOURS_A_SAMPLE)
        done = loop.run(seed=seed, disturbance_schedule=schedule, record_every=STEPS_A_SAMPLE)
        valves = len(COLUMNS) - 41
        read = [
            np.concatenate([one.measurements[:41], one.implemented_action[:valves]])
            for one in done.results[:rows]
        ]
        return np.asarray(read, np.float64)

    return simulate
