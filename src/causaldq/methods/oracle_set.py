"""Oracle set, a bound: the sensors sit on the shifted streams from the start."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from causaldq.methods.base import Method, Problem, State, Truth, top
from causaldq.types import Floats, Ints


@dataclass(frozen=True)
class OracleState(State):
    """What the evidence comes down to when a replication reads the same streams at every step.

    With S_Z their covariance, h = S_Z^-1 t, and K (or J, in the raw form) = w S_Z^-1.
    """

    streams: Ints
    """(n, m), the set watched throughout: shifted streams first, then others at random."""
    variances: Floats
    """Eigenvalues of S_Z, (n, m)."""
    directions: Floats
    """Its eigenvectors, one a column, (n, m, m)."""
    total: Floats
    """t, the sum of values with decaying memory, along these directions, (n, m)."""
    weight: Floats
    """w, (n,)."""


class OracleSet(Method[OracleState]):
    """What perfect sensor placement would give with the local statistic as the alarm."""

    is_bound: ClassVar[bool] = True

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.keep = 1.0 - problem.statistic.decay
        self.keep_weight = self.keep**2 if problem.statistic.form == "normalised" else self.keep

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> OracleState:
        if truth is None:
            raise ValueError("the oracle set is a bound and needs the truth")
        streams = top(truth.shifted.astype(float), self.problem.m, rng)
        block = self.problem.covariance[streams[:, :, None], streams[:, None, :]]
        variances, directions = np.linalg.eigh(block)
        return OracleState(streams, variances, directions, np.zeros(streams.shape), np.zeros(n))

    def choose(self, state: OracleState, rng: np.random.Generator) -> Ints:
        return state.streams

    def observe(
        self, state: OracleState, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> OracleState:
        along = (values[:, None, :] @ state.directions)[:, 0]
        return replace(
            state,
            total=self.keep * state.total + along,
            weight=self.keep_weight * state.weight + 1.0,
        )

    def statistic(self, state: OracleState) -> Floats:
        """h' (K + ridge I)^-1 h: the sum of Lambda_i over the set."""
        # the weight is at least one after a reading, and the total is zero before
        weight = np.maximum(state.weight, 1.0)[:, None]
        ridge = self.problem.statistic.ridge
        spread = state.variances * (weight + ridge * state.variances)
        return np.asarray((state.total**2 / spread).sum(axis=1))
