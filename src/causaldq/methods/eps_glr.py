"""An epsilon-greedy bandit on generalised likelihood ratios.

A. Gopalan, B. Lakshminarayanan and V. Saligrama (2021). Bandit quickest changepoint detection.
Advances in Neural Information Processing Systems 34; arXiv 2107.10492.
J. Kartzman, C. Hawkins and M. Hale (2026). Approximately optimal multi-stream quickest change
detection. arXiv 2601.22561.

A stream's generalised likelihood ratio is that of a shift by any amount since any of its own
readings; in deviations of the stream,

    g_k = max_j (z_k + ... of its latest j readings)^2 / (2 j).

A sensor explores with probability epsilon, and reads any stream; otherwise it exploits, and reads
one of the largest g_k. The alarm statistic is the sum of the r largest: the ratio for r shifted
streams, each by an amount and since a time of its own.

With one sensor and r = 1 this is the setting of the publications; m sensors, and r = m as for the
other baselines, are ours. The amount is unknown, as in the second one; epsilon is constant, as in
the first, since a rate that decays with the time watched would favour changes that come early.
Its size was chosen in its favour, on streams that no table shows. The oldest reading that counts
is ours too, and bounds the work of a step: fifty readings hold log(200) of evidence for a shift of
half a deviation.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from causaldq.methods.base import Method, Problem, State, Truth, largest
from causaldq.methods.tras import sum_of_largest
from causaldq.setting import Count, Settings, Share
from causaldq.types import Floats, Ints


class EpsGlrSettings(Settings):
    """Epsilon-greedy on generalised likelihood ratios."""

    exploration: Annotated[
        Share, Field(description="epsilon, probability that a sensor explores")
    ] = 0.4
    window: Annotated[
        Count, Field(description="latest readings of a stream since which it may have shifted")
    ] = 50
    summed_streams: Annotated[
        Count | None, Field(description="r, streams summed in the alarm; null: one a sensor")
    ] = None


@dataclass(frozen=True)
class EpsGlrState(State):
    """Readings of each stream, summed, and their likelihood ratio."""

    sums: Floats
    """Of the latest 1, 2, ... readings, (n, p, window); of all, where there are fewer."""
    log_ratio: Floats
    """g_k, (n, p)."""


class EpsGlr(Method[EpsGlrState]):
    """Reads the largest likelihood ratios but for sensors that explore; alarms on their sum."""

    options: ClassVar[type[Settings]] = EpsGlrSettings

    publishes_run_length: ClassVar[bool] = True

    def __init__(self, problem: Problem, settings: EpsGlrSettings | None = None) -> None:
        super().__init__(problem)
        self.settings = settings or EpsGlrSettings()
        self.deviation: Floats = np.sqrt(problem.variance)
        self.readings: Floats = np.arange(1.0, self.settings.window + 1)

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> EpsGlrState:
        p = self.problem.p
        return EpsGlrState(np.zeros((n, p, self.settings.window)), np.zeros((n, p)))

    def choose(self, state: EpsGlrState, rng: np.random.Generator) -> Ints:
        """Sensors that explore read streams that those that exploit do not."""
        n, p = state.log_ratio.shape
        exploring = (rng.random((n, self.problem.m)) < self.settings.exploration).sum(axis=1)
        ties, chance = rng.random((n, p)), rng.random((n, p))
        place = np.argsort(np.lexsort((ties, -state.log_ratio), axis=1), axis=1)
        exploited = place < self.problem.m - exploring[:, None]
        return largest(np.where(exploited, 1.0, chance), self.problem.m, ties)

    def observe(
        self, state: EpsGlrState, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> EpsGlrState:
        rows = np.arange(len(streams))[:, None]
        read = np.repeat((values / self.deviation[streams])[:, :, None], len(self.readings), axis=2)
        read[:, :, 1:] += state.sums[rows, streams, :-1]
        sums, log_ratio = state.sums.copy(), state.log_ratio.copy()
        sums[rows, streams] = read
        log_ratio[rows, streams] = (read**2 / (2 * self.readings)).max(axis=2)
        return EpsGlrState(sums, log_ratio)

    def contributions(self, state: EpsGlrState) -> Floats:
        return state.log_ratio

    def statistic(self, state: EpsGlrState) -> Floats:
        return sum_of_largest(state.log_ratio, self.settings.summed_streams or self.problem.m)
