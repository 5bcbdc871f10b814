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
    by_replication = _mean_over_seeds(delays)
    by_seed = _mean_over_seeds(delays.T)
    residual = _residual_variance(delays, by_replication, by_seed)
    # Each of the two terms holds the residual once.
    variance = _variance_of_mean(by_replication) + _variance_of_mean(by_seed) - residual
    drawn = _two_way_bootstrap(filled, valid, resamples, rng)
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail])
    mean = float(filled.sum() / valid.sum())
    return Estimate(mean, float(np.sqrt(max(variance, 0.0))), float(low), float(high))


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
    total = np.einsum("bs,sr,br->b", by_seed, filled, by_replication, optimize=True)
    count = np.einsum("bs,sr,br->b", by_seed, valid.astype(float), by_replication, optimize=True)
    drawn: Floats = total[count > 0] / count[count > 0]
    return drawn


def paired_p_value(first: Floats, second: Floats) -> float:
    """Chance of a difference this large between equal methods, by a paired t test.

    Two-sided, on the replications (seeds, replications) that both ran without a false
    alarm, each averaged over seeds.
    """
    with np.errstate(invalid="ignore"):
        difference = _mean_over_seeds(first) - _mean_over_seeds(second)
    difference = difference[~np.isnan(difference)]
    n = len(difference)
    if n < 2:
        return 1.0
    error = difference.std(ddof=1) / np.sqrt(n)
    if error == 0.0:
        return 0.0 if difference[0] else 1.0
    return float(2.0 * stdtr(n - 1, -abs(difference.mean()) / error))


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

    The best is chosen by the same data that judge it, so Holm's procedure runs over all
    pairs: equal methods are then all among the best, but for a chance of `level`.
    """
    means = {name: float(np.nanmean(d)) for name, d in delays.items() if not np.isnan(d).all()}
    if not means:
        return set()
    best = min(means, key=lambda name: means[name])
    pairs = list(combinations(means, 2))
    rejected = holm([paired_p_value(delays[a], delays[b]) for a, b in pairs], level)
    told_apart = {pair for pair, out in zip(pairs, rejected, strict=True) if out}
    return {name for name in means if not {(best, name), (name, best)} & told_apart}
