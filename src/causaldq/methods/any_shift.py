"""Shifts of any kind: several families of hypotheses in one Shiryaev-Roberts sum.

Nobody knows beforehand whether one stream will shift or half of them, whether they shift by
related amounts, or whether all follow from one root cause. Each is a family f of hypotheses with
a prior weight pi_f, the weights sum to one, and the alarm statistic is

    log sum_f pi_f R_f,

R_f the likelihood ratio of the family summed over all times at which the change may have come.
The evidence decides which family the alarm comes from.

Own sizes and one size: the change came to all shifted streams at one of a few candidate times,
and each stream shifted with probability q, by a normal amount of variance v. With the sums S_i
and N_i since then, and their likelihood ratio LR_iv, as in `bayes_posterior`,

    own sizes   prod_i (1 - q + q mean_v LR_iv)             q = m/p, but at most one half
    one size    mean over v and q of prod_i (1 - q + q LR_iv)

Where many streams shift by amounts that are alike, they tell the size together, and one size is
the earlier.

Root causes: one stream shifted, and others with it as the correlations or, if the problem has
graphs, its causal effects say: `causal_sr`.

Sensors: the set that is expected to tell most, `most_informative`. Each kind of hypothesis has
its own weights for where to look: streams by how far they are believed to be off, as in
`bayes_posterior`, and root causes as in `causal_sr`. Scaled to a sum of one, they are mixed in
proportion to the evidence 1 + R for each kind, in which root causes are given a head start: their
weights do well where many streams shift, too, while weights that expect many lose where there is
one cause.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from causaldq.methods.base import Method, Problem, State, Truth
from causaldq.methods.causal_sr import CausalSr, CausalSrSettings, CausalSrState
from causaldq.methods.causal_sr_no_graph import CausalSrNoGraph
from causaldq.methods.change_times import ChangeTimes
from causaldq.methods.information import TIE, most_informative
from causaldq.setting import Count, Positive, Settings, Share
from causaldq.statistic import inverse_positive
from causaldq.types import Floats, Ints

LARGEST = 300.0
"""Log likelihood ratios end here, far beyond any limit, so that numbers stay finite."""


class AnyShiftSettings(Settings):
    """What it holds possible, and how likely beforehand."""

    own_sizes: Annotated[Positive, Field(description="prior weight: each its own size")] = 1.0
    one_size: Annotated[Positive, Field(description="prior weight: one size for all")] = 1.0
    root_causes: Annotated[Positive, Field(description="prior weight: one root cause")] = 1.0
    variances: Annotated[
        list[Positive], Field(min_length=1, description="of shifts, in stream deviations squared")
    ] = [0.03, 0.2, 1.5]
    shares: Annotated[
        list[Share], Field(min_length=1, description="of streams that shift by one size")
    ] = [0.05, 0.2, 0.5]
    most_shifted: Annotated[
        Share, Field(description="share with own sizes is m/p, but at most this")
    ] = 0.5
    deltas: Annotated[
        list[Positive], Field(min_length=1, description="sizes of root causes, in deviations")
    ] = [0.5, 1.0, 2.0]
    head_start: Annotated[
        Positive, Field(description="factor of the weight of root causes in choosing sensors")
    ] = 7.5
    levels: Annotated[
        Count, Field(description="change times 2, 4, ... 2^levels steps apart are kept")
    ] = 7
    kept: Annotated[Count, Field(description="latest change times kept of each level")] = 2


@dataclass(frozen=True)
class AnyShiftState(State):
    """Evidence for c candidate times, in 1 + v forms: own sizes, and one size of each variance."""

    time: Ints
    """Steps so far, (n,)."""
    score: Floats
    """S, (n, c, p)."""
    information: Floats
    """N, (n, c, p)."""
    ratio: Floats
    """Likelihood ratios, (n, 1 + v, c, p): their mean over the variances, then one for each."""
    size: Floats
    """Size that a stream's shift is expected to have, if there is one, (n, 1 + v, c, p)."""
    total: Floats
    """Log likelihood ratio of each form with each of its shares, (n, f, c); minus infinity before
    the candidate begins."""
    causes: CausalSrState
    """Evidence for root causes."""


class AnyShift(Method[AnyShiftState]):
    """One detector for shifts of any kind; nothing to train.

    Examples
    --------
    >>> import numpy as np
    >>> from causaldq import Problem, check_method
    >>> check_method(AnyShift)
    >>> detector = AnyShift(Problem(np.eye(6), 2))
    >>> rng = np.random.default_rng(0)
    >>> state = detector.start(1, None, rng)
    >>> for _ in range(8):
    ...     state = detector.observe(state, np.array([[1, 4]]), np.array([[0.1, 2.0]]), rng)
    >>> int(detector.contributions(state)[0].argmax())
    4
    """

    options: ClassVar[type[Settings]] = AnyShiftSettings
    publishes_run_length: ClassVar[bool] = True

    def __init__(self, problem: Problem, settings: AnyShiftSettings | None = None) -> None:
        super().__init__(problem)
        self.settings = chosen = settings or AnyShiftSettings()
        kind = CausalSrNoGraph if problem.graphs is None else CausalSr
        self.causes: CausalSr = kind(problem, CausalSrSettings(deltas=chosen.deltas))
        self.covariance: Floats = self.causes.covariance
        self.deviations: Floats = np.sqrt(np.diag(problem.covariance))
        self.variances: Floats = np.array(chosen.variances)
        self.times = ChangeTimes(chosen.levels, chosen.kept)
        weights = np.array([chosen.own_sizes, chosen.one_size, chosen.root_causes])
        own, one, cause = weights / weights.sum()
        v, q = len(chosen.variances), len(chosen.shares)
        share = min(chosen.most_shifted, problem.m / problem.p)
        self.forms: Ints = np.repeat(np.arange(1 + v), [1, *[q] * v])
        self.shares: Floats = np.array([share, *chosen.shares * v])
        self.log_prior: Floats = np.log([own, *[one / (v * q)] * (v * q)])
        """(f,) each: own sizes; then every variance with every share."""
        self.odds: Floats = (1.0 - self.shares) / self.shares
        self.log_prior_cause = float(np.log(cause))
        _, size = self._belief(np.zeros((1, 1, 1)), np.zeros((1, 1, 1)))
        self.size_unread: Floats = size[0, :, 0, 0]
        self.signatures: Floats = np.concatenate(
            [np.diag(self.deviations), self.causes.hypotheses.signatures]
        )
        """(p + h, p), of streams alone and of root causes, when they move by one deviation."""

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> AnyShiftState:
        c, p, forms = self.times.count, self.problem.p, len(self.size_unread)
        return AnyShiftState(
            time=np.zeros(n, dtype=np.int64),
            score=np.zeros((n, c, p)),
            information=np.zeros((n, c, p)),
            ratio=np.ones((n, forms, c, p)),
            size=np.tile(self.size_unread[:, None, None], (n, 1, c, p)),
            total=np.full((n, len(self.forms), c), -np.inf),
            causes=self.causes.start(n, truth, rng),
        )

    def choose(self, state: AnyShiftState, rng: np.random.Generator) -> Ints:
        noise = 1.0 + TIE * rng.random((len(state.time), self.problem.p))
        weights = self.sensor_weights(state)
        return most_informative(self.covariance, weights, self.problem.m, self.signatures, noise)

    def sensor_weights(self, state: AnyShiftState) -> Floats:
        """Weights (n, p + h) of streams alone, and of root causes; they sum to about one."""
        log_streams, streams = self._expected_worth(state)
        log_causes = np.logaddexp(0.0, self.causes.statistic(state.causes)) + self.log_prior_cause
        lead = log_causes + np.log(self.settings.head_start) - log_streams
        share = (0.5 + 0.5 * np.tanh(lead / 2))[:, None]
        streams *= (1.0 - share) / streams.sum(axis=1, keepdims=True)
        weights = np.hstack([streams, share * self.causes.sensor_weights(state.causes)])
        weights[weights < self.causes.settings.prune] = 0.0
        return weights

    def _expected_worth(self, state: AnyShiftState) -> tuple[Floats, Floats]:
        """log sum pi (1 + R) over own sizes and one size, (n,), and what streams are worth, (n, p).

        A stream is worth its probability of a shift times its expected size.
        """
        log_weights = state.total + self.log_prior[:, None] + self.times.log_span
        largest = np.maximum(log_weights.max(axis=(1, 2)), 0.0)
        weights = np.exp(log_weights - largest[:, None, None])
        # A change at this step, of which nothing has been read, is possible, too.
        just_now = np.exp(self.log_prior - largest[:, None])
        worth: Floats = (just_now @ (self.shares * self.size_unread[self.forms]))[:, None]
        for form in range(state.ratio.shape[1]):
            ratio = state.ratio[:, form]
            shifted = np.zeros_like(ratio)
            for number in np.flatnonzero(self.forms == form):
                shifted += weights[:, number, :, None] / (ratio + self.odds[number])
            shifted *= ratio
            shifted *= state.size[:, form]
            worth = worth + shifted.sum(axis=1)
        return largest + np.log(weights.sum(axis=(1, 2)) + just_now.sum(axis=1)), worth

    def observe(
        self, state: AnyShiftState, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> AnyShiftState:
        n, forms, c, p = state.ratio.shape
        rows = np.arange(n)
        score, information, ratio, size, total = (
            part.copy()
            for part in (state.score, state.information, state.ratio, state.size, state.total)
        )
        begins = self.times.begins(state.time)
        score[rows, begins] = information[rows, begins] = 0.0
        ratio[rows, :, begins] = 1.0
        size[rows, :, begins] = self.size_unread[:, None]
        total[rows, :, begins] = 0.0

        precision = inverse_positive(self.covariance[streams[:, :, None], streams[:, None, :]])
        deviations = self.deviations[streams]
        seen = deviations * (precision @ values[:, :, None])[:, :, 0]
        known = deviations**2 * np.diagonal(precision, axis1=1, axis2=2)
        # Places in arrays laid out flat: numpy reads and writes faster there than at four indices.
        place = np.arange(0, n * c * p, p).reshape(n, c, 1) + streams[:, None, :]
        read_score = score.take(place) + seen[:, None, :]
        read_information = information.take(place) + known[:, None, :]
        score.reshape(-1)[place] = read_score
        information.reshape(-1)[place] = read_information
        place = np.arange(0, n * forms * c * p, p).reshape(n, forms, c, 1)
        place = place + streams[:, None, None, :]
        before = ratio.take(place)
        after, read_size = self._belief(read_score, read_information)
        ratio.reshape(-1)[place] = after
        size.reshape(-1)[place] = read_size
        for number, (form, odds) in enumerate(zip(self.forms, self.odds, strict=True)):
            # log(1 - q + q LR), less what it was.
            gained = np.log((after[:, form] + odds) / (before[:, form] + odds))
            total[:, number] += gained.sum(axis=2)
        causes = self.causes.observe(state.causes, streams, values, rng)
        return AnyShiftState(state.time + 1, score, information, ratio, size, total, causes)

    def without(self, state: AnyShiftState, streams: Ints) -> AnyShiftState:
        return replace(state, causes=self.causes.without(state.causes, streams))

    def statistic(self, state: AnyShiftState) -> Floats:
        log_weights = self._log_weights(state)
        largest = log_weights.max(axis=1)
        largest = np.where(np.isneginf(largest), 0.0, largest)
        with np.errstate(divide="ignore"):  # nothing has been read
            total = np.log(np.exp(log_weights - largest[:, None]).sum(axis=1))
        return np.asarray(largest + total)

    def contributions(self, state: AnyShiftState) -> Floats:
        return self.posterior(state)

    def posterior(self, state: AnyShiftState) -> Floats:
        """Probability that each stream has shifted, or is the root cause, given a change, (n, p).

        A change just now, of which nothing has been read, is one of the possibilities.
        """
        p = self.problem.p
        log_weights = self._log_weights(state)
        largest = np.maximum(log_weights.max(axis=1, keepdims=True), 0.0)
        weights, just_now = np.exp(log_weights - largest), np.exp(-largest)
        by_time = weights[:, :-1].reshape(state.total.shape)
        shifted = just_now / p + weights[:, -1:] * self.causes.cause_posterior(state.causes)
        for number, (form, odds) in enumerate(zip(self.forms, self.odds, strict=True)):
            ratio = state.ratio[:, form]
            shifted += np.einsum("nc,ncp->np", by_time[:, number], ratio / (ratio + odds))
        return np.asarray(shifted / (weights.sum(axis=1, keepdims=True) + just_now))

    def _log_weights(self, state: AnyShiftState) -> Floats:
        """log(pi R) of every form, share and candidate time, and last of the root causes."""
        n, f, c = state.total.shape
        streams = state.total + self.log_prior[:, None] + self.times.log_span
        causes = self.causes.statistic(state.causes) + self.log_prior_cause
        return np.column_stack([streams.reshape(n, f * c), causes])

    def _belief(self, score: Floats, information: Floats) -> tuple[Floats, Floats]:
        """Ratios and sizes (n, 1 + v, c, m) from sums (n, c, m)."""
        variances = self.variances[:, None, None]
        grown = 1.0 + information[:, None] * variances
        mean = score[:, None] * variances
        mean /= grown
        logs = score[:, None] * mean
        logs -= np.log(grown)
        logs /= 2
        n, v, c, m = logs.shape
        ratio, square = np.empty((2, n, 1 + v, c, m))
        each = np.exp(np.minimum(logs, LARGEST, out=logs), out=ratio[:, 1:])
        np.add(variances / grown, np.square(mean, out=mean), out=square[:, 1:])
        each.mean(axis=1, out=ratio[:, 0])
        square[:, 0] = (each * square[:, 1:]).mean(axis=1) / ratio[:, 0]
        return ratio, np.sqrt(square, out=square)
