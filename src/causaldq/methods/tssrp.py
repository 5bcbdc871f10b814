"""TSSRP: Thompson sampling on Shiryaev-Roberts-Pollak statistics.

W. Zhang and Y. Mei (2023). Bandit change-point detection for real-time monitoring
high-dimensional data under sampling control. Technometrics 65(1), 33-43; arXiv 2009.11891.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from causaldq.methods.base import Method, Problem, State, Truth, top
from causaldq.methods.tras import sum_of_largest
from causaldq.setting import Count, Positive, Settings
from causaldq.types import Floats, Ints


class TssrpSettings(Settings):
    """Thompson sampling on Shiryaev-Roberts-Pollak statistics."""

    shift: Annotated[Positive, Field(description="mu1, shift looked for, in deviations")] = 1.0
    summed_streams: Annotated[
        Count | None, Field(description="r, streams summed in the alarm; null: one a sensor")
    ] = None


@dataclass(frozen=True)
class TssrpState(State):
    """Logarithms of the local statistics: they grow geometrically after a change."""

    upward: Floats
    """log R for a mean of +mu1, (n, p)."""
    downward: Floats
    """log R for a mean of -mu1, (n, p)."""

    def together(self) -> Floats:
        """log(R+ + R-), (n, p)."""
        return log_sum(self.upward, self.downward)


def log_sum(first: Floats, second: Floats | float) -> Floats:
    """log(exp(first) + exp(second)), faster than numpy's own and as good beside values near 1."""
    rest: Floats = np.exp(-np.abs(first - second))
    return np.maximum(first, second) + np.log(1.0 + rest)


class Tssrp(Method[TssrpState]):
    """Reads the m largest local statistics and alarms on the sum of the r largest logs."""

    options: ClassVar[type[Settings]] = TssrpSettings

    publishes_run_length: ClassVar[bool] = True

    def __init__(self, problem: Problem, settings: TssrpSettings | None = None) -> None:
        super().__init__(problem)
        self.settings = settings or TssrpSettings()
        self.deviation: Floats = np.sqrt(problem.variance)

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> TssrpState:
        """Random starts, after Pollak: they carry the randomness of Thompson sampling.

        Pollak draws R from its quasi-stationary law. For a high limit that law nears the
        stationary one, whose diffusion limit has the closed form used here: R is
        2 / mu1^2 divided by a standard exponential (Polunchenko 2017, arXiv 1606.06658).
        """
        size = (2, n, self.problem.p)
        log_r = np.log(2 / self.settings.shift**2) - np.log(rng.standard_exponential(size))
        return TssrpState(log_r[0], log_r[1])

    def choose(self, state: TssrpState, rng: np.random.Generator) -> Ints:
        return top(state.together(), self.problem.m, rng)

    def observe(
        self, state: TssrpState, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> TssrpState:
        """R <- R + 1 for all, times the likelihood ratio for those read."""
        shift = self.settings.shift
        gain = np.zeros_like(state.upward)
        np.put_along_axis(gain, streams, shift * values / self.deviation[streams], axis=1)
        allowance = np.zeros_like(gain)
        np.put_along_axis(allowance, streams, shift**2 / 2, axis=1)
        return TssrpState(
            log_sum(state.upward, 0.0) + gain - allowance,
            log_sum(state.downward, 0.0) - gain - allowance,
        )

    def contributions(self, state: TssrpState) -> Floats:
        return state.together()

    def statistic(self, state: TssrpState) -> Floats:
        return sum_of_largest(state.together(), self.settings.summed_streams or self.problem.m)
