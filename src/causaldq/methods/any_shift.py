"""Shifts of any kind: several families of hypotheses in one Shiryaev-Roberts sum.

Nobody knows beforehand whether one stream will shift or half of them, whether they shift by
related amounts, or whether all follow from one root cause. Each is a family f of hypotheses with
a prior weight pi_f, the weights sum to one, and the alarm statistic is

    log sum_f pi_f R_f,

R_f the likelihood ratio of the family summed over all times at which the change may have come.
The evidence decides which family the alarm comes from.

Three families have the change come to all shifted streams at one of a few candidate times, each
stream shifted with probability q. With the sums S_i and N_i since then, as in `bayes_posterior`,
a shift of about d, normal with mean d and variance v = (spread d)^2, has the likelihood ratio

    LR_i(d) = (1 + N_i v)^-1/2 exp((S_i^2 v + 2 S_i d - N_i d^2) / (2 (1 + N_i v))),

and with LR_i(±d) the mean of LR_i(d) and LR_i(-d),

    own sizes       prod_i (1 - q + q mean_d LR_i(±d))        q = m/p, but at most one half
    one size        mean over d and q of prod_i (1 - q + q LR_i(±d))
    one direction   mean over d, -d and q of prod_i (1 - q + q LR_i(d)).

Where many streams shift by amounts that are alike, they tell the size together, and one size is
the earlier. Root causes: one stream shifted, and others with it as the correlations or, if the
problem has graphs, its causal effects say: `causal_sr`.

A candidate time begins with 1. Where two become one their parts of the sum are added, and the
likelier time is kept: in control the sum is n on average after n steps if streams are independent,
whatever is read.

Sensors: the set that is expected to tell most, `most_informative`. Each kind of hypothesis has
its own weights for where to look: streams by the probability that they shifted, root causes by
1 + R. Sizes do not count: a large shift shows itself soon, wherever one looks. Scaled to a sum of
one, the weights are mixed in proportion to the evidence 1 + R for each kind, in which root causes
are given a head start: their weights do well where many streams shift, too, while weights that
expect many lose where there is one cause.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from causaldq.methods.base import Method, Problem, State, Truth
from causaldq.methods.causal_sr import CausalSr, CausalSrSettings, CausalSrState
from causaldq.methods.causal_sr_no_graph import CausalSrNoGraph
from causaldq.methods.change_times import ChangeTimes, log_sum
from causaldq.methods.information import TIE, most_informative
from causaldq.setting import Count, NotNegative, Positive, Settings, Share
from causaldq.statistic import inverse_positive
from causaldq.types import Floats, Ints

LARGEST = 300.0
"""Log likelihood ratios end here, far beyond any limit, so that numbers stay finite."""


class AnyShiftSettings(Settings):
    """What it holds possible, and how likely beforehand."""

    own_sizes: Annotated[Positive, Field(description="prior weight: each its own size")] = 1.0
    one_size: Annotated[Positive, Field(description="prior weight: one size for all")] = 1.0
    one_direction: Annotated[
        Positive, Field(description="prior weight: one size and one direction for all")
    ] = 1.0
    root_causes: Annotated[Positive, Field(description="prior weight: one root cause")] = 1.0
    sizes: Annotated[
        list[Positive], Field(min_length=1, description="of shifts, in stream deviations")
    ] = [0.4, 0.9, 2.0]
    spread: Annotated[
        NotNegative, Field(description="deviation of a shift from these sizes, as a part of them")
    ] = 0.5
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
    ] = 20.0
    levels: Annotated[
        Count, Field(description="change times 2, 4, ... 2^levels steps apart are kept")
    ] = 7
    kept: Annotated[int, Field(ge=2, description="latest change times kept of each level")] = 2


@dataclass(frozen=True)
class AnyShiftState(State):
    """Evidence for c candidate times."""

    time: Ints
    """Steps so far, (n,)."""
    began: Ints
    """The candidates' times, (n, c); -1 before they begin."""
    score: Floats
    """S, (n, c, p)."""
    information: Floats
    """N, (n, c, p)."""
    total: Floats
    """Log of each candidate's part of the sum in each of f families, (n, f, c); minus infinity
    before it begins."""
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
        self.times = ChangeTimes(chosen.levels, chosen.kept)
        d, q = len(chosen.sizes), len(chosen.shares)
        share = min(chosen.most_shifted, problem.m / problem.p)
        self.forms: Ints = np.repeat(np.arange(1 + 3 * d), [1, *[q] * (3 * d)])
        self.shares: Floats = np.array([share, *chosen.shares * (3 * d)])
        weights = [chosen.own_sizes, chosen.one_size, chosen.one_direction, chosen.root_causes]
        own, one, direction, cause = np.array(weights) / sum(weights)
        alike = np.repeat([one / (d * q), direction / (2 * d * q)], [d * q, 2 * d * q])
        self.log_prior: Floats = np.log([own, *alike])
        """(f,) each: own sizes; then one size, up, and down, every size with every share."""
        self.odds: Floats = (1.0 - self.shares) / self.shares
        self.log_prior_cause = float(np.log(cause))
        self.signatures: Floats = np.concatenate(
            [np.diag(self.deviations), self.causes.hypotheses.signatures]
        )
        """(p + h, p), of streams alone and of root causes, when they move by one deviation."""

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> AnyShiftState:
        c, p = self.times.count, self.problem.p
        return AnyShiftState(
            time=np.zeros(n, dtype=np.int64),
            began=np.full((n, c), -1),
            score=np.zeros((n, c, p)),
            information=np.zeros((n, c, p)),
            total=np.full((n, len(self.forms), c), -np.inf),
            causes=self.causes.start(n, truth, rng),
        )

    def choose(self, state: AnyShiftState, rng: np.random.Generator) -> Ints:
        noise = 1.0 + TIE * rng.random((len(state.time), self.problem.p))
        weights = self.sensor_weights(state)
        return most_informative(self.covariance, weights, self.problem.m, self.signatures, noise)

    def sensor_weights(self, state: AnyShiftState) -> Floats:
        """Weights (n, p + h) of streams alone, and of root causes; they sum to about one."""
        shifted, lead = self._belief(state)
        share = _logistic(lead + np.log(self.settings.head_start))
        shifted *= (1.0 - share) / shifted.sum(axis=1, keepdims=True)
        causes = self.causes.sensor_weights(state.causes, power=0.0)
        weights = np.hstack([shifted, share * causes])
        weights[weights < self.causes.settings.prune] = 0.0
        return weights

    def _belief(self, state: AnyShiftState) -> tuple[Floats, Floats]:
        """Probability that each stream has shifted if there is no root cause, (n, p), and the log
        odds of a root cause, (n, 1).

        A change at this step, of which nothing has been read, is one of the possibilities.
        """
        log_weights = state.total + self.log_prior[:, None]
        largest = np.maximum(log_weights.max(axis=(1, 2)), 0.0)
        weights = np.exp(log_weights - largest[:, None, None])
        just_now = np.exp(self.log_prior - largest[:, None])
        ratios = self._ratios(state.score, state.information)
        shifted: Floats = np.repeat((just_now @ self.shares)[:, None], self.problem.p, axis=1)
        for number, (form, odds) in enumerate(zip(self.forms, self.odds, strict=True)):
            ratio = ratios[form]
            shifted += np.einsum("nc,ncp->np", weights[:, number], ratio / (ratio + odds))
        total = weights.sum(axis=(1, 2)) + just_now.sum(axis=1)
        log_causes = np.logaddexp(0.0, self.causes.statistic(state.causes)) + self.log_prior_cause
        lead = log_causes - largest - np.log(total)
        return shifted / total[:, None], lead[:, None]

    def observe(
        self, state: AnyShiftState, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> AnyShiftState:
        n, c, p = state.score.shape
        state = self._begun(state)
        precision = inverse_positive(self.covariance[streams[:, :, None], streams[:, None, :]])
        deviations = self.deviations[streams]
        seen = deviations * (precision @ values[:, :, None])[:, :, 0]
        known = deviations**2 * np.diagonal(precision, axis1=1, axis2=2)
        # Places in arrays laid out flat: numpy reads and writes faster there than at three indices.
        place = np.arange(0, n * c * p, p).reshape(n, c, 1) + streams[:, None, :]
        score, information = state.score.take(place), state.information.take(place)
        before = self._ratios(score, information)
        score += seen[:, None]
        information += known[:, None]
        after = self._ratios(score, information)
        state.score.reshape(-1)[place] = score
        state.information.reshape(-1)[place] = information
        for number, (form, odds) in enumerate(zip(self.forms, self.odds, strict=True)):
            # log(1 - q + q LR), less what it was.
            gained = np.log((after[form] + odds) / (before[form] + odds))
            state.total[:, number] += gained.sum(axis=2)
        causes = self.causes.observe(state.causes, streams, values, rng)
        return replace(state, time=state.time + 1, causes=causes)

    def _begun(self, state: AnyShiftState) -> AnyShiftState:
        """A copy in which a change at this step is a candidate.

        The one that gives way and the next younger become one.
        """
        rows = np.arange(len(state.time))
        began, total = state.began.copy(), state.total.copy()
        score, information = state.score.copy(), state.information.copy()
        slot = self.times.begins(state.time)
        old = began[rows, slot]
        heir = np.where(began > old[:, None], began, np.iinfo(np.int64).max).argmin(axis=1)
        gone, stays = total[rows, :, slot], total[rows, :, heir]
        ended = old >= 0
        total[rows, :, heir] = np.where(ended[:, None], np.logaddexp(gone, stays), stays)
        likelier = log_sum(gone + self.log_prior) > log_sum(stays + self.log_prior)
        moved = np.flatnonzero(ended & likelier)
        for part in (score, information):
            part[moved, heir[moved]] = part[moved, slot[moved]]
            part[rows, slot] = 0.0
        total[rows, :, slot] = 0.0
        began[rows, slot] = state.time
        return replace(state, began=began, score=score, information=information, total=total)

    def without(self, state: AnyShiftState, streams: Ints) -> AnyShiftState:
        return replace(state, causes=self.causes.without(state.causes, streams))

    def statistic(self, state: AnyShiftState) -> Floats:
        total = state.total + self.log_prior[:, None]
        by_family = total.reshape(len(total), total.shape[1] * total.shape[2])
        causes = self.causes.statistic(state.causes) + self.log_prior_cause
        return np.logaddexp(log_sum(by_family), causes)

    def contributions(self, state: AnyShiftState) -> Floats:
        return self.posterior(state)

    def posterior(self, state: AnyShiftState) -> Floats:
        """Probability that each stream has shifted, or is the root cause, given a change, (n, p).

        A change just now, of which nothing has been read, is one of the possibilities.
        """
        shifted, lead = self._belief(state)
        share = _logistic(lead)
        return (1.0 - share) * shifted + share * self.causes.cause_posterior(state.causes)

    def _ratios(self, score: Floats, information: Floats) -> Floats:
        """LR of every form, (1 + 3 d, ...), from sums (...): own sizes, one size, up, and down."""
        sizes = self.settings.sizes
        ratios = np.empty((1 + 3 * len(sizes), *score.shape))
        both, up, down = np.split(ratios[1:], 3)
        for number, size in enumerate(sizes):
            variance = (self.settings.spread * size) ** 2
            grown = 1.0 + information * variance
            common = (score**2 * variance - information * size**2) / (2 * grown)
            tilt = score * size / grown
            np.exp(np.minimum(common + tilt, LARGEST), out=up[number])
            np.exp(np.minimum(common - tilt, LARGEST), out=down[number])
            root = np.sqrt(grown)
            up[number] /= root
            down[number] /= root
        np.add(up, down, out=both)
        both /= 2
        both.mean(axis=0, out=ratios[0])
        return ratios


def _logistic(values: Floats) -> Floats:
    return np.asarray(0.5 + 0.5 * np.tanh(values / 2))
