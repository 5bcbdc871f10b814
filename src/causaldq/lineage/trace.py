"""From a number back to where it started: a chain of jobs, each vouched for by its record."""

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from causaldq.errors import DataError
from causaldq.files import read_json
from causaldq.lineage import cells
from causaldq.lineage.records import Ledger, Record, place_of


@dataclass(frozen=True)
class Source:
    """Something that no job of the pipeline made."""

    file: str
    sha256: str
    note: str


@dataclass
class Step:
    """A job of the chain, with those files of it that are used further down."""

    record: Record
    files: list[str]
    before: list["Step"] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    left_out: int = 0
    """Inputs that the number in question does not come from."""


@dataclass(frozen=True)
class Trace:
    file: str
    cells: list[str]
    """The numbers in question."""
    top: Step
    steps: list[Step]
    """Every job once; each after those it needs."""
    rows: "list[pd.Series[Any]]"
    """The same, with all that their table says of them."""
    doubts: list[str]
    """Why the number cannot be vouched for; empty if it can."""


def trace(root: Path, file: Path, cell: str | None = None) -> Trace:
    """The chain behind a file, or behind one cell of a table or figure."""
    name = relative(root, file)
    if len(Path(name).parts) < 3:
        raise DataError(f"{file} is no file of a run; give one below results/ or artifacts/")
    ledger = Ledger(root, Path(name).parts[1])
    record = ledger.makers.get(name)
    if record is None:
        there = "no record says how it was made" if (root / name).exists() else "it does not exist"
        raise DataError(f"{name}: {there}; `python -m causaldq verify` tells more")
    chain = _Chain(ledger)
    rows = _rows(root, name, record, cell) if cell is not None else []
    chain.wanted = {run for row in rows for run in cells.run_files(row)}
    top = chain.step(record)
    chain.use(top, name)
    doubts = chain.doubts()
    texts = []
    for row in rows:
        texts.append(cells.described(row))
        mean = cells.mean_delay(root, row, settings_of(chain.steps))
        if mean is not None:
            texts[-1] += f"; {mean:.4g} from the runs themselves"
            if not cells.is_same(mean, row):
                doubts.append(f"the runs give {mean:.10g}, the table has {row['add']:.10g}")
    return Trace(name, list(dict.fromkeys(texts)), top, chain.steps, rows, doubts)


def settings_of(steps: list[Step]) -> Any:
    """The settings of the whole run, which the job that gathers it was given."""
    return next((s.record.settings for s in steps if s.record.rule == "aggregate"), None)


def relative(root: Path, file: Path) -> str:
    """A file's name from the project's folder."""
    whole = Path(os.path.abspath(file))
    if not whole.is_relative_to(root.resolve()):
        raise DataError(f"{file} lies outside {root.resolve().name}; run this in its own folder")
    return whole.relative_to(root.resolve()).as_posix()


def _rows(root: Path, name: str, record: Record, cell: str) -> "list[pd.Series[Any]]":
    """The rows behind a table or figure that a cell means."""
    twin = Path(name).with_suffix(".csv").as_posix()
    tables = [twin] if twin in record.outputs else []
    tables += [given for given in record.inputs if Path(given).name == "add.csv"]
    for table in tables:
        if (root / table).is_file():
            chosen = cells.select(pd.read_csv(root / table), cell)
            return [row for _, row in chosen.iterrows()]
    raise DataError(f"{name} has no tidy table to look {cell!r} up in; leave --cell out")


class _Chain:
    """Walks from a job to those before it, each visited once."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.wanted: set[str] = set()
        """The runs behind the cell in question; empty if all count."""
        self.known: dict[str, Step] = {}
        self._distances: dict[str, float] = {}
        self.steps: list[Step] = []

    def use(self, step: Step, name: str) -> None:
        if name not in step.files:
            step.files.append(name)

    def step(self, record: Record) -> Step:
        if record.job in self.known:
            return self.known[record.job]
        step = self.known[record.job] = Step(record, [])
        for name, facts in record.inputs.items():
            if self._is_left_out(record, name):
                step.left_out += 1
                continue
            maker = self.ledger.makers.get(name)
            if maker is None:
                step.sources.append(Source(name, facts.sha256, ""))
                continue
            before = self.step(maker)
            self.use(before, name)
            if before not in step.before:
                step.before.append(before)
        step.sources += self._origins(record)
        self.steps.append(step)
        return step

    def _is_left_out(self, record: Record, name: str) -> bool:
        """Whether an input has no part in the cell: from its runs on, only the shortest way has."""
        maker = self.ledger.makers.get(name)
        steps = self._distance(record)
        if maker is None or name in self.wanted or steps == math.inf:
            return False
        if self._distance(maker) == 0 and maker is not (self._tidy(record) or maker):
            # The cell was looked up in the tidy table, whatever else is made of the same runs.
            return True
        return self._distance(maker) != steps - 1

    def _tidy(self, record: Record) -> Record | None:
        """The job that made the tidy table which a job reads."""
        read = (name for name in record.inputs if Path(name).name == "add.csv")
        return next((self.ledger.makers.get(name) for name in read), None)

    def _distance(self, record: Record) -> float:
        """Jobs between the runs in question and this one; infinite if it does not use them."""
        if record.job not in self._distances:
            makers = [self.ledger.makers.get(name) for name in record.inputs]
            self._distances[record.job] = (
                0
                if not self.wanted.isdisjoint(record.inputs)
                else 1 + min((self._distance(m) for m in makers if m), default=math.inf)
            )
        return self._distances[record.job]

    def _origins(self, record: Record) -> list[Source]:
        """Where fetched files came from, by the list that the job made of them."""
        found = []
        for name in record.outputs if record.rule == "fetch" else []:
            path = self.ledger.root / name
            if path.suffix == ".json" and path.is_file():
                for file, facts in read_json(path).get("files", {}).items():
                    found.append(
                        Source(file, facts["sha256"], f"{facts['source']}: {facts['place']}")
                    )
        return found

    def doubts(self) -> list[str]:
        """What is not as the records say."""
        found = []
        for step in self.steps:
            record = step.record
            place = place_of(self.ledger.profile, record.job)
            for name in step.files:
                found += self._differs(name, record.outputs[name].sha256, f"its record, {place}")
            for name, facts in record.inputs.items():
                is_source = any(source.file == name for source in step.sources)
                is_used = any(name in before.files for before in step.before)
                if is_source or is_used:
                    found += self._differs(
                        name, facts.sha256, f"what {record.job} was made from, {place}"
                    )
        return list(dict.fromkeys(found))

    def _differs(self, name: str, known: str, where: str) -> list[str]:
        found = self.ledger.hash(name)
        if found is None:
            return [f"{name} is not there; get it by `dvc pull`, or make it again"]
        if found != known:
            return [f"{name} has {found[:12]}, but {where}, says {known[:12]}"]
        return []


def as_data(found: Trace) -> dict[str, Any]:
    """A trace for machines."""
    return {
        "file": found.file,
        "cells": found.cells,
        "vouched_for": not found.doubts,
        "doubts": found.doubts,
        "jobs": [
            {
                "files": step.files,
                "after": [before.record.job for before in step.before],
                "sources": [vars(source) for source in step.sources],
                "inputs_of_other_cells": step.left_out,
                "record": step.record.model_dump(exclude={"snakemake"}),
            }
            for step in found.steps
        ],
    }
