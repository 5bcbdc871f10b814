"""Alarm limits: every method at the same rate of false alarms.

No policy looks at the limit, so one set of in-control statistics answers for all limits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from causaldq.setting import Distinct, Positive, Settings, Share
from causaldq.types import Bools, Floats, Ints


class CalibrationSettings(Settings):
    """How the alarm limit is set."""

    arl0: Annotated[Positive, Field(description="wanted steps to a false alarm")] = 200.0
    nominal_level: Annotated[
        Share, Field(description="of the chi-square limit, `paper` protocol")
    ] = 0.95
    paths: Annotated[int, Field(ge=10, description="in-control paths to set the limit")] = 400
    fresh_paths: Annotated[int, Field(ge=10, description="in-control paths to check it")] = 400
    horizon_factor: Annotated[
        float, Field(gt=1, description="length of those paths, in units of arl0")
    ] = 5.0
    arl0_grid: Annotated[
        Distinct[Positive], Field(description="more run lengths, for delay against false alarms")
    ] = [100.0, 200.0, 370.0, 500.0, 1000.0]


def run_lengths(statistics: Floats, limit: float) -> tuple[Ints, Bools]:
    """Steps to the first alarm (paths,), and which paths ended without one."""
    over = statistics > limit
    alarmed: Bools = np.any(over, axis=1)
    first = np.where(alarmed, over.argmax(axis=1) + 1, statistics.shape[1])
    return first, ~alarmed


def average_run_length(lengths: Ints, censored: Bools) -> float:
    """Steps at risk for each alarm: a path that ends unalarmed adds its time, not an alarm."""
    alarms = int((~censored).sum())
    return float(lengths.sum()) / alarms if alarms else float("inf")


def limit_for(statistics: Floats, arl0: float) -> float:
    """The smallest limit at which in-control statistics (paths, steps) reach `arl0`."""
    return _smallest_limit(
        statistics, lambda limit: average_run_length(*run_lengths(statistics, limit)) >= arl0
    )


def limit_at_most(statistics: Floats, arl0: float) -> float:
    """What `limit_for` cannot exceed, whatever the paths (paths, steps) have still to come.

    A path alarms once at most, so that time without an alarm so far, over the number of paths,
    is a run length reached for sure. Paths that have been above it need not go on.
    """
    paths, steps = statistics.shape
    if steps < arl0:
        return float("inf")
    return _smallest_limit(
        statistics, lambda limit: run_lengths(statistics, limit)[0].sum() >= arl0 * paths
    )


def _smallest_limit(statistics: Floats, enough: Callable[[float], bool]) -> float:
    """Bisection over the running maxima, the only values at which run lengths change."""
    candidates = np.unique(np.maximum.accumulate(statistics, axis=1))
    low, high = 0, len(candidates) - 1
    while low < high:
        middle = (low + high) // 2
        if enough(candidates[middle]):
            high = middle
        else:
            low = middle + 1
    return float(candidates[low])


@dataclass(frozen=True)
class RunLength:
    """An in-control run length and its interval; None stands for no alarm at all."""

    value: float | None
    low: float
    high: float | None


def measured_run_length(
    statistics: Floats, limit: float, confidence: float, resamples: int, rng: np.random.Generator
) -> RunLength:
    """ARL0 reached on fresh paths (paths, steps), with a bootstrap interval over paths."""
    lengths, censored = run_lengths(statistics, limit)
    if censored.all():
        # Without an alarm in the time t, ARL0 is above t / -log(1 - confidence): about t / 3.
        return RunLength(None, float(lengths.sum() / -np.log(1.0 - confidence)), None)
    n = len(lengths)
    weights = rng.multinomial(n, np.full(n, 1.0 / n), size=resamples)
    alarms = weights @ ~censored
    time = weights @ lengths
    drawn = np.where(alarms > 0, time / np.maximum(alarms, 1), np.inf)
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail], method="inverted_cdf")
    return RunLength(
        average_run_length(lengths, censored),
        float(low),
        float(high) if np.isfinite(high) else None,
    )
