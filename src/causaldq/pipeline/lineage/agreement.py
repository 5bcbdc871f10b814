"""Do the numbers of a run agree with those of another, such as the committed one?

Profiles that share seeds and sizes give the same numbers wherever both have them. A number that
differs is one of two things: made by other code or settings, which is to be expected when one of
the runs is older, or not reproduced, which is not.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

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


@dataclass(frozen=True)
class Difference:
    """A number that two runs do not agree on."""

    what: str
    here: float
    there: float
    other_code: bool
    """Whether any job behind it had other code or settings in the other run, or left no record."""


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
        broken = [one for one in self.differ if not one.other_code]
        if older:
            other = "were made by other code or settings there, such as"
            text += f" {len(older)} {other} {_shown(older[0])}."
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
            for _, row in found[measured & (a != b) & ~same_files].iterrows():
                code = runs(here).code(row["files"])
                other = not code or code != runs(there).code(row["files_there"])
                what = f"{', '.join(_key(row, keys))}, {value}"
                differ.append(Difference(what, row[value], row[f"{value}_there"], other))
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


class _Files:
    """What the records of a run say of its files."""

    def __init__(self, folder: Path) -> None:
        self.profile = folder.name
        records = RecordStore(folder.resolve().parents[1], folder.name).records
        self.maker = {name: record for record in records for name in record.outputs}
        self.behind = cache(self._behind)

    def _behind(self, file: str) -> frozenset[str]:
        """Code and settings of the job that made a file, and of all jobs before that."""
        record = self.maker.get(file)
        if record is None:
            return frozenset()
        own = frozenset({f"{record.script} {record.code.hash} {canonical_json(record.settings)}"})
        return own.union(*map(self.behind, record.inputs))

    def code(self, files: str) -> frozenset[str]:
        return frozenset[str]().union(*map(self.behind, files.split(";")))

    def _hash(self, file: str) -> str | None:
        record = self.maker.get(file)
        return record.outputs[file].sha256 if record else None

    def same(self, other: "_Files", files: str) -> bool:
        """Whether another run has all these files, of its own profile, with the same bytes."""
        theirs = files.replace(f"/{self.profile}/", f"/{other.profile}/")
        pairs = zip(files.split(";"), theirs.split(";"), strict=True)
        return all((own := self._hash(a)) and own == other._hash(b) for a, b in pairs)


def _key(row: "pd.Series", keys: list[str]) -> Iterator[str]:
    wanted = ("scenario", "problem", "event", "protocol", "setting", "method", "delta", "roots")
    for key in keys:
        if key in wanted:
            text = row[key]
            yield text if isinstance(text, str) else f"{key}={text:g}"
