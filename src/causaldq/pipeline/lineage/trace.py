"""From a number back to where it started: a chain of jobs, each verified by its record."""

import io
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from causaldq.errors import DataError
from causaldq.files import read_csv, read_json
from causaldq.pipeline.lineage import cells, recompute
from causaldq.pipeline.lineage.absent import may_be_absent, what_is_absent
from causaldq.pipeline.lineage.asked import meant_by
from causaldq.pipeline.lineage.audit import Code, objections
from causaldq.pipeline.lineage.given_files import GivenFiles
from causaldq.pipeline.lineage.records import Record, RecordStore
from causaldq.pipeline.lineage.small_files import laid_out

Rows = list["pd.Series[Any]"]


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
    rows: Rows
    """The same, with all that their table says of them."""
    doubts: list[str]
    """What is wrong: why the number is not verified."""
    absent: list[str]
    """Files that are not here, so that nothing that needs them can be verified."""
    notes: list[str]
    """Worth knowing, and no fault."""
    needed: set[str]
    """What must be here for it to be verified: the file itself, and the runs of a number."""

    @property
    def lacking(self) -> list[str]:
        """What is not here, and has to be."""
        return [n for n in self.absent if n in self.needed or not may_be_absent(n)]

    @property
    def verified(self) -> bool:
        """Down to what is here: networks and the like may be known by their hashes alone."""
        return not self.doubts and not self.lacking

    @property
    def reasons(self) -> list[str]:
        """Why it is not verified."""
        return [*self.doubts, *map(gone, self.lacking)]

    def told_absent(self) -> str | None:
        """What is not here, and what it takes to have it, in one line."""
        if not self.absent:
            return None
        makers = {name: s.record for s in self.steps for name in s.record.outputs}
        jobs = [step.record for step in self.steps if not step.left_out]
        return what_is_absent(self.absent, makers, jobs).told("`replay`")

    @property
    def gatherer(self) -> Record | None:
        """The job that gathers all runs, if the chain has it."""
        return next((s.record for s in self.steps if s.record.rule == "aggregate"), None)


def trace(root: Path, file: Path, cell: str | None = None) -> Trace:
    """The chain behind a file, or behind one cell of a table or figure."""
    name = relative(root, file)
    if len(Path(name).parts) < 3:
        raise DataError(f"{file} is no file of a run; give one below results/ or artifacts/")
    store = RecordStore(root, Path(name).parts[1])
    record = store.makers.get(name)
    if record is None:
        there = "no successful record" if (root / name).exists() else "it does not exist, and none"
        raise DataError(
            f"{name}: {there} says how it was made; `python -m causaldq verify` tells"
            f" more{meant_by(name, list(store.makers))}"
        )
    chain = _Chain(store)
    rows, table = _rows(root, name, record, cell) if cell is not None else ([], name)
    chain.wanted = {run for row in rows for run in cells.run_files(row)}
    top = chain.step(record)
    for made in {name, table} & record.outputs.keys():
        chain.use(top, made)
    told = _Findings(chain)
    told.look_at_files()
    told.look_at_records()
    found = Trace(
        *(name, [], top, chain.steps, rows),
        *(told.doubts, told.absent, told.notes, told.needed),
    )
    told.needed |= {name, table}
    told.show_again(record, name)
    for row in rows:
        text = cells.described(row) + told.recomputed(row, found.gatherer)
        if text not in found.cells:
            found.cells.append(text)
    return found


def gone(name: str) -> str:
    return f"{name} is not there; get it by `dvc pull`, or make it again"


def relative(root: Path, file: Path) -> str:
    """A file's name from the project's folder."""
    whole = Path(os.path.abspath(file))
    if not whole.is_relative_to(root.resolve()):
        raise DataError(f"{file} lies outside {root.resolve().name}; run this in its own folder")
    return whole.relative_to(root.resolve()).as_posix()


def _rows(root: Path, name: str, record: Record, cell: str) -> tuple[Rows, str]:
    """The rows that a cell means, of those that a file shows; and the file they stand in."""
    twin = Path(name).with_suffix(".csv").as_posix()
    if twin in record.outputs and (root / twin).is_file():
        shown: pd.DataFrame = read_csv(root / twin)
        table = twin
    elif twin in record.outputs and (again := recompute.table_of(record, name)):
        made, _ = recompute.shown_again(root, record, again)
        shown, table = pd.read_csv(io.StringIO(made[".csv"])), name
    elif record.script == "scripts/figures.py" and (
        drawn := recompute.rows_of_figure(root, record, name)
    ):
        shown, table = drawn
    else:
        raise DataError(f"{name} has no cells of its own; give a table or figure, or no --cell")
    return [row for _, row in cells.select(shown, cell).iterrows()], table


class _Chain:
    """Walks from a job to those before it, each visited once."""

    def __init__(self, store: RecordStore) -> None:
        self.store = store
        self.given = GivenFiles(store)
        self.wanted: set[str] = set()
        """The runs behind the cell in question; empty if all count."""
        self.known: dict[str, Step] = {}
        self._distances: dict[str, float] = {}
        self.steps: list[Step] = []
        self.unexplained: list[str] = []
        """Files that a job must have made, and of which no successful record says so."""

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
            maker = self.store.makers.get(name)
            if maker is None:
                step.sources.append(Source(name, facts.sha256, ""))
                if not self.given.has(name, facts.sha256) and name not in self.unexplained:
                    self.unexplained.append(name)
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
        maker = self.store.makers.get(name)
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
        return next((self.store.makers.get(name) for name in read), None)

    def _distance(self, record: Record) -> float:
        """Jobs between the runs in question and this one; infinite if it does not use them."""
        if record.job not in self._distances:
            # Records that say they need each other lead nowhere.
            self._distances[record.job] = math.inf
            makers = [self.store.makers.get(name) for name in record.inputs]
            self._distances[record.job] = (
                0
                if not self.wanted.isdisjoint(record.inputs)
                else 1 + min((self._distance(m) for m in makers if m), default=math.inf)
            )
        return self._distances[record.job]

    def _origins(self, record: Record) -> list[Source]:
        """Where fetched files came from, by the list that the job made of them."""
        found = []
        for name, known in record.outputs.items() if record.rule == "fetch" else ():
            if name.endswith(".json") and self.store.hash(name) == known.sha256:
                listed = read_json(self.store.root / name)
                for file, facts in (listed.get("files") or {}).items():
                    found.append(
                        Source(file, facts["sha256"], f"{facts['source']}: {facts['place']}")
                    )
        return found


class _Findings:
    """What is wrong with a chain, what cannot be looked at, and what is worth knowing."""

    def __init__(self, chain: _Chain) -> None:
        self.chain, self.store = chain, chain.store
        self.doubts: list[str] = []
        self.absent: list[str] = []
        self.notes: list[str] = []
        self.needed: set[str] = set()

    def doubt(self, text: str) -> None:
        if text not in self.doubts:
            self.doubts.append(text)

    def look_at_files(self) -> None:
        """Every file of the chain, against the records of who made and of who used it."""
        for name in self.chain.unexplained:
            self.doubt(f"{name} has no successful record that says how it was made")
        for step in self.chain.steps:
            record = step.record
            for name in step.files:
                self.compare(record, name, made=True)
            used = {source.file for source in step.sources}
            used |= {name for before in step.before for name in before.files}
            for name in filter(used.__contains__, record.inputs):
                self.compare(record, name)

    def compare(self, record: Record, name: str, *, made: bool = False) -> bool:
        """A file, with what a record says of it; whether it is here, and so."""
        known = (record.outputs if made else record.inputs)[name].sha256
        place = self.store.place(record.job)
        where = "its record" if made else f"what {record.job} was made from"
        if self.store.content_hash(name) is None and name not in self.absent:
            self.absent.append(name)
        found = self.store.known_hash(name) or known
        if why := self.chain.given.contradicts(name, known):
            self.doubt(f"{name} has {known[:12]} in {place}; {why}")
        if found != known:
            self.doubt(f"{name} has {found[:12]}, but {where}, {place}, says {known[:12]}")
        return self.store.content_hash(name) == known

    def look_at_records(self) -> None:
        """Every record of the chain, against itself, the clock and the commits."""
        root, profile = self.store.root, self.store.profile
        records = [step.record for step in self.chain.steps]
        for job, why in objections(root, profile, records).items():
            self.doubt(f"{self.store.place(job)} cannot be right: {why}")
        for job, why in Code(root).unknown(records).items():
            self.doubt(f"{self.store.place(job)} tells of unknown code: {why}")

    def show_again(self, record: Record, name: str) -> None:
        """A table as its tidy results give it, against what stands there."""
        path = self.store.root / name
        try:
            table = recompute.table_of(record, name)
            if table is None or path.suffix not in (".tex", ".csv") or not path.is_file():
                return
            made, looked_at = recompute.shown_again(self.store.root, record, table)
        except DataError as error:
            self.doubt(f"{name} cannot be made again from its tidy results: {error}")
            return
        for used in sorted(looked_at):
            self.compare(record, used)
        for suffix, text in made.items():
            shown = path.with_suffix(suffix)
            if shown.is_file() and (found := shown.read_text(errors="replace")) != text:
                other = shown.relative_to(self.store.root).as_posix()
                code = "" if Code(self.store.root).is_here(record) else ", with other code,"
                where = recompute.first_difference(found, text)
                self.doubt(f"{other} is not what its tidy results give{code}: {where}")

    def recomputed(self, row: "pd.Series[Any]", gatherer: Record | None) -> str:
        """What the runs of a cell say of it, in a few words; differences are doubts."""
        if recompute.kind_of(row) is not None and gatherer is None:
            self.doubt(f"{cells.named(row)}: no job that gathers runs is behind it")
            return "; not recomputed"
        if gatherer is None or recompute.kind_of(row) is None:
            self._note("cells of this table are not recomputed; `replay` makes the file again")
            return ""
        try:
            return self._recomputed(row, gatherer)
        except DataError as error:
            self.doubt(f"{cells.named(row)}: it cannot be recomputed: {error}")
            return "; not recomputed"

    def _recomputed(self, row: "pd.Series[Any]", gatherer: Record) -> str:
        root = self.store.root
        own = recompute.parts_of(row, gatherer, rivals=False)
        every = recompute.parts_of(row, gatherer, rivals=True)
        self.needed |= set(own.files)
        good = [self.compare(gatherer, name) for name in own.files]
        if not all(good):
            return "; not recomputed, as its runs are not here as recorded"
        known = self.store.content_hash
        rivals = all(known(name) == gatherer.inputs[name].sha256 for name in every.files)
        if not rivals and any(name in row.index for name in recompute.COMPARED):
            self._note("what cells say of other methods is not recomputed: not all runs are here")
        parts = every if rivals else own
        with laid_out(root, self.store.small, parts.files) as at:
            again = recompute.recompute(at, root, row, gatherer, parts, rivals=rivals)
        other = recompute.differences(row, again, rivals=rivals)
        for text in other:
            self.doubt(f"{cells.named(row)}: {text}")
        return f"; recomputed from its runs: {'not the same' if other else 'the same'}"

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def as_data(found: Trace) -> dict[str, Any]:
    """A trace for machines."""
    return {
        "file": found.file,
        "cells": found.cells,
        "verified": found.verified,
        "doubts": found.doubts,
        "absent": found.absent,
        "lacking": found.lacking,
        "notes": found.notes,
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
