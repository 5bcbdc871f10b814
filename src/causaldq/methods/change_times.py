"""Candidate times of a change, shared by the filters that weigh them.

Recent times are kept close together, older ones further apart, so that a few candidates reach
back far. Each has a log weight; the sum of the weights is a filter's statistic.
"""

from dataclasses import dataclass

import numpy as np

from causaldq.types import Floats, Ints

LEAST = -1e300
"""Stands in for the largest of logs that are all minus infinity."""


@dataclass(frozen=True)
class ChangeTimes:
    """The latest `kept` of the times divisible by 2^l and by no higher power, for each level l.

    Examples
    --------
    >>> times = ChangeTimes(levels=3, kept=1)
    >>> times.begins(np.arange(6))
    array([2, 0, 1, 0, 2, 0])
    """

    levels: int
    kept: int

    @property
    def count(self) -> int:
        """c, candidates."""
        return self.levels * self.kept

    @property
    def log_span(self) -> Floats:
        """Logarithm (c,) of how many change times each candidate stands for."""
        levels = np.repeat(np.arange(self.levels), self.kept)
        return np.asarray(levels * np.log(2.0), np.float64)

    def begins(self, time: Ints) -> Ints:
        """Which candidate (n,) gives way to a change at this step.

        The first step, and powers beyond, belong to the highest level.
        """
        lowest = np.where(time > 0, time & -time, 1 << (self.levels - 1))
        level = np.minimum(np.frexp(lowest)[1] - 1, self.levels - 1)
        return np.asarray(level * self.kept + (time >> (level + 1)) % self.kept)


def log_sum(log_weights: Floats) -> Floats:
    """log of the sum over candidates of weights (n, c), (n,); minus infinity if none has begun."""
    largest = np.maximum(log_weights.max(axis=1), LEAST)
    with np.errstate(divide="ignore"):
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
