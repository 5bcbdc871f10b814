"""What changed between two runs: settings, code, data, and the cells that moved."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from causaldq.errors import DataError
from causaldq.files import read_csv
from causaldq.pipeline.lineage.changes import changed_settings
from causaldq.pipeline.lineage.records import Record, RecordStore
from causaldq.pipeline.lineage.repository import git, lay_out
from causaldq.pipeline.lineage.safe_names import printable

KEYS = [
    *("table", "scenario", "setting", "p", "m", "k", "sigma", "delta", "delta_train"),
    *("method", "protocol"),
]


@dataclass(frozen=True)
class Moved:
    """A cell whose mean delay is another."""

    cell: str
    before: float
    after: float
    standard_errors: float | None
    """Of the difference of two independent means; None if both are exact."""


@dataclass(frozen=True)
class Difference:
    settings: dict[str, tuple[Any, Any]]
    code: dict[str, tuple[str, str]]
    """Scripts whose code is another, with the commits they ran at."""
    files: list[str]
    """Source files that differ between the two commits, where git knows both."""
    data: list[str]
    """Files that no job made, and sources' streams, with other content."""
    environment: dict[str, tuple[Any, Any]]
    moved: list[Moved]
    only_before: list[str]
    only_after: list[str]
    cells: int
    """Cells that both have."""

    @property
    def same(self) -> bool:
        return not (
            *self.settings, *self.code, *self.data, *self.environment, *self.moved,
            *self.only_before, *self.only_after,
        )  # fmt: skip


def compare(root: Path, before: str, after: str, profile: str) -> Difference:
    """Two commits that hold results of a profile, or two folders of results."""
    with _opened(root, before, profile) as a, _opened(root, after, profile) as b:
        return _compare(root, a, b)


@dataclass(frozen=True)
class _Side:
    records: dict[str, Record]
    table: pd.DataFrame


@contextmanager
def _opened(root: Path, name: str, profile: str) -> Iterator[_Side]:
    folder = root / name
    if folder.is_dir():
        yield _side(folder, name)
        return
    commit = git(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if commit is None:
        raise DataError(f"{name} is neither a folder of results nor a commit")
    results = f"results/{profile}"
    with tempfile.TemporaryDirectory() as place:
        if not lay_out(root, commit.strip(), Path(place), (results,)):
            raise DataError(
                f"commit {name} holds no {results}; commit results together with dvc.lock"
            )
        yield _side(Path(place) / results, f"{results} of {name}")


def _side(folder: Path, name: str) -> _Side:
    if not (folder / "records").is_dir() or not (folder / "add.csv").is_file():
        raise DataError(f"{name} has no add.csv and records/; give a folder such as results/quick")
    store = RecordStore(folder.parents[1], folder.name)
    records = {record.job: record for record in store.records if record.status == 0}
    return _Side(records, read_csv(folder / "add.csv", *KEYS, "add", "se"))


def _compare(root: Path, a: _Side, b: _Side) -> Difference:
    moved, only_before, only_after, cells = compare_cells(a.table, b.table)
    return Difference(
        settings=changed_settings(_settings(a), _settings(b)),
        code=_code(a, b),
        files=_source_files(root, a, b),
        data=_data(a, b),
        environment=changed_settings(_environment(a), _environment(b)),
        moved=moved,
        only_before=only_before,
        only_after=only_after,
        cells=cells,
    )


def _settings(side: _Side) -> Any:
    """All settings of the run: the job that gathers it is given them."""
    record = side.records.get("aggregate")
    return record.settings if record else None


def _code(a: _Side, b: _Side) -> dict[str, tuple[str, str]]:
    def by_script(side: _Side) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for record in side.records.values():
            commit = (record.code.commit or "no commit")[:7] + ("+" if record.code.dirty else "")
            found.setdefault(record.script, {})[record.code.hash] = commit
        return found

    old, new = by_script(a), by_script(b)
    return {
        script: (", ".join(old[script].values()), ", ".join(new[script].values()))
        for script in sorted(old.keys() & new.keys())
        if old[script].keys() != new[script].keys()
    }


def _source_files(root: Path, a: _Side, b: _Side) -> list[str]:
    commits = [{r.code.commit for r in side.records.values()} for side in (a, b)]
    if not all(len(found) == 1 and None not in found for found in commits):
        return []
    old, new = (str(next(iter(found))) for found in commits)
    listed = git(root, "diff", "--name-only", old, new, "--", "src", "scripts", "workflow")
    return listed.split() if listed else []


def _data(a: _Side, b: _Side) -> list[str]:
    """Files from outside, and the streams, that both runs used and that differ."""

    def hashes(side: _Side) -> dict[str, str]:
        made = {name for record in side.records.values() for name in record.outputs}
        found: dict[str, str] = {}
        for record in side.records.values():
            found |= {n: f.sha256 for n, f in record.inputs.items() if n not in made}
            if record.rule in ("fetch", "simulate", "prepare", "inject"):
                found |= {n: f.sha256 for n, f in record.outputs.items()}
        return {_without_profile(name): value for name, value in found.items()}

    old, new = hashes(a), hashes(b)
    return sorted(name for name in old.keys() & new.keys() if old[name] != new[name])


def _without_profile(name: str) -> str:
    parts = Path(name).parts
    return Path(parts[0], *parts[2:]).as_posix() if parts[0] in ("artifacts", "results") else name


def _environment(side: _Side) -> dict[str, Any]:
    """Packages and machine, where the whole run had the same."""
    records = list(side.records.values())
    seen: dict[str, set[Any]] = {}
    for record in records:
        for key, value in (record.host | {"requirements.lock": record.code.lock}).items():
            seen.setdefault(key, set()).add(value)
    return {
        key: str(next(iter(values)))[:60] if len(values) == 1 else "several"
        for key, values in seen.items()
    }


def compare_cells(
    before: pd.DataFrame, after: pd.DataFrame
) -> tuple[list[Moved], list[str], list[str], int]:
    """Cells that moved, farthest first, and those that only one of the tables has."""
    joined = before.merge(after, on=KEYS, how="outer", suffixes=("_a", "_b"), indicator=True)
    both = joined[joined["_merge"] == "both"]
    moved = []
    for _, row in both.iterrows():
        old, new = float(row["add_a"]), float(row["add_b"])
        if old != new and not (np.isnan(old) and np.isnan(new)):
            error = float(np.hypot(row["se_a"], row["se_b"]))
            steps = (new - old) / error if error > 0 else None
            moved.append(Moved(_cell(row), old, new, steps))
    moved.sort(key=lambda m: -abs(m.standard_errors or np.inf))
    only = [[_cell(r) for _, r in joined[joined["_merge"] == side].iterrows()]
            for side in ("left_only", "right_only")]  # fmt: skip
    return moved, only[0], only[1], len(both)


def _cell(row: "pd.Series[Any]") -> str:
    sigma = f", sigma={row['sigma']:g}" if row["sigma"] else ""
    return (
        f"{row['scenario']}, {row['protocol']}, {row['setting']}, {row['method']},"
        f" delta={row['delta']:g}{sigma}"
    )


def lines(found: Difference, at_most: int = 20) -> Iterator[str]:
    """The difference for people, whatever records and tables hold."""
    return map(printable, _lines(found, at_most))


def _lines(found: Difference, at_most: int) -> Iterator[str]:
    if found.same:
        yield f"No difference: the same settings, code, data and {found.cells} cells."
        return
    for title, changes in (("Settings", found.settings), ("Environment", found.environment)):
        if changes:
            yield f"{title}:"
            yield from (f"  {key}: {old} → {new}" for key, (old, new) in changes.items())
    if found.code:
        yield "Code, by script and commit (+: with changes):"
        yield from (f"  {script}: {old} → {new}" for script, (old, new) in found.code.items())
        yield from (f"    {name}" for name in found.files)
    if found.data:
        yield "Data:"
        yield from (f"  {name}" for name in found.data)
    yield f"Cells: {len(found.moved)} of {found.cells} moved."
    for cell in found.moved[:at_most]:
        steps = "" if cell.standard_errors is None else f"  ({cell.standard_errors:+.1f} s.e.)"
        yield f"  {cell.cell}: {cell.before:.4g} → {cell.after:.4g}{steps}"
    if len(found.moved) > at_most:
        yield f"  and {len(found.moved) - at_most} more, nearer to where they were"
    for title, cells in (("before", found.only_before), ("after", found.only_after)):
        if cells:
            yield f"Only {title}: {len(cells)} cells, such as {cells[0]}"
