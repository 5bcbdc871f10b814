"""Means, errors, intervals and comparisons of delays.

Delays come as a matrix (training seeds, replications), NaN where a run had a false alarm
before the change. All methods and all seeds run on the same replications, so errors
are shared between seeds and comparisons are paired. The error of a mean has a part by
replications and one by seeds; runs taken for independent would count one replication seen
by three seeds for three.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, stdtrit

from causaldq.types import Floats


class Error(NamedTuple):
    """The variance of an estimate, and the degrees of freedom that it is known with."""

    variance: float
    freedom: float


NONE = Error(0.0, np.inf)


def sum_of_errors(parts: Sequence[Error]) -> Error:
    """Variances add up; degrees of freedom by Welch and Satterthwaite.

    Few seeds that differ much leave few of them, however many replications there are.
    """
    variance = sum(part.variance for part in parts)
    spread = sum(part.variance**2 / part.freedom for part in parts)
    return Error(variance, variance**2 / spread if spread > 0 else np.inf)


def half_width(error: Error, confidence: float) -> float:
    """Of an interval around an estimate, by Student's law."""
    if not error.variance > 0:
        return float(error.variance)  # 0, or not known
    return float(-stdtrit(error.freedom, (1.0 - confidence) / 2.0) * np.sqrt(error.variance))


def error_of_mean(values: Floats) -> Error:
    """Of independent values, NaN left out; a single one does not tell its error."""
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return Error(np.nan, np.nan)
    return Error(float(known.var(ddof=1) / len(known)), len(known) - 1.0)


@dataclass(frozen=True)
class Estimate:
    mean: float
    se: float
    """NaN where a single replication is left."""
    freedom: float
    """Degrees of freedom that the standard error is known with."""
    low: float
    high: float


def estimate(delays: Floats, confidence: float, horizon: float) -> Estimate:
    """Average delay over seeds and replications (seeds, replications), with its interval.

    The seeds' means also differ by chance alone, which the replications' part holds already:
    with three seeds that are alike, the error is a little too large.
    The interval is that of the logarithm, as delays are positive and skewed, and stays within
    what a delay can be.
    """
    valid = ~np.isnan(delays)
    if not valid.any():
        return Estimate(np.nan, np.nan, np.nan, np.nan, np.nan)
    mean = float(np.where(valid, delays, 0.0).sum() / valid.sum())
    by_replication = error_of_mean(_mean_over_seeds(delays))
    # One seed says nothing of others; how many there were stands beside every number.
    by_seed = error_of_mean(_mean_over_seeds(delays.T)) if len(delays) > 1 else NONE
    error = sum_of_errors([by_replication, by_seed])
    half = half_width(Error(error.variance / mean**2, error.freedom), confidence)
    low, high = (1.0, horizon) if np.isnan(half) else (mean * np.exp(-half), mean * np.exp(half))
    return Estimate(
        mean,
        float(np.sqrt(error.variance)),
        error.freedom,
        max(float(low), min(1.0, mean)),
        min(float(high), max(horizon, mean)),
    )


@dataclass(frozen=True)
class Comparison:
    """Two methods on the same replications."""

    p_value: float
    """Chance of a difference this large between equal methods."""
    first_is_shorter: bool


def compare(first: Floats, second: Floats) -> Comparison:
    """Paired comparison by Wilcoxon's signed ranks, two-sided.

    On the replications (seeds, replications) that both ran without a false alarm, each
    averaged over seeds. Ranks, because delays have heavy tails: a policy that now and then
    never finds the shift would make every difference of means uncertain.
    """
    return _compare_paired(_mean_over_seeds(first), _mean_over_seeds(second))


def _compare_paired(first: Floats, second: Floats) -> Comparison:
    """The test itself, after Pratt, by its normal limit.

    Replications without a difference are ranked, and then speak for neither side: so their ranks
    count neither in the balance nor in its variance. Written out, because a table needs thousands
    of these small tests, and scipy's takes most of its time to prepare for other cases.
    """
    difference = first - second
    difference = difference[~np.isnan(difference)]
    if not difference.any():
        return Comparison(1.0, first_is_shorter=False)
    _, place, ties = np.unique(np.abs(difference), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(ties) - (ties - 1) / 2.0)[place]
    balance = float((np.sign(difference) * ranks).sum())
    n = float(len(difference))
    tied = float((ties.astype(float) ** 3 - ties).sum())
    equal = float((difference == 0).sum())
    squares = n * (n + 1.0) * (2.0 * n + 1.0) - equal * (equal + 1.0) * (2.0 * equal + 1.0)
    deviation = np.sqrt((squares - (tied - (equal**3 - equal)) / 2.0) / 24.0)
    p_value = 2.0 * float(ndtr(-abs(balance) / 2.0 / deviation))
    return Comparison(p_value, first_is_shorter=balance < 0)


def _mean_over_seeds(delays: Floats) -> Floats:
    valid = ~np.isnan(delays)
    count = valid.sum(axis=0)
    total = np.where(valid, delays, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def holm(p_values: list[float], level: float) -> list[bool]:
    """Which hypotheses Holm's procedure rejects at the family-wise level."""
    order = np.argsort(p_values, kind="stable")
    rejected = [False] * len(p_values)
    for rank, index in enumerate(order):
        if p_values[index] > level / (len(p_values) - rank):
            break
        rejected[index] = True
    return rejected


def among_best(delays: dict[str, Floats], level: float) -> set[str]:
    """Methods whose delay is the shortest or within noise of it.

    The shortest mean is picked by the same data that judge it, so Holm's procedure runs over
    all pairs: equal methods are then all among the best, but for a chance of `level`.
    """
    means = {name: float(np.nanmean(d)) for name, d in delays.items() if not np.isnan(d).all()}
    if not means:
        return set()
    best = min(means, key=lambda name: means[name])
    pairs = list(combinations(means, 2))
    averaged = {name: _mean_over_seeds(delays[name]) for name in means}
    compared = [_compare_paired(averaged[a], averaged[b]) for a, b in pairs]
    rejected = holm([comparison.p_value for comparison in compared], level)
    longer = {
        (b if comparison.first_is_shorter else a)
        for (a, b), comparison, out in zip(pairs, compared, rejected, strict=True)
        if out and best == (a if comparison.first_is_shorter else b)
    }
    return set(means) - longer
