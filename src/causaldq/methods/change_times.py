"""Candidate times of a change: recent ones close together, older ones further apart."""

from dataclasses import dataclass

import numpy as np

from causaldq.types import Floats, Ints


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
