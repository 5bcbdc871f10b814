"""Full observation, a bound: all p streams are read at every step."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from causaldq.methods.base import Method, Problem, State, Truth
from causaldq.types import Floats, Ints


@dataclass(frozen=True)
class FullState(State):
    """What the evidence comes down to when every step reads the same streams.

    With S the whole covariance, h = S^-1 t, and K (or J, in the raw form) = w S^-1.
    """

    total: Floats
    """t, the sum of values with decaying memory, (n, p)."""
    weight: Floats
    """w, (n,)."""


class FullObservation(Method[FullState]):
    """The local statistic summed over all streams: what more sensors would give."""

    is_bound: ClassVar[bool] = True

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.whitening = np.linalg.inv(np.linalg.cholesky(problem.covariance))
        self.keep = 1.0 - problem.statistic.decay
        self.keep_weight = self.keep**2 if problem.statistic.form == "normalised" else self.keep

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> FullState:
        return FullState(np.zeros((n, self.problem.p)), np.zeros(n))

    def choose(self, state: FullState, rng: np.random.Generator) -> Ints:
        """All streams, (n, p): the one method that is not held to m."""
        return np.tile(np.arange(self.problem.p), (len(state.weight), 1))

    def observe(
        self, state: FullState, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> FullState:
        total = self.keep * state.total
        rows = np.arange(len(total))[:, None]
        total[rows, streams] += values
        return FullState(total, self.keep_weight * state.weight + 1.0)

    def statistic(self, state: FullState) -> Floats:
        """h' K^-1 h = t' S^-1 t / w."""
        whitened = state.total @ self.whitening.T
        # the weight is at least one after a reading, and the total is zero before
        return np.asarray((whitened**2).sum(axis=1) / np.maximum(state.weight, 1.0))
