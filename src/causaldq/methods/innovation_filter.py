"""A filter over the time and kind of the change, on what a model of the plant did not expect.

Streams with memory move by themselves, so that values are compared with what the rows before lead
one to expect (`causaldq.models.state_space`). With nu the innovations of the sensors read and C
their covariance, widened by phi for the rows since each was last read, let s = C^-1 nu, k the
diagonal of C^-1 and c that of C. At one of a few candidate times, each stream changed with
probability q, in one of two ways.

Its variance rose by kappa c, kappa one of a few:

    L_kappa += (kappa c s^2 / (1 + kappa c k) - log(1 + kappa c k)) / 2

and LR is the mean of exp L over large kappa, over that of small ones: a little more variance than
the model expects is no fault. Or its mean moved by a normal amount of variance v, one of a few.
The filter takes a step in the mean for movement of the plant, up to the part g:

    S += (1 - g) s / f,  N += (1 - g)^2 k / f,  g <- a (g + K_ii (1 - g)) if read, a g if not,

and LR is the mean over v of the likelihood of a shift with variance v + b, over that with
variance b = V_ii: the mean in control is uncertain.

Alarm statistic: log of the sum over candidates of prod_i (1 - q + q LR_i). It is of Shiryaev and
Roberts' kind: a candidate begins with 1, and where two become one their parts of the sum are added
and the likelier time is kept, so that in control the sum is n on average after n steps, or less, if
the model is right, whatever is read. So an alarm at log ARL0 keeps the run length ARL0 (J. Shin, A.
Ramdas and A. Rinaldo, E-detectors, arXiv 2203.03532). The product takes what different streams show
for unrelated, as `bayes_posterior` does; where they are correlated, n on average is measured, not
proved.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from causaldq.methods.base import Method, Problem, State, Truth
from causaldq.methods.change_times import ChangeTimes, log_sum, mixed, over_times, shifted
from causaldq.methods.information import TIE, most_informative
from causaldq.models.state_space import Belief, Seen, StateSpace
from causaldq.setting import Count, NotNegative, Positive, Settings, Share
from causaldq.types import Floats, Ints

TINY = 1e-300
"""Keeps a quotient of two zeros a number."""
UNKNOWN_ROWS = 1e6
"""Rows behind a covariance that is taken as it is."""


class InnovationFilterSettings(Settings):
    """What it holds possible."""

    variances: Annotated[
        list[Positive], Field(min_length=1, description="of shifts, in stream deviations squared")
    ] = [0.03, 0.2, 1.5]
    inflations: Annotated[
        list[Positive], Field(min_length=1, description="of the variance by a fault, less one")
    ] = [2.0, 8.0, 50.0]
    harmless: Annotated[
        list[NotNegative], Field(min_length=1, description="inflations that are no fault")
    ] = [0.0, 0.25, 0.5]
    variance_share: Annotated[
        Share, Field(description="of faults that raise the variance, not the mean")
    ] = 0.3
    mean_error: Annotated[
        NotNegative, Field(description="variance of the in-control mean, in units of its error")
    ] = 1.0
    most_shifted: Annotated[
        float, Field(gt=0, lt=1, description="q is m/p, the share of sensors, but at most this")
    ] = 0.5
    levels: Annotated[
        Count, Field(description="change times 2, 4, ... 2^levels steps apart are kept")
    ] = 7
    kept: Annotated[int, Field(ge=2, description="latest change times kept of each level")] = 2


@dataclass(frozen=True)
class InnovationState(State):
    """What is expected next, and the evidence for each of c candidate times."""

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
    began: Ints
    """The candidates' times, (n, c); -1 before they begin."""
    score: Floats
    """S, (n, c, p)."""
    information: Floats
    """N, (n, c, p)."""
    absorbed: Floats
    """g, (n, c, p)."""
    inflated: Floats
    """L_kappa of faults, then of what is none, (n, c, p, kappas)."""
    log_ratio: Floats
    """log LR, (n, c, p)."""
    widened: Floats
    """Probability of a raised variance, times the log of its size, (n, c, p)."""
    moved: Floats
    """Probability of a moved mean, (n, c, p)."""
    size: Floats
    """How far it then moved, (n, c, p)."""
    total: Floats
    """Log of each candidate's part of the sum, (n, c); minus infinity before it begins."""

    @property
    def belief(self) -> Belief:
        return Belief(self.mean, self.covariance, self.unread, self.last)


BELIEF = ("mean", "covariance", "unread", "last")
"""Parts of a state that tell where the plant is."""
EVIDENCE = (
    *("began", "score", "information", "absorbed", "inflated"),
    *("log_ratio", "widened", "moved", "size", "total"),
)
"""Parts of a state with one row for each candidate time."""


class InnovationFilter(Method[InnovationState]):
    """Filter and sensors together; what it knows of the plant is `Problem.dynamics`."""

    options: ClassVar[type[Settings]] = InnovationFilterSettings
    publishes_run_length: ClassVar[bool] = True
    kinds_of_change: ClassVar[tuple[str, ...]] = ("mean up", "mean down", "variance")
    uses_dynamics: ClassVar[bool] = True
    sums_likelihood_ratios: ClassVar[bool] = True

    def __init__(self, problem: Problem, settings: InnovationFilterSettings | None = None) -> None:
        super().__init__(problem)
        self.settings = settings = settings or InnovationFilterSettings()
        self.model = problem.dynamics or _without_memory(problem)
        self.share = min(settings.most_shifted, problem.m / problem.p)
        self.kappas: Floats = np.array([*settings.inflations, *settings.harmless])
        self.null: Floats = settings.mean_error * np.diag(self.model.mean_error)
        """b, (p,)."""
        nothing = np.zeros((1, problem.p))
        no_inflation = np.zeros((1, problem.p, len(self.kappas)))
        every = np.arange(problem.p)[None]
        _, *unread = self._judged(nothing, nothing, no_inflation, every)
        self.unread: list[Floats] = unread
        """widened, moved and size (1, p) of streams that nothing is known of."""

    @classmethod
    def rebuilt(
        cls, problem: Problem, options: Mapping[str, Any], learned: Mapping[str, npt.NDArray[Any]]
    ) -> "InnovationFilter":
        model = StateSpace(**learned) if learned else problem.dynamics
        return cls(replace(problem, dynamics=model), cls.options.model_validate(options))  # type: ignore[arg-type]

    def learned(self) -> Mapping[str, npt.NDArray[Any]]:
        """The plant's model."""
        return {} if self.problem.dynamics is None else self.model.arrays()

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> InnovationState:
        c, p = self.settings.levels * self.settings.kept, self.problem.p
        belief, nothing = self.model.start(n), np.zeros((n, c, p))
        return InnovationState(
            time=np.zeros(n, dtype=np.int64),
            mean=belief.mean,
            covariance=belief.covariance,
            unread=belief.unread,
            last=belief.last,
            began=np.full((n, c), -1, dtype=np.int64),
            score=nothing,
            information=nothing,
            absorbed=nothing,
            inflated=np.zeros((n, c, p, len(self.kappas))),
            log_ratio=nothing,
            widened=nothing,
            moved=nothing,
            size=nothing,
            total=np.full((n, c), -np.inf),
        )

    def again(
        self, state: InnovationState, rows: Ints, truth: Truth | None, rng: np.random.Generator
    ) -> InnovationState:
        """Evidence begins anew; what is expected next stays.

        A plant that has strayed would look like a change again to one who expects its mean.
        """
        known = state.take(rows)
        fresh = self.start(len(rows), truth, rng)
        return state.put(rows, replace(fresh, **{k: getattr(known, k) for k in BELIEF}))

    def choose(self, state: InnovationState, rng: np.random.Generator) -> Ints:
        noise = 1.0 + TIE * rng.random((len(state.time), self.problem.p))
        expected = state.covariance + self.model.r
        return most_informative(expected, self.worth(state), self.problem.m, noise=noise)

    def worth(self, state: InnovationState) -> Floats:
        """What reading each stream is expected to be worth, (n, p), in units of information.

        A mean that moved shows in the next innovation with what is not absorbed of it.
        """
        variance = np.diagonal(state.covariance, axis1=1, axis2=2) + np.diag(self.model.r)
        spread = np.sqrt(variance)
        seen = state.size * (1.0 - state.absorbed) / spread[:, None]
        widened, moved, size = self.unread
        worth = over_times(
            state.total,
            state.widened + state.moved * np.log1p(seen),
            widened + moved * np.log1p(size / spread),
        )
        return np.asarray(worth * variance * np.minimum(1.0, state.unread / self.model.period))

    def observe(
        self, state: InnovationState, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> InnovationState:
        n, c, p = state.score.shape
        widths = np.sqrt(self.model.gap_factor(state.unread))
        belief, seen = self.model.observe(state.belief, streams, values)
        state = self._begun(state)
        inflated, log_ratio, total = state.inflated, state.log_ratio, state.total
        # Places in arrays laid out flat: numpy reads and writes faster there than at three indices.
        place = np.arange(0, n * c * p, p).reshape(n, c, 1) + streams[:, None, :]
        s, k, size = _weighed(seen, np.take_along_axis(widths, streams, axis=1))

        growth = self.kappas * (size * k)[:, :, None]
        scaled = self.kappas * (size * s**2)[:, :, None]
        step = (scaled / (1.0 + growth) - np.log1p(growth)) / 2
        read_inflated = inflated.reshape(-1, len(self.kappas))[place] + step[:, None]
        left = 1.0 - state.absorbed.take(place)
        excess = self.model.excess[streams][:, None]
        read_score = state.score.take(place) + left * s[:, None] / excess
        read_information = state.information.take(place) + left**2 * k[:, None] / excess

        before = log_ratio.take(place)
        read_ratio, *judged = self._judged(
            read_score, read_information, read_inflated, streams[:, None]
        )
        inflated.reshape(-1, len(self.kappas))[place] = read_inflated
        for part, read in zip(
            (state.score, state.information, log_ratio, state.widened, state.moved, state.size),
            (read_score, read_information, read_ratio, *judged),
            strict=True,
        ):
            part.reshape(-1)[place] = read
        total += (mixed(read_ratio, self.share) - mixed(before, self.share)).sum(axis=2)
        return replace(
            state,
            time=state.time + 1,
            mean=belief.mean,
            covariance=belief.covariance,
            unread=belief.unread,
            last=belief.last,
            absorbed=self._absorbed(state.absorbed, place, left, seen, streams),
        )

    def statistic(self, state: InnovationState) -> Floats:
        return log_sum(state.total)

    def contributions(self, state: InnovationState) -> Floats:
        return self.posterior(state)

    def posterior(self, state: InnovationState) -> Floats:
        """Probability that each stream has changed, given a change by now, (n, p)."""
        return over_times(state.total, shifted(state.log_ratio, self.share), self.share)

    def kinds(self, state: InnovationState) -> Floats:
        """The same by kind of change, (n, p, 3)."""
        every = np.arange(self.problem.p)[None, None]
        moved, *_ = self._ratios(state.score, state.information, state.inflated, every)
        by_mean = np.exp(np.logaddexp.reduce(moved, axis=-1) - state.log_ratio)
        changed = shifted(state.log_ratio, self.share)
        up, widens = state.score > 0, self.settings.variance_share
        parts = (by_mean * up, by_mean * ~up, 1.0 - by_mean)
        beforehand = ((1.0 - widens) / 2, (1.0 - widens) / 2, widens)
        found = [
            over_times(state.total, changed * part, self.share * before)
            for part, before in zip(parts, beforehand, strict=True)
        ]
        return np.stack(found, axis=-1)

    # --- parts of a step -----------------------------------------------------------------------

    def _begun(self, state: InnovationState) -> InnovationState:
        """A copy in which a change at this step is a candidate.

        The one that gives way and the next younger become one.
        """
        rows = np.arange(len(state.time))
        state = replace(state, **{name: getattr(state, name).copy() for name in EVIDENCE})
        slot = ChangeTimes(self.settings.levels, self.settings.kept).begins(state.time)
        old = state.began[rows, slot]
        later = np.where(state.began > old[:, None], state.began, np.iinfo(np.int64).max)
        heir = later.argmin(axis=1)
        joined = np.logaddexp(state.total[rows, slot], state.total[rows, heir])
        kept = np.flatnonzero((old >= 0) & (state.total[rows, slot] > state.total[rows, heir]))
        for name in EVIDENCE:
            part = getattr(state, name)
            part[kept, heir[kept]] = part[kept, slot[kept]]
            part[rows, slot] = 0
        state.total[rows, heir] = np.where(old >= 0, joined, state.total[rows, heir])
        state.total[rows, slot] = 0.0
        for name, unread in zip(("widened", "moved", "size"), self.unread, strict=True):
            getattr(state, name)[rows, slot] = unread
        state.began[rows, slot] = state.time
        return state

    def _absorbed(
        self, absorbed: Floats, place: Ints, left: Floats, seen: Seen, streams: Ints
    ) -> Floats:
        """g (n, c, p) after the readings."""
        own = np.take_along_axis(seen.gain, streams[:, None, :], axis=1)[:, 0]
        absorbed.reshape(-1)[place] += own[:, None] * left
        return np.asarray(absorbed * self.model.a, np.float64)

    def _ratios(
        self, score: Floats, information: Floats, inflated: Floats, streams: Ints
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Log parts of LR (..., v) and (..., kappa), and the mean and variance of a shift."""
        null = self.null[streams][..., None]
        wide = np.array(self.settings.variances) + null
        score, information = score[..., None], information[..., None]
        grown, known = 1.0 + information * wide, 1.0 + information * null
        variance = wide / grown
        moved = (np.log(known / grown) + score**2 * (variance - null / known)) / 2
        faults = len(self.settings.inflations)
        harmless = inflated[..., faults:]
        usual = np.logaddexp.reduce(harmless, axis=-1) - np.log(harmless.shape[-1])
        widened = inflated[..., :faults] - usual[..., None]
        share = self.settings.variance_share
        return (
            moved + np.log((1.0 - share) / moved.shape[-1]),
            widened + np.log(share / faults),
            score * variance,
            variance,
        )

    def _judged(
        self, score: Floats, information: Floats, inflated: Floats, streams: Ints
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """log LR, and `widened`, `moved` and `size` of the state."""
        moved, widened, mean, variance = self._ratios(score, information, inflated, streams)
        logs = np.concatenate([moved, widened], axis=-1)
        largest = logs.max(axis=-1, keepdims=True)
        weights = np.exp(logs - largest)
        sum_of_weights = weights.sum(axis=-1)
        log_ratio = largest[..., 0] + np.log(sum_of_weights)
        changed = shifted(log_ratio, self.share) / sum_of_weights
        by_mean, by_variance = np.split(weights, [moved.shape[-1]], axis=-1)
        sizes = np.log1p(np.sqrt(self.settings.inflations))
        total = by_mean.sum(axis=-1)
        square = ((mean**2 + variance) * by_mean).sum(axis=-1) / np.maximum(total, TINY)
        return log_ratio, changed * (by_variance @ sizes), changed * total, np.sqrt(square)


def _weighed(seen: Seen, width: Floats) -> tuple[Floats, Floats, Floats]:
    """s, k and c (n, k), of innovations whose deviations are so much wider than the model's."""
    s = (seen.precision @ (seen.innovation / width)[:, :, None])[:, :, 0] / width
    k = np.diagonal(seen.precision, axis1=1, axis2=2) / width**2
    c = np.diagonal(seen.covariance, axis1=1, axis2=2) * width**2
    return s, np.where(seen.news, k, 0.0), c


def _without_memory(problem: Problem) -> StateSpace:
    ridge = problem.statistic.ridge * np.diag(np.diag(problem.covariance))
    return StateSpace.independent(problem.covariance + ridge, rows=UNKNOWN_ROWS)
