"""Candidate times of the change, shared by the filters that weigh them.

Recent times are kept close together, older ones further apart, so that a few candidates reach
back far. Each has a log weight; the sum of the weights is a filter's statistic.
"""

import numpy as np

from causaldq.types import Floats, Ints


def gives_way(time: Ints, levels: int, kept: int) -> Ints:
    """Which candidate (n,) gives way to a change at this step, of levels * kept.

    A time divisible by 2^l, and by no higher power, is kept while it is among the latest
    of its level l; the first step and powers beyond belong to the highest.
    """
    lowest = np.where(time > 0, time & -time, 1 << (levels - 1))
    level = np.minimum(np.frexp(lowest)[1] - 1, levels - 1)
    return np.asarray(level * kept + (time >> (level + 1)) % kept)


def log_sum(log_weights: Floats) -> Floats:
    """log of the sum over candidates of weights (n, c), (n,)."""
    largest = log_weights.max(axis=1)
    return np.asarray(largest + np.log(np.exp(log_weights - largest[:, None]).sum(axis=1)))


def over_times(log_weights: Floats, values: Floats, now: Floats | float) -> Floats:
    """Mean over candidates (n, c) of values (n, c, p), and of `now` for a change at this step."""
    largest = np.maximum(log_weights.max(axis=1, keepdims=True), 0.0)
    weights, just_now = np.exp(log_weights - largest), np.exp(-largest)
    mean = np.einsum("nc,ncp->np", weights, values) + just_now * now
    return np.asarray(mean / (weights.sum(axis=1, keepdims=True) + just_now))


def shifted(log_ratio: Floats, share: float) -> Floats:
    """q LR / (1 - q + q LR), of a stream that shifts with probability q, the share."""
    logit: Floats = log_ratio + np.log(share / (1.0 - share))
    logit /= 2
    np.tanh(logit, out=logit)
    logit *= 0.5
    logit += 0.5
    return logit


def mixed(log_ratio: Floats, share: float) -> Floats:
    """log(1 - q + q LR)."""
    mixture: Floats = np.logaddexp(np.log1p(-share), np.log(share) + log_ratio)
    return mixture
