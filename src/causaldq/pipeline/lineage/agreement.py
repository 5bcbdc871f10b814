"""Do the numbers of a run agree with those of another, such as the committed one?

Profiles that share seeds and sizes give the same numbers wherever both have them. A number that
differs is one of three things: made by other code or settings, which is to be expected when one of
the runs is older; made on a machine that rounds in another way, by its processor where networks are
trained and by its C library everywhere; or not reproduced, which should not be.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from causaldq.files import canonical_json, read_csv
from causaldq.pipeline.lineage.diff import KEYS
from causaldq.pipeline.lineage.records import RecordStore

COMPARED: dict[str, tuple[list[str], list[str]]] = {
    "add": (KEYS, ["add", "arl0"]),
    "events": (["scenario", "event", "method"], ["delay", "missed"]),
    "graphs": (
        ["table", "scenario", "setting", "sigma", "method", "graph"],
        ["mshd", "mtpr", "mfdr"],
    ),
    "training": (["scenario", "protocol", "method"], ["final_reward", "frozen_hit_share"]),
    "propagation": (
        ["problem", "graph", "method", "told", "roots", "delta"],
        ["add", "top_1"],
    ),
}
"""Tidy tables: what tells their rows apart, and the measured numbers in them."""
TRAINS = "scripts/train.py "
"""The job whose results depend on the processor's make."""


@dataclass(frozen=True)
class Difference:
    """A number that two runs do not agree on."""

    what: str
    here: float
    there: float
    other_code: bool
    """Whether any job behind it had other code or settings in the other run, or left no record."""
    machines: tuple[str, str] | None = None
    """Where it was made on machines that may round otherwise: the one here, and the one there."""


@dataclass(frozen=True)
class Agreement:
    """How many numbers two runs both have, and on which they differ."""

    there: str
    both: int
    only_here: int
    differ: list[Difference]

    @property
    def sentence(self) -> str:
        """What a person should know."""
        if not self.both:
            return f"{self.there} has none of these numbers to compare with."
        agree = self.both - len(self.differ)
        text = f"{agree} of {self.both} numbers agree with the committed run ({self.there})."
        older = [one for one in self.differ if one.other_code]
        same_code = [one for one in self.differ if not one.other_code]
        rounded = [one for one in same_code if one.machines]
        broken = [one for one in same_code if not one.machines]
        if older:
            other = "were made by other code or settings there, such as"
            text += f" {len(older)} {other} {_shown(older[0])}."
        for machines in sorted({one.machines for one in rounded if one.machines}):
            those = [one for one in rounded if one.machines == machines]
            made = f"were made where sums or functions round otherwise ({machines[1]} there,"
            text += f" {len(those)} {made} {machines[0]} here), such as {_shown(those[0])}."
        if broken:
            same = "differ though code and settings are the same, such as"
            text += f" {len(broken)} {same} {_shown(broken[0])}."
        if self.only_here:
            text += f" {self.only_here} more are not in it."
        return text


def _shown(one: Difference) -> str:
    return f"{one.what}: {one.there:.4g} there, {one.here:.4g} here"


def agreement(here: Path, there: Path) -> Agreement:
    """Compare two folders of results, number by number.

    Parameters
    ----------
    here, there : Path
        `results/<profile>` of the run at hand, and of the one it is held against.

    Returns
    -------
    Agreement
        Numbers count as equal if they are written alike, to all digits of the tidy tables. Where
        one run has trained fewer networks, its numbers agree if the files of those networks do.
    """
    runs, differ, both, only = cache(_Files), [], 0, 0
    for name, (keys, values) in COMPARED.items():
        ours, theirs = _table(here, name, keys, values), _table(there, name, keys, values)
        if ours is None:
            continue
        if theirs is None:
            only += int(ours[values].notna().to_numpy().sum())
            continue
        joined = ours.merge(theirs, on=keys, how="left", suffixes=("", "_there"), indicator=True)
        found = joined[joined["_merge"] == "both"]
        only += int(joined.loc[joined["_merge"] != "both", values].notna().to_numpy().sum())
        # A mean over fewer networks is another number: there, the networks themselves are compared.
        fewer = found["n_seeds"] != found["n_seeds_there"]
        same_files = fewer.copy()
        for row in found.index[fewer]:
            same_files[row] = runs(here).same(runs(there), found.loc[row, "files"])
        for value in values:
            a, b = found[value], found[f"{value}_there"]
            measured = a.notna() | b.notna()
            both += int(measured.sum())
            for _, row in found.assign(fewer=fewer)[measured & (a != b) & ~same_files].iterrows():
                files = row["files"]
                same_names = runs(here).renamed(files, runs(there))
                jobs = runs(here).behind_all(files)
                those = runs(there).behind_all(same_names if row["fewer"] else row["files_there"])
                other = not jobs or {one.code for one in jobs} != {one.code for one in those}
                what = f"{', '.join(_key(row, keys))}, {value}"
                machines = _machines(jobs), _machines(those)
                moved = machines if machines[0] != machines[1] else None
                differ.append(Difference(what, row[value], row[f"{value}_there"], other, moved))
    return Agreement(str(there), both, only, differ)


def _table(folder: Path, name: str, keys: list[str], values: list[str]) -> pd.DataFrame | None:
    path = folder / f"{name}.csv"
    if not path.exists():
        return None
    found = read_csv(path, *keys, *values, "files")
    if "n_seeds" not in found:
        found = found.assign(n_seeds=0)
    numbers = found[keys].select_dtypes("number").columns
    found = found.astype(dict.fromkeys(numbers, float))
    return found[[*keys, *values, "n_seeds", "files"]].drop_duplicates(keys)


class _Job(NamedTuple):
    """What may change the numbers of a job."""

    code: str
    """With its settings."""
    processor: str
    c_library: str


def _machines(jobs: frozenset[_Job]) -> str:
    """What numbers depend on: the C library's functions and, where networks are trained, sums.

    Jobs hold numpy to one set of instructions; torch's products have other code for other makes of
    processors, and training makes much of the last digit.
    """
    parts = {job.c_library for job in jobs}
    if any(job.code.startswith(TRAINS) for job in jobs):
        parts |= {job.processor for job in jobs}
    return ", ".join(sorted(parts, reverse=True))


class _Files:
    """What the records of a run say of its files."""

    def __init__(self, folder: Path) -> None:
        self.profile = folder.name
        records = RecordStore(folder.resolve().parents[1], folder.name).records
        self.maker = {name: record for record in records for name in record.outputs}
        self.behind = cache(self._behind)

    def _behind(self, file: str) -> frozenset[_Job]:
        """The job that made a file, and all jobs before that."""
        record = self.maker.get(file)
        if record is None:
            return frozenset()
        code = f"{record.script} {record.code.hash} {canonical_json(record.settings)}"
        own = frozenset({_Job(code, *_machine(record.host))})
        return own.union(*map(self.behind, record.inputs))

    def behind_all(self, files: str) -> frozenset[_Job]:
        return frozenset[_Job]().union(*map(self.behind, files.split(";")))

    def renamed(self, files: str, other: "_Files") -> str:
        """What another run, of its own profile, calls these files."""
        return files.replace(f"/{self.profile}/", f"/{other.profile}/")

    def _hash(self, file: str) -> str | None:
        record = self.maker.get(file)
        return record.outputs[file].sha256 if record else None

    def same(self, other: "_Files", files: str) -> bool:
        """Whether another run has all these files, of its own profile, with the same bytes."""
        pairs = zip(files.split(";"), self.renamed(files, other).split(";"), strict=True)
        return all((own := self._hash(a)) and own == other._hash(b) for a, b in pairs)


def _machine(host: dict[str, Any]) -> tuple[str, str]:
    """Processor and C library, as a record names them."""
    return str(host.get("cpu")), str(host.get("system")).rpartition("-with-")[2]


def _key(row: "pd.Series", keys: list[str]) -> Iterator[str]:
    wanted = ("scenario", "problem", "event", "protocol", "setting", "method", "delta", "roots")
    for key in keys:
        if key in wanted:
            text = row[key]
            yield text if isinstance(text, str) else f"{key}={text:g}"
