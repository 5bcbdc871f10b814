"""Why normal rows do not keep a promised rate of false alarms, as far as they can tell."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from causaldq.models.em import holding
from causaldq.models.rows import memory
from causaldq.types import Floats, Ints

Fault = Literal["too few rows", "drift", "heavy tails", "change inside"]

ROWS_A_STREAM = 10
"""Fewer rows for each stream say too little of how streams go together."""
MEMORIES = 10
"""Fewer memories than this in the rows say too little of a stream's mean."""
WANDERS, WANDERS_STILL = 14.0, 40.0
"""A stream of n values, the next phi of the last, has no mean that they could tell if n (1 - phi)
is less: the 5% point of Dickey and Fuller's test. More is asked of what a change leaves, since any
change explains a part of a stream that wanders."""
LEVEL = 0.001
"""Chance of a false word about the mean of any stream."""
FAR, OFTEN = 5.0, 3
"""Tails are heavy where so many innovations are so many deviations off."""
EDGE, SMALLEST = 10, 1.0
"""A change has so many rows before and after it, and is of so many deviations, or it would not
explain false alarms."""
NAMED = 5
"""Streams and rows named."""


@dataclass(frozen=True)
class Diagnosis:
    """One thing that is wrong with rows of normal operation.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(500, 3))
    >>> diagnose(rows, ("a", "b", "c"))
    []
    >>> rows[300:, 1] += 3.0
    >>> [found] = diagnose(rows, ("a", "b", "c"))
    >>> found.fault, found.streams, found.rows
    ('change inside', ('b',), (300,))
    """

    fault: Fault
    streams: tuple[str, ...]
    """At fault, the worst first; none if all are."""
    rows: tuple[int, ...]
    """Where, counted from 0; none if everywhere."""
    text: str
    """A line for people."""


def diagnose(rows: Floats, names: tuple[str, ...]) -> list[Diagnosis]:
    """What is wrong with rows (n, p) of normal operation; nothing if the list is empty."""
    n, p = rows.shape
    level = float(np.sqrt(np.log(2 * p / LEVEL) / 2))  # of the largest of p Brownian bridges
    remembered = memory(rows)
    held = holding(rows) > 1
    drifts: dict[str, float] = {}
    changes: dict[str, tuple[float, int]] = {}
    tails: dict[str, Ints] = {}
    for i, name in enumerate(names):
        where = np.arange(n)
        if held[i]:
            where = np.flatnonzero(np.diff(rows[:, i], prepend=np.nan) != 0)
        values = rows[where, i]
        if len(values) < 3 * EDGE:
            continue
        far = _far(_errors(values))
        if len(far) >= OFTEN:
            tails[name] = where[far + 1]
        if _pull(values) >= WANDERS and _moved(values) <= level:
            continue
        place, without = _without_step(values)
        line = _without_line(values)
        clean = _pull(without) >= WANDERS_STILL and _moved(without) <= level
        if clean and without.var() < line.var():
            size = float(values[place:].mean() - values[:place].mean()) / float(without.std())
            if abs(size) >= SMALLEST:
                changes[name] = size, int(where[place])
        else:
            tenth = max(len(values) // 10, 1)
            drifts[name] = float(values[-tenth:].mean() - values[:tenth].mean()) / values.std()
    steady = [i for i, name in enumerate(names) if name not in drifts and name not in changes]
    return [
        *_few(n, p, float(remembered[steady].max(initial=1.0))),
        *_drift(drifts),
        *_change(changes),
        *_tails(tails, n),
    ]


# --- one stream --------------------------------------------------------------------------------


def _follows(values: Floats) -> float:
    """phi: how much of a value, off its mean, is left in the next."""
    centred = values - values.mean()
    return float(centred[1:] @ centred[:-1]) / float(centred @ centred)


def _pull(values: Floats) -> float:
    """n (1 - phi), how often the values (n,) come back to their mean."""
    return len(values) * (1.0 - _follows(values))


def _errors(values: Floats) -> Floats:
    """What each value (n,) does not owe to the one before, (n - 1,).

    How much it owes is told around a line, or a drift would be taken for memory.
    """
    centred = values - values.mean()
    follows = _follows(_without_line(values))
    return np.asarray(centred[1:] - follows * centred[:-1], np.float64)


def _far(errors: Floats) -> Ints:
    """Places of errors that a normal distribution of their width does not have."""
    middle = np.median(errors)
    width = 1.4826 * float(np.median(np.abs(errors - middle)))
    return np.flatnonzero(np.abs(errors - middle) > FAR * width) if width > 0 else np.arange(0)


def _moved(values: Floats) -> float:
    """How far sums of errors stray from a bridge; Brownian if the mean of the values is one."""
    errors = _errors(values)
    errors = np.clip(errors, *(np.median(errors) + FAR * errors.std() * np.array([-1, 1])))
    sums = np.cumsum(errors - errors.mean())
    return float(np.abs(sums).max() / (errors.std() * np.sqrt(len(errors))))


def _without_step(values: Floats) -> tuple[int, Floats]:
    """Where one change of the mean explains most of the values (n,), and what it leaves."""
    n = len(values)
    sums = np.cumsum(values - values.mean())[:-1]
    before = np.arange(1, n)
    gain = sums**2 * n / (before * (n - before))
    gain[: EDGE - 1] = gain[n - EDGE :] = -np.inf
    place = int(gain.argmax()) + 1
    left = values.copy()
    left[:place] -= left[:place].mean()
    left[place:] -= left[place:].mean()
    return place, left


def _without_line(values: Floats) -> Floats:
    time = np.arange(len(values)) - (len(values) - 1) / 2
    centred = values - values.mean()
    return np.asarray(centred - time * (time @ centred) / (time @ time), np.float64)


# --- in words ----------------------------------------------------------------------------------


def _few(n: int, p: int, longest: float) -> list[Diagnosis]:
    enough = int(np.ceil(max(ROWS_A_STREAM * p, MEMORIES * longest)))
    if n >= enough:
        return []
    text = (
        f"too few rows: {n} for {p} streams that remember up to {longest:.0f} rows; give {enough}"
        " or more"
    )
    return [Diagnosis("too few rows", (), (), text)]


def _drift(found: dict[str, float]) -> list[Diagnosis]:
    if not found:
        return []
    streams = sorted(found, key=lambda name: -abs(found[name]))
    shown = ", ".join(f"{name} ({found[name]:+.1f})" for name in streams[:NAMED])
    text = (
        "drift: these streams do not keep to one mean in the normal rows (deviations from the first"
        f" to the last tenth): {shown}{_more(streams)}"
    )
    return [Diagnosis("drift", tuple(streams), (), text)]


def _change(found: dict[str, tuple[float, int]]) -> list[Diagnosis]:
    if not found:
        return []
    streams = sorted(found, key=lambda name: -abs(found[name][0]))
    rows = [found[name][1] for name in streams]
    shown = ", ".join(
        f"{name} ({found[name][0]:+.1f} deviations from row {found[name][1]} on)"
        for name in streams[:NAMED]
    )
    text = f"change inside: the normal rows hold a change of their own: {shown}{_more(streams)}"
    return [Diagnosis("change inside", tuple(streams), tuple(rows), text)]


def _tails(found: dict[str, Ints], n: int) -> list[Diagnosis]:
    if not found:
        return []
    streams = sorted(found, key=lambda name: -len(found[name]))
    rows = tuple(sorted({int(row) for name in streams for row in found[name]}))
    shown = ", ".join(f"{name} ({len(found[name])} of {n} rows)" for name in streams[:NAMED])
    text = (
        f"heavy tails: values jump by more than {FAR:.0f} deviations: {shown}{_more(streams)};"
        f" first at rows {', '.join(map(str, rows[:NAMED]))}"
    )
    return [Diagnosis("heavy tails", tuple(streams), rows, text)]


def _more(streams: list[str]) -> str:
    return f" and {len(streams) - NAMED} more" if len(streams) > NAMED else ""
