"""Watching: what a row costs from its line of CSV to its record, and what memory is left behind."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from causaldq.calibration import RunLength
from causaldq.limits import Limit
from causaldq.live.outputs import RecordFile
from causaldq.live.records import as_line
from causaldq.live.rows import RowReader
from causaldq.live.session import Session
from causaldq.live.source import EndOfRowsError
from causaldq.live.watch_loop import WatchLoop
from causaldq.methods.base import Problem
from causaldq.methods.build import build
from causaldq.methods.registry import index_methods
from causaldq.monitor import Monitor
from causaldq.pipeline.bench.monitoring import a_covariance
from causaldq.pipeline.config import Config
from causaldq.pipeline.measure import Measurement, Target
from causaldq.seeds import generator

P, M = 50, 10
ROWS = 10_000
LINES = 5_000
"""Different rows; they come again and again."""


class Repeated:
    """Lines over and over, each with its time; keeps when each was asked for."""

    def __init__(self, lines: Sequence[bytes], count: int, marks: Sequence[int] = ()) -> None:
        self.lines, self.count = lines, count
        # Filled, so that their memory is taken now and not as rows come.
        self.clock, self.spent = np.full((2, count + 1), np.nan)
        self.resident = dict.fromkeys(marks, 0.0)
        self.given = -1

    def line(self) -> bytes:
        number = self.given = self.given + 1
        self.clock[number], self.spent[number] = time.perf_counter(), time.process_time()
        if number in self.resident:
            self.resident[number] = resident()
        if number == self.count:
            raise EndOfRowsError
        if number == 0:
            return self.lines[0]
        row = self.lines[1 + number % (len(self.lines) - 1)]
        return b"%d,%s" % (number, row)

    def at_start(self) -> bool:
        return self.given == 0

    def position(self) -> dict[str, Any]:
        return {}

    def seek(self, position: dict[str, Any]) -> None:
        """Never asked for."""


def resident() -> float:
    """Megabytes of memory in use, by Linux."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def watched(config: Config, name: str, rows: int, marks: Sequence[int]) -> Repeated:
    """A watch of so many rows of noise, with the options of a profile, records in a file."""
    rng, names = generator(3, "bench", "watch"), [f"tag_{i}" for i in range(P)]
    problem = Problem(a_covariance(P), M, config.statistic)
    noise = rng.multivariate_normal(np.zeros(P), problem.covariance, LINES)
    table = [",".join(["row", *names]).encode()]
    table += [",".join(f"{value:.4f}" for value in row).encode() for row in noise]
    method = build(index_methods()[name], problem, config.options_of(name))
    limit = Limit(1e6, 1e6, RunLength(1e6, 1e6, 1e6))
    monitor = Monitor(method, name=name, names=names, mean=np.zeros(P), sd=np.ones(P), limit=limit)
    source = Repeated(table, rows, marks)
    with TemporaryDirectory() as folder:
        records = RecordFile("output", Path(folder) / "records.jsonl", as_line)
        reader = RowReader(names, time="row")
        WatchLoop(Session(monitor), reader, source, files=[records]).run()
    return source


def watching(config: Config, name: str = "bayes_posterior", rows: int = ROWS) -> list[Measurement]:
    """Rows by the second of processor time, the slow ones, and memory that grows."""
    marks = [rows // 10, rows // 2, rows]
    found = watched(config, name, rows, marks)
    taken, spent = np.diff(found.clock)[1:], np.diff(found.spent)[1:]
    what, memory = f"{name}, p = {P}, m = {M}", list(found.resident.values())
    return [
        Measurement(
            f"rows watched in a second of processor time, {what}",
            [len(part) / float(part.sum()) for part in np.array_split(spent, 10)],
            "1/s",
            Target("at least", 1000.0),
        ),
        Measurement(
            f"a watched row, 99th percentile, {what}",
            [1000 * float(np.percentile(taken, 99))],
            "ms",
            Target("at most", 5.0),
        ),
        Measurement(
            f"memory that {rows - marks[0]:,} watched rows leave behind",
            [memory[-1] - memory[0]],
            "MB",
            Target("at most", 5.0),
            {"MB by row": dict(zip(marks, memory, strict=True))},
        ),
    ]
