"""Methods that monitor the local statistic; they differ in the sensors they choose."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from causaldq.methods.base import Method, Problem, State, Truth
from causaldq.statistic import Evidence, LocalStatistic
from causaldq.types import Floats, Ints


@dataclass(frozen=True)
class LocalState(State):
    """Evidence so far, and what was last read."""

    evidence: Evidence
    contributions: Floats
    """Lambda_i, (n, p)."""
    unobserved: Floats
    """Y_i, steps since stream i was last read, (n, p)."""
    selected: Ints
    """(n, m), the streams last read."""


class LocalMethod(Method[LocalState]):
    """The alarm of the paper: the sum of Lambda_i over the selected streams."""

    alarm: ClassVar[Literal["selected_sum", "mixture"]] = "selected_sum"
    mixture_share: ClassVar[float] = 0.2
    """Prior share of shifted streams in the `mixture` alarm."""

    def __init__(self, problem: Problem, *, with_mean: bool = False) -> None:
        super().__init__(problem)
        self.local = LocalStatistic(problem.covariance, problem.statistic, with_mean=with_mean)

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> LocalState:
        return start_local(self.local, n, self.problem.m)

    def observe(
        self, state: LocalState, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> LocalState:
        return observe_local(self.local, state, streams, values)

    def contributions(self, state: LocalState) -> Floats:
        return state.contributions

    def statistic(self, state: LocalState) -> Floats:
        if self.alarm == "mixture":
            q = self.mixture_share
            shifted = np.log(q) + state.contributions / 2
            mixed: Floats = np.logaddexp(np.log1p(-q), shifted).sum(axis=1)
            return mixed
        selected = np.take_along_axis(state.contributions, state.selected, axis=1)
        return np.asarray(selected.sum(axis=1), np.float64)


def start_local(local: LocalStatistic, n: int, m: int) -> LocalState:
    """State before anything is read."""
    p = len(local.covariance)
    return LocalState(
        evidence=local.start(n),
        contributions=np.zeros((n, p)),
        unobserved=np.zeros((n, p)),
        selected=np.zeros((n, m), dtype=np.int64),
    )


def observe_local(
    local: LocalStatistic, state: LocalState, streams: Ints, values: Floats
) -> LocalState:
    """Take in one step of readings."""
    evidence = local.update(state.evidence, streams, values)
    unobserved = state.unobserved + 1.0
    if streams.shape[1] == 0:
        # Nothing was read: the alarm goes on from the streams read last.
        return replace(
            state,
            evidence=evidence,
            contributions=local.contributions(evidence),
            unobserved=unobserved,
        )
    unobserved[np.arange(len(streams))[:, None], streams] = 0.0
    return replace(
        state,
        evidence=evidence,
        contributions=local.contributions(evidence),
        unobserved=unobserved,
        selected=streams,
    )
