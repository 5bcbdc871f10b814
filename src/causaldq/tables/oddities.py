"""What is odd about numbers: columns that say nothing, say the same, jump, stand still or drift."""

import re

import numpy as np

from causaldq.models.rows import memory, varying
from causaldq.types import Bools, Floats

NEARLY = 0.95
"""A column with one value in so many rows has a standard deviation that rests on a few."""
SAME = 1e-4
"""Two streams whose correlation is this close to 1 carry the same information, but for rounding."""
SPIKE = 8.0
"""Robust standard deviations from the median; a normal variable goes there never."""
RARE = 0.01
"""What is further away more often is another way of operating, and no spike."""
HELD = 0.3
"""Share of exact repeats above which a stream holds its value between samples."""
STUCK = 20
"""Equal values in a row that are no chance in a stream that does not hold its value."""
REMEMBERS = 0.7
"""Autocorrelation of neighbouring rows."""
DRIFT, SURE = 0.5, 4.0
"""Standard deviations between the means of the halves, and standard errors of that."""
LEAST = 10
"""Fewer rows tell neither a clock from a stream nor a drift from chance."""
MOSTLY = 0.9
"""Share of steps upwards by which a column is asked about."""
CODE = re.compile(r"-?9{3,}(\.9+|\.25)?|32767|-32768|65535|-?1e\+30")
"""Numbers by which loggers say that they have none."""
TIME_TOLERANCE = 0.05
"""Share of the usual step by which a step may differ: times are often rounded when printed."""


def spread(values: Floats) -> float:
    """A standard deviation that outliers do not move, of values (n,) without NaN; 0 if none."""
    if not len(values):
        return 0.0
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


def far(values: Floats, limit: float = SPIKE) -> Bools:
    """(n,), values that lie more than so many robust standard deviations from the median."""
    known = values[np.isfinite(values)]
    sd = spread(known)
    if not sd:
        return np.zeros(len(values), np.bool_)
    return np.asarray(np.abs(values - np.median(known)) > limit * sd, np.bool_)


def spikes(values: Floats, limit: float = SPIKE) -> Bools:
    """(n,), rare values that lie too far from the median; NaN is none."""
    found = far(values, limit)
    rare = found.sum() <= max(1.0, RARE * np.isfinite(values).sum())
    return found if rare else np.zeros_like(found)


def codes(values: Floats) -> list[float]:
    """Far values of (n,) that are found more than once and look like a logger's word for none."""
    numbers, counts = np.unique(values[far(values)], return_counts=True)
    return [
        float(value)
        for value, count in zip(numbers, counts, strict=True)
        if count > 1 and CODE.fullmatch(f"{value:g}")
    ]


def is_constant(values: Floats) -> bool:
    """Whether values (n,) without NaN do not vary."""
    return not varying(values[:, None])[0]


def usual_share(values: Floats) -> float:
    """Share of the most frequent among values (n,) without NaN."""
    return float(np.unique(values, return_counts=True)[1].max()) / len(values)


def goes_one_way(values: Floats) -> bool:
    """Whether values (n,) rise, or fall, at nearly every step, or never turn back."""
    known = values[np.isfinite(values)]
    steps = np.diff(known)
    if len(known) < LEAST or not steps.any():
        return False
    never_back = bool((steps >= 0).all() or (steps <= 0).all())
    return never_back or is_clock(values)


def is_clock(values: Floats) -> bool:
    """Whether values (n,) rise at nearly every step."""
    steps = np.diff(values[np.isfinite(values)])
    share = max(np.mean(steps > 0), np.mean(steps < 0)) if len(steps) else 0.0
    return bool(share >= MOSTLY)


def alike(rows: Floats, tolerance: float = SAME) -> list[tuple[int, int]]:
    """Pairs i < j of the streams of rows (n, p), which vary, that are the same up to scale."""
    largest = np.abs(rows).max(0)
    scaled = rows / largest
    scaled = scaled - scaled.mean(0)
    scaled /= np.sqrt((scaled**2).sum(0))
    found = np.argwhere(np.triu(np.abs(scaled.T @ scaled) > 1 - tolerance, 1))
    return [(int(i), int(j)) for i, j in found]


def repeats(values: Floats) -> float:
    """Share of values (n,) that equal the one before."""
    pairs = np.diff(values)
    pairs = pairs[np.isfinite(pairs)]
    return float(np.mean(pairs == 0)) if len(pairs) else 0.0


def longest_run(values: Floats) -> tuple[int, int]:
    """Start and length of the longest run of equal values (n,)."""
    starts = np.flatnonzero(np.concatenate([[True], np.diff(values) != 0]))
    lengths = np.diff(np.append(starts, len(values)))
    longest = int(np.argmax(lengths))
    return int(starts[longest]), int(lengths[longest])


def autocorrelation(values: Floats) -> float:
    """Correlation of neighbours among values (n,), over pairs without NaN; 0 if there are few."""
    pairs = np.stack([values[:-1], values[1:]])
    pairs = pairs[:, np.isfinite(pairs).all(0)]
    if pairs.shape[1] < LEAST or not varying(pairs.T).all():
        return 0.0
    return float(np.atleast_2d(np.corrcoef(pairs))[0, 1])


def drift(values: Floats) -> float:
    """Second half's mean minus the first's, in standard deviations; 0 if it may be chance.

    The standard error counts only as many rows as are independent.
    """
    known = values[np.isfinite(values)]
    half = len(known) // 2
    if half < LEAST:
        return 0.0
    first, second = known[:half], known[half:]
    within = np.concatenate([first - first.mean(), second - second.mean()])
    sd = float(np.sqrt(np.mean(within**2)))
    if not sd:
        return 0.0
    apart = float(second.mean() - first.mean()) / sd
    error = 2 * np.sqrt(float(memory(within[:, None])[0]) / len(known))
    return apart if abs(apart) > max(DRIFT, SURE * error) else 0.0


def usual_step(times: Floats) -> float:
    """The median step between times (n,)."""
    return float(np.median(np.diff(times))) if len(times) > 1 else 1.0


def uneven(times: Floats) -> tuple[Bools, Bools]:
    """(n - 1,) each: steps between times (n,) that do not go on, and others that are unusual."""
    steps, usual = np.diff(times), usual_step(times)
    back = steps <= 0
    return back, ~back & (np.abs(steps - usual) > TIME_TOLERANCE * abs(usual))
