"""ASMP: local CUSUMs of profile scores, with the unread scores drawn at random.

J. Yao, X. Xian and C. Wang (2023). Adaptive sampling for monitoring multi-profile data with
within-and-between profile correlation. Technometrics 65(3), 375-387.
"""

from collections.abc import Callable
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from causaldq.calibration import CalibrationSettings
from causaldq.methods.base import Method, Problem, Truth, top
from causaldq.methods.profiles import PhaseOne
from causaldq.methods.tras import LocalCusums, start_cusums
from causaldq.setting import Positive, Settings, Share
from causaldq.types import Floats, Ints


class AsmpSettings(Settings):
    """Adaptive sampling for multi-profile monitoring."""

    shift: Annotated[Positive, Field(description="u, shift looked for, in deviations")] = 1.5
    limit_level: Annotated[
        Share, Field(description="quantile of in-control statistics that is its published limit")
    ] = 0.995


class Asmp(Method[LocalCusums]):
    """Reads the m largest local CUSUMs and alarms on their norm under the correlation."""

    options: ClassVar[type[Settings]] = AsmpSettings

    def __init__(self, problem: Problem, settings: AsmpSettings | None = None) -> None:
        super().__init__(problem)
        self.settings = settings or AsmpSettings()
        self.phase_one = PhaseOne.of_scalars(problem.matrix)
        ridge = problem.statistic.ridge * np.eye(problem.p)
        self.factor = np.linalg.cholesky(self.phase_one.correlation + ridge)
        self.whitening = np.linalg.inv(self.factor)

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> LocalCusums:
        return start_cusums(n, self.problem.p)

    def choose(self, state: LocalCusums, rng: np.random.Generator) -> Ints:
        return top(state.larger(), self.problem.m, rng)

    def observe(
        self, state: LocalCusums, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> LocalCusums:
        """Unread streams take the entries of a whole vector drawn from N(0, Corr).

        The draw is not conditioned on what was read: that is how the publication has it.
        """
        scores: Floats = rng.standard_normal(state.upward.shape) @ self.factor.T
        scale = self.phase_one.directions[:, 0]
        np.put_along_axis(scores, streams, values * scale[streams], axis=1)
        return state.advanced(scores, self.settings.shift)

    def contributions(self, state: LocalCusums) -> Floats:
        return state.larger()

    def statistic(self, state: LocalCusums) -> Floats:
        """sqrt(W' Corr^-1 W)."""
        norm: Floats = np.linalg.norm(state.larger() @ self.whitening.T, axis=1)
        return norm

    def published_limit(
        self, in_control: Callable[[], Floats], settings: CalibrationSettings
    ) -> float:
        """A quantile over all in-control statistics, whatever their path and step.

        Statistics of neighbouring steps are dependent, so that the run length this gives
        is not the inverse of the level.
        """
        return float(np.quantile(in_control(), self.settings.limit_level))
