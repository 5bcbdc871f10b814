"""Do the numbers of a run agree with those of another, such as the committed one?

Profiles that share seeds and sizes give the same numbers wherever both have them. A number that
differs is one of two things: made by other code or settings, which is to be expected when one of
the runs is older, or not reproduced, which is not.
"""

from collections.abc import Callable, Iterator
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
        Numbers count as equal if they are written alike, to all digits of the tidy tables.
    """
    codes, differ, both, only = cache(_codes), [], 0, 0
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
        for value in values:
            a, b = found[value], found[f"{value}_there"]
            measured = a.notna() | b.notna()
            both += int(measured.sum())
            for _, row in found[measured & (a != b)].iterrows():
                ours = _code(codes(here), row["files"])
                other = not ours or ours != _code(codes(there), row["files_there"])
                what = f"{', '.join(_key(row, keys))}, {value}"
                differ.append(Difference(what, row[value], row[f"{value}_there"], other))
    return Agreement(str(there), both, only, differ)


def _table(folder: Path, name: str, keys: list[str], values: list[str]) -> pd.DataFrame | None:
    path = folder / f"{name}.csv"
    if not path.exists():
        return None
    found = read_csv(path, *keys, *values, "files")
    numbers = found[keys].select_dtypes("number").columns
    found = found.astype(dict.fromkeys(numbers, float))
    return found[[*keys, *values, "files"]].drop_duplicates(keys)


def _key(row: "pd.Series", keys: list[str]) -> Iterator[str]:
    wanted = ("scenario", "problem", "event", "protocol", "setting", "method", "delta", "roots")
    for key in keys:
        if key in wanted:
            text = row[key]
            yield text if isinstance(text, str) else f"{key}={text:g}"


def _codes(folder: Path) -> Callable[[str], frozenset[str]]:
    """Code and settings behind a file: of its job, and of all jobs before that."""
    records = RecordStore(folder.resolve().parents[1], folder.name).records
    maker = {name: record for record in records for name in record.outputs}

    @cache
    def behind(file: str) -> frozenset[str]:
        record = maker.get(file)
        if record is None:
            return frozenset()
        own = frozenset({f"{record.script} {record.code.hash} {canonical_json(record.settings)}"})
        return own.union(*map(behind, record.inputs))

    return behind


def _code(behind: Callable[[str], frozenset[str]], files: str) -> frozenset[str]:
    return frozenset().union(*map(behind, files.split(";")))
