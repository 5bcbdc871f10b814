"""TRAS: local CUSUMs, with a small credit for every step that a stream goes unread.

K. Liu, Y. Mei and J. Shi (2015). An adaptive sampling strategy for online high-dimensional
process monitoring. Technometrics 57(3), 305-319.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from causaldq.methods.base import Method, Problem, State, Truth, top
from causaldq.setting import Count, NotNegative, Positive, Settings
from causaldq.types import Floats, Ints


class TrasSettings(Settings):
    """Top-r adaptive sampling on local CUSUMs."""

    shift: Annotated[Positive, Field(description="u, shift looked for, in deviations")] = 1.5
    compensation: Annotated[
        NotNegative, Field(description="Delta, credit per step that a stream goes unobserved")
    ] = 0.05
    summed_streams: Annotated[
        Count | None, Field(description="r, streams summed in the alarm; null: one a sensor")
    ] = None


@dataclass(frozen=True)
class LocalCusums(State):
    """One CUSUM of each stream for a rise of its mean and one for a fall."""

    upward: Floats
    """W+, (n, p)."""
    downward: Floats
    """W-, (n, p)."""

    def larger(self) -> Floats:
        """W = max(W+, W-), (n, p)."""
        return np.maximum(self.upward, self.downward)

    def advanced(self, scores: Floats, shift: float) -> "LocalCusums":
        """After one more score of each stream (n, p), tuned to a shift of `shift`."""
        gain, allowance = shift * scores, shift**2 / 2
        return LocalCusums(
            np.maximum(0.0, self.upward + gain - allowance),
            np.maximum(0.0, self.downward - gain - allowance),
        )


def start_cusums(n: int, p: int) -> LocalCusums:
    """All CUSUMs at zero."""
    return LocalCusums(np.zeros((n, p)), np.zeros((n, p)))


def sum_of_largest(values: Floats, count: int) -> Floats:
    """Sum of the `count` largest of each row of values (n, p); of all, if there are fewer."""
    first = max(values.shape[1] - count, 0)
    largest: Floats = np.partition(values, first, axis=1)[:, first:]
    return np.asarray(largest.sum(axis=1))


class Tras(Method[LocalCusums]):
    """Reads the m largest local CUSUMs and alarms on the sum of the r largest."""

    options: ClassVar[type[Settings]] = TrasSettings

    publishes_run_length: ClassVar[bool] = True

    def __init__(self, problem: Problem, settings: TrasSettings | None = None) -> None:
        super().__init__(problem)
        self.settings = settings or TrasSettings()
        self.deviation: Floats = np.sqrt(problem.variance)

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> LocalCusums:
        return start_cusums(n, self.problem.p)

    def choose(self, state: LocalCusums, rng: np.random.Generator) -> Ints:
        return top(state.larger(), self.problem.m, rng)

    def observe(
        self, state: LocalCusums, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> LocalCusums:
        read = LocalCusums(
            np.take_along_axis(state.upward, streams, axis=1),
            np.take_along_axis(state.downward, streams, axis=1),
        ).advanced(values / self.deviation[streams], self.settings.shift)
        upward = state.upward + self.settings.compensation
        downward = state.downward + self.settings.compensation
        np.put_along_axis(upward, streams, read.upward, axis=1)
        np.put_along_axis(downward, streams, read.downward, axis=1)
        return LocalCusums(upward, downward)

    def contributions(self, state: LocalCusums) -> Floats:
        return state.larger()

    def statistic(self, state: LocalCusums) -> Floats:
        return sum_of_largest(state.larger(), self.settings.summed_streams or self.problem.m)
