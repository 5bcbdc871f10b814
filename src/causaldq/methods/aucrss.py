"""An upper-confidence bandit on what a state-space model of the rows did not expect.

H. Xu, X. Xian, C. Zhang and K. Liu (2024). Partially-observable sequential change-point detection
for autocorrelated data via upper confidence region (AUCRSS). arXiv 2404.00220.

A method after that publication, of which we could read the abstract only: a Kalman filter that
reads some of the streams, a generalised likelihood ratio test on it, and sensors by an adaptive
upper confidence region, as in the bandit `cmab` by some of the same authors. What follows is ours.
With Z the streams read, nu their innovations and C_Z the covariance of those, memory decays:

    h <- (1 - lambda) h + E' C_Z^-1 nu        J <- (1 - lambda) J + E' C_Z^-1 E.

The likelihood ratio of a shift that the filter takes no account of, at its largest, has the
logarithm h' J^-1 h / 2; twice that is the alarm statistic. Shifts that the readings allow lie about
mu = J^-1 h, with covariance V = J^-1; sensors go where the next innovation could tell most,

    (|mu_i| + sqrt(gamma_n V_ii))^2 / C_ii,

gamma_n that of `cmab` and C_ii the variance of what stream i is expected to show next. On rows
without memory whose variances are one it is `cmab`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from causaldq.methods.base import Method, Problem, State, Truth, top
from causaldq.methods.cmab import CmabSettings, confidence
from causaldq.models.state_space import Belief, StateSpace
from causaldq.setting import Settings
from causaldq.statistic import inverse_positive
from causaldq.types import Floats, Ints


class AucrssSettings(CmabSettings):
    """Upper confidence region with a state-space model."""


@dataclass(frozen=True)
class AucrssState(State):
    """What is expected next, and the evidence for a shift."""

    time: Ints
    """Steps so far, (n,)."""
    mean: Floats
    """Belief.mean, (n, p)."""
    covariance: Floats
    """Belief.covariance, (n, p, p)."""
    unread: Ints
    """Belief.unread, (n, p)."""
    last: Floats
    """Belief.last, (n, p)."""
    score: Floats
    """h, (n, p)."""
    information: Floats
    """J, (n, p, p)."""
    shift: Floats
    """mu = J^-1 h, (n, p)."""
    variance: Floats
    """V_ii, (n, p)."""


class Aucrss(Method[AucrssState]):
    """Reads where an innovation could tell most; alarms on the generalised likelihood ratio."""

    options: ClassVar[type[Settings]] = AucrssSettings
    publishes_run_length: ClassVar[bool] = True
    uses_dynamics: ClassVar[bool] = True

    def __init__(self, problem: Problem, settings: AucrssSettings | None = None) -> None:
        super().__init__(problem)
        self.settings = settings or AucrssSettings()
        self.model = problem.dynamics or StateSpace.independent(problem.covariance, np.inf)

    @classmethod
    def rebuilt(
        cls, problem: Problem, options: Mapping[str, Any], learned: Mapping[str, npt.NDArray[Any]]
    ) -> Self:
        model = StateSpace(**learned) if learned else problem.dynamics
        known = Problem(problem.covariance, problem.m, problem.statistic, problem.graphs, model)
        return cls(known, AucrssSettings.model_validate(options))

    def learned(self) -> Mapping[str, npt.NDArray[Any]]:
        """The plant's model."""
        return {} if self.problem.dynamics is None else self.model.arrays()

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> AucrssState:
        p = self.problem.p
        nothing, belief = np.zeros((n, p)), self.model.start(n)
        return AucrssState(
            np.zeros(n, dtype=np.int64),
            *(belief.mean, belief.covariance, belief.unread, belief.last),
            nothing,
            np.zeros((n, p, p)),
            nothing,
            np.full((n, p), 1.0 / self.problem.statistic.ridge),
        )

    def choose(self, state: AucrssState, rng: np.random.Generator) -> Ints:
        gamma = confidence(np.maximum(state.time, 1), self.settings.decay)[:, None]
        expected = np.diagonal(state.covariance, axis1=1, axis2=2) + np.diag(self.model.r)
        bound = np.abs(state.shift) + np.sqrt(gamma * state.variance)
        return top(bound / np.sqrt(expected), self.problem.m, rng)

    def observe(
        self, state: AucrssState, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> AucrssState:
        rows, kept = np.arange(len(streams))[:, None], 1.0 - self.settings.decay
        belief = Belief(state.mean, state.covariance, state.unread, state.last)
        belief, seen = self.model.observe(belief, streams, values)
        score, information = kept * state.score, kept * state.information
        told = (seen.precision @ seen.innovation[:, :, None])[:, :, 0]
        both = seen.news[:, :, None] & seen.news[:, None, :]
        score[rows, streams] += told
        information[rows[:, :, None], streams[:, :, None], streams[:, None, :]] += np.where(
            both, seen.precision, 0.0
        )
        # The ridge is a prior that says next to nothing: what was never read is read first.
        ridge = self.problem.statistic.ridge * np.eye(self.problem.p)
        posterior = inverse_positive(information + ridge)
        return AucrssState(
            state.time + 1,
            *(belief.mean, belief.covariance, belief.unread, belief.last),
            score,
            information,
            (posterior @ score[:, :, None])[:, :, 0],
            np.diagonal(posterior, axis1=1, axis2=2).copy(),
        )

    def contributions(self, state: AucrssState) -> Floats:
        return state.shift * state.score

    def statistic(self, state: AucrssState) -> Floats:
        return np.asarray(self.contributions(state).sum(axis=1))
