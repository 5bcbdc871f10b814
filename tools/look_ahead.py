"""Where to look next by the filter's posterior: the filter's own sensors, and looking ahead."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from causaldq.methods.base import Method, Problem, State, Truth
from causaldq.methods.bayes_posterior import BayesPosterior, BayesState
from causaldq.methods.information import TIE, most_informative
from causaldq.types import Floats, Ints


class UsedUp(np.ndarray[Any, np.dtype[Any]]):
    """An array that the next state takes over instead of copying it."""

    def copy(self, order: Any = "C") -> "UsedUp":
        return self


class Watch(BayesPosterior):
    """The filter, with a worth of readings that can be exchanged; a state serves once."""

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> BayesState:
        state = super().start(n, truth, rng)
        names = ("score", "information", "log_ratio", "worth", "total")
        return replace(
            state, **{name: np.array(getattr(state, name)).view(UsedUp) for name in names}
        )

    def worths(self, state: BayesState) -> Floats:
        """Of reading each stream, (n, p)."""
        return np.asarray(self.expected_worth(state))

    def choose(self, state: BayesState, rng: np.random.Generator) -> Ints:
        noise = 1.0 + TIE * rng.random((len(state.time), self.problem.p))
        return most_informative(self.covariance, self.worths(state), self.problem.m, noise=noise)


Single = npt.NDArray[np.float32]
"""Single precision is enough here, and twice as fast."""
SPACING = np.float32(1.25)
POINTS: Single = SPACING * np.arange(-4, 5, dtype=np.float32)
"""Readings that stand for all: sums over them with the normal density are almost integrals."""
SUMS: Single = SPACING * np.arange(-8, 9, dtype=np.float32)
"""Sums of two such readings."""
_BELL = np.exp(-(POINTS**2) / 2)
DENSITY: Single = np.asarray(_BELL / _BELL.sum(), np.float32)
SECOND: Single = np.array([np.pad(DENSITY, (g, 8 - g)) for g in range(9)], np.float32).T
"""(17, 9): density of a sum, by the first of its two readings."""


@dataclass(frozen=True)
class AheadState(State):
    """The filter's, and what one and two more readings would make of each stream's evidence."""

    inner: BayesState
    once: Single
    """Factors of a candidate's likelihood ratio by one reading at POINTS, (n, c, p, 9)."""
    twice: Single
    """By two readings that sum to SUMS, (n, c, p, 17); (n, c, p, 0) if one step is enough."""


class LookAhead(Method[AheadState]):
    """Worth: growth of the statistic by one reading, or two, given a change by now.

    With L(x) the likelihood ratio of a reading x of stream i, averaged over change times by their
    posterior, one reading is expected to add K_i = E0 L log L. With two steps it is worth

        K_i + E1 max(K_i(x), k_i) - max(K_i, k_i),

    K_i(x) what a second reading adds after x, and k_i what the next best stream would add instead.
    Readings are taken for those of the stream alone, with variance one. A change between the two is
    left out, and what x says about other streams by way of the change time.
    """

    def __init__(self, problem: Problem, steps: int) -> None:
        super().__init__(problem)
        self.filter, self.sums = Watch(problem), SUMS if steps == 2 else SUMS[:0]
        self.first_once = self._factors(np.zeros(()), np.zeros(()), POINTS, 1)
        self.first_twice = self._factors(np.zeros(()), np.zeros(()), self.sums, 2)

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> AheadState:
        inner = self.filter.start(n, truth, rng)
        shape, kind = inner.score.shape, np.float32
        once, twice = (np.ones((*shape, len(x)), kind) for x in (POINTS, self.sums))
        return AheadState(inner, once, twice)

    def observe(
        self, state: AheadState, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> AheadState:
        rows = np.arange(len(streams))
        begins = self.filter.times.begins(state.inner.time)
        inner = self.filter.observe(state.inner, streams, values, rng)
        state.once[rows, begins], state.twice[rows, begins] = self.first_once, self.first_twice
        place = (rows[:, None, None], np.arange(inner.score.shape[1])[:, None], streams[:, None, :])
        read = np.asarray(inner.score[place]), np.asarray(inner.information[place])
        state.once[place] = self._factors(*read, POINTS, 1)
        state.twice[place] = self._factors(*read, self.sums, 2)
        return replace(state, inner=inner)

    def statistic(self, state: AheadState) -> Floats:
        return self.filter.statistic(state.inner)

    def choose(self, state: AheadState, rng: np.random.Generator) -> Ints:
        noise = 1.0 + TIE * rng.random(state.inner.unread.shape)
        worths = self.worths(state)
        return most_informative(self.filter.covariance, worths, self.problem.m, noise=noise)

    def worths(self, state: AheadState) -> Floats:
        """Of reading each stream, (n, p)."""
        once = self._averaged(state.inner, state.once, self.first_once)
        log_once = np.log(once)
        now = (once * log_once) @ DENSITY
        if not len(self.sums):
            return np.maximum(now.astype(np.float64), TIE)
        both = self._averaged(state.inner, state.twice, self.first_twice)
        # What a second reading adds after each first one, times the first one's likelihood ratio.
        later = (both * np.log(both)) @ SECOND - log_once * (both @ SECOND)
        ranked, m = np.sort(now, axis=1), self.problem.m
        # The m-th best of the others: one further down for those among the best themselves.
        next_best = np.where(now >= ranked[:, [-m]], ranked[:, [-m - 1]], ranked[:, [-m]])
        then = np.maximum(later, once * next_best[..., None]) @ DENSITY
        gained = now + then - np.maximum(now, next_best)
        return np.asarray(np.maximum(gained, TIE), np.float64)

    def _averaged(self, inner: BayesState, factors: Single, just_now: Single) -> Single:
        """Over change times, a change at this step among them: (n, p, points)."""
        n, c, p, points = factors.shape
        log_weights = np.asarray(inner.total) + self.filter.log_span
        largest = np.maximum(log_weights.max(axis=1, keepdims=True), 0.0)
        weights = np.exp(np.hstack([log_weights, 0 * largest]) - largest)
        weights /= weights.sum(axis=1, keepdims=True)
        single = weights.astype(np.float32)
        # A product of matrices, which numpy does much faster than a sum over one of three axes.
        mean = single[:, None, :-1] @ factors.reshape(n, c, p * points)
        return np.asarray(mean.reshape(n, p, points) + single[:, -1:, None] * just_now, np.float32)

    def _factors(self, score: Floats, information: Floats, more: Single, count: int) -> Single:
        """1 - q + q LR after readings that sum to `more`, over what it was; (..., points)."""
        share = self.filter.share
        total, weight = (x.astype(np.float32)[..., None] for x in (score, information))
        before = 1 - share + share * self._ratio(total, weight)
        after = self._ratio(total + more, weight + np.float32(count))
        return np.asarray((1 - share + share * after) / before, np.float32)

    def _ratio(self, score: Single, information: Single) -> Single:
        """LR of a stream, averaged over shift sizes."""
        square, total = score**2, np.zeros(score.shape, np.float32)
        for variance in self.filter.variances.astype(np.float32):
            grown = 1 + information * variance
            total += np.exp(np.minimum(square * (variance / 2 / grown), 80)) / np.sqrt(grown)
        return total / np.float32(len(self.filter.variances))
