"""CMAB: read the streams whose mean could be largest, as a combinatorial bandit would.

C. Zhang and S. C. H. Hoi (2019). Partially observable multi-sensor sequential change
detection: a combinatorial multi-armed bandit approach. Proceedings of the AAAI Conference
on Artificial Intelligence 33(1), 5733-5740.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from causaldq.methods.base import Method, Problem, State, Truth, top
from causaldq.setting import Settings, Share
from causaldq.statistic import Evidence, LocalStatistic, StatisticSettings, posterior
from causaldq.types import Floats, Ints


class CmabSettings(Settings):
    """Combinatorial multi-armed bandit."""

    decay: Annotated[Share, Field(description="lambda, the share of memory lost at each step")] = (
        0.1
    )


@dataclass(frozen=True)
class CmabState(State):
    """Evidence so far, and the posterior it implies."""

    evidence: Evidence
    mean: Floats
    """mu_i, posterior mean, (n, p)."""
    variance: Floats
    """V_ii, posterior variance, (n, p); largest for streams never read."""
    steps: Ints
    """Steps so far, (n,)."""


class Cmab(Method[CmabState]):
    """Ranks streams by ``|mu_i| + sqrt(gamma_n V_ii)``; alarms on mu' V^-1 mu."""

    options: ClassVar[type[Settings]] = CmabSettings

    def __init__(self, problem: Problem, settings: CmabSettings | None = None) -> None:
        super().__init__(problem)
        self.settings = settings or CmabSettings()
        own = StatisticSettings(
            decay=self.settings.decay, form="raw", ridge=problem.statistic.ridge
        )
        self.local = LocalStatistic(problem.covariance, own)

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> CmabState:
        evidence = self.local.start(n)
        return CmabState(evidence, *self._posterior(evidence), np.zeros(n, dtype=np.int64))

    def choose(self, state: CmabState, rng: np.random.Generator) -> Ints:
        # gamma is not defined before the first step, where all streams are alike anyway
        gamma = confidence(np.maximum(state.steps, 1), self.settings.decay)
        bound = np.abs(state.mean) + np.sqrt(gamma[:, None] * state.variance)
        return top(bound, self.problem.m, rng)

    def observe(
        self, state: CmabState, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> CmabState:
        evidence = self.local.update(state.evidence, streams, values)
        return CmabState(evidence, *self._posterior(evidence), state.steps + 1)

    def contributions(self, state: CmabState) -> Floats:
        return state.mean * state.evidence.h

    def statistic(self, state: CmabState) -> Floats:
        """mu' V^-1 mu over everything ever read; V^-1 mu is h."""
        value: Floats = (state.mean * state.evidence.h).sum(axis=1)
        return value

    def _posterior(self, evidence: Evidence) -> tuple[Floats, Floats]:
        """mu and the diagonal of V = J^-1, (n, p) each.

        The ridge acts as a prior that says next to nothing: a stream never read keeps its
        variance, the largest of all, and is read before any other.

        V is found afresh at every step. Updating it by m x m solves would save little, as m is
        a good part of p, and with decaying memory any asymmetry that rounding leaves in V
        grows until it diverges.
        """
        ridge = self.local.settings.ridge
        if self.local.independent:
            variance = 1.0 / (evidence.j + ridge)
            return variance * evidence.h, variance
        mean, variance = np.zeros_like(evidence.h), np.full_like(evidence.h, 1.0 / ridge)
        known = evidence.known
        mean[:, known], variance[:, known] = posterior(evidence.j, ridge, evidence.h[:, known])
        return mean, variance


def confidence(steps: Ints, decay: float) -> Floats:
    """gamma_n = 2 log((1 - (1-lambda)^n) / lambda^2), (n,)."""
    return np.asarray(2 * np.log((1 - (1 - decay) ** steps) / decay**2))
