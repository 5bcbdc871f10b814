"""Oracle set, a bound: the sensors sit on the shifted streams from the start."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from causaldq.methods.base import Method, Problem, State, Truth, top
from causaldq.methods.local import LocalMethod, LocalState
from causaldq.types import Floats, Ints


@dataclass(frozen=True)
class OracleState(State):
    local: LocalState
    streams: Ints
    """(n, m), the set watched throughout: shifted streams first, then others at random."""


class OracleSet(Method[OracleState]):
    """What perfect sensor placement would give with the same alarm statistic."""

    is_bound: ClassVar[bool] = True

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.inner = _FixedSet(problem)

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> OracleState:
        if truth is None:
            raise ValueError("the oracle set is a bound and needs the truth")
        streams = top(truth.shifted.astype(float), self.problem.m, rng)
        return OracleState(self.inner.start(n, None, rng), streams)

    def choose(self, state: OracleState, rng: np.random.Generator) -> Ints:
        return state.streams

    def observe(
        self, state: OracleState, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> OracleState:
        return OracleState(self.inner.observe(state.local, streams, values, rng), state.streams)

    def statistic(self, state: OracleState) -> Floats:
        return self.inner.statistic(state.local)


class _FixedSet(LocalMethod):
    def choose(self, state: LocalState, rng: np.random.Generator) -> Ints:
        return state.selected
