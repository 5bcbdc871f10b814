"""Means, errors, intervals and comparisons of delays.

Delays come as a matrix (training seeds, replications), NaN where a run had a false alarm
before the change. All methods and all seeds run on the same replications, so errors
are shared between seeds and comparisons are paired. Resampling replications and seeds
alike (the two-way, or pigeonhole, bootstrap) respects both; resampling runs within each
seed would take one replication seen by five seeds for five.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import ndtr

from causaldq.types import Bools, Floats


@dataclass(frozen=True)
class Estimate:
    mean: float
    se: float
    low: float
    high: float


def estimate(
    delays: Floats, confidence: float, resamples: int, rng: np.random.Generator
) -> Estimate:
    """Average delay over seeds and replications (seeds, replications)."""
    valid = ~np.isnan(delays)
    if not valid.any():
        return Estimate(np.nan, np.nan, np.nan, np.nan)
    filled = np.where(valid, delays, 0.0)
    by_replication = _mean_over_seeds(delays)
    by_seed = _mean_over_seeds(delays.T)
    # The seeds' means also differ by the residual, which the replications' term holds already.
    between_seeds = _variance_of_mean(by_seed) - _residual_variance(delays, by_replication, by_seed)
    variance = _variance_of_mean(by_replication) + max(between_seeds, 0.0)
    drawn = _two_way_bootstrap(filled, valid, resamples, rng)
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail])
    mean = float(filled.sum() / valid.sum())
    return Estimate(mean, float(np.sqrt(variance)), float(low), float(high))


def _variance_of_mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.var(ddof=1) / len(known)) if len(known) > 1 else 0.0


def _residual_variance(delays: Floats, by_replication: Floats, by_seed: Floats) -> float:
    """What neither seed nor replication explains, as a variance of the mean."""
    seeds, replications = delays.shape
    if seeds < 2 or replications < 2:
        return 0.0
    residual = delays - by_replication - by_seed[:, None] + np.nanmean(delays)
    residual = residual[~np.isnan(residual)]
    freedom = len(residual) - seeds - replications + 1
    if freedom < 1:
        return 0.0
    return float((residual**2).sum() / freedom / len(residual))


def _two_way_bootstrap(
    filled: Floats, valid: Bools, resamples: int, rng: np.random.Generator
) -> Floats:
    seeds, replications = filled.shape
    by_seed = rng.multinomial(seeds, np.full(seeds, 1 / seeds), size=resamples)
    by_replication = rng.multinomial(
        replications, np.full(replications, 1 / replications), size=resamples
    )
    total = ((by_seed @ filled) * by_replication).sum(axis=1)
    count = ((by_seed @ valid.astype(float)) * by_replication).sum(axis=1)
    drawn: Floats = total[count > 0] / count[count > 0]
    return drawn


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
    """The test itself, with equal values shared between both sides, by its normal limit.

    Written out, because a table needs thousands of these small tests, and scipy's takes
    most of its time to prepare for other cases.
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
    deviation = np.sqrt((n * (n + 1.0) * (2.0 * n + 1.0) - tied / 2.0) / 24.0)
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
    """Methods whose delay is the shortest or cannot be told from it.

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
