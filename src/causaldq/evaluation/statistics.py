"""Means, errors, intervals and comparisons of delays.

Delays come as a matrix (training seeds, replications), NaN where a run had a false alarm
before the change. All methods and all seeds run on the same replications, so errors
are shared between seeds and comparisons are paired. Resampling replications and seeds
alike (the two-way, or pigeonhole, bootstrap) respects both; resampling runs within each
seed would take one replication seen by five seeds for five.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

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
    by_replication = _ratio(filled.sum(axis=0), valid.sum(axis=0))
    by_seed = _ratio(filled.sum(axis=1), valid.sum(axis=1))
    se = np.sqrt(_variance_of_mean(by_replication) + _variance_of_mean(by_seed))
    drawn = _two_way_bootstrap(filled, valid, resamples, rng)
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail])
    return Estimate(float(filled.sum() / valid.sum()), float(se), float(low), float(high))


def _ratio(total: Floats, count: Floats) -> Floats:
    return total[count > 0] / count[count > 0]


def _variance_of_mean(values: Floats) -> float:
    return float(values.var(ddof=1) / len(values)) if len(values) > 1 else 0.0


def _two_way_bootstrap(
    filled: Floats, valid: Bools, resamples: int, rng: np.random.Generator
) -> Floats:
    seeds, replications = filled.shape
    by_seed = rng.multinomial(seeds, np.full(seeds, 1 / seeds), size=resamples)
    by_replication = rng.multinomial(
        replications, np.full(replications, 1 / replications), size=resamples
    )
    total = np.einsum("bs,sr,br->b", by_seed, filled, by_replication, optimize=True)
    count = np.einsum("bs,sr,br->b", by_seed, valid.astype(float), by_replication, optimize=True)
    return _ratio(total, count)


def paired_p_value(better: Floats, worse: Floats) -> float:
    """Chance of a difference this large if `better` were not shorter, by a paired t test.

    One-sided, on the replications (seeds, replications) that both ran without a false
    alarm, each averaged over seeds.
    """
    with np.errstate(invalid="ignore"):
        difference = _mean_over_seeds(worse) - _mean_over_seeds(better)
    difference = difference[~np.isnan(difference)]
    n = len(difference)
    if n < 2:
        return 1.0
    error = difference.std(ddof=1) / np.sqrt(n)
    if error == 0.0:
        return 0.0 if difference[0] > 0 else 1.0
    return float(stdtr(n - 1, -difference.mean() / error))


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
    """Methods whose delay is the shortest or cannot be told from it."""
    means = {name: np.nanmean(d) for name, d in delays.items() if not np.isnan(d).all()}
    if not means:
        return set()
    best = min(means, key=lambda name: means[name])
    rivals = [name for name in means if name != best]
    p_values = [paired_p_value(delays[best], delays[name]) for name in rivals]
    rejected = holm(p_values, level)
    return {best, *(name for name, out in zip(rivals, rejected, strict=True) if not out)}
