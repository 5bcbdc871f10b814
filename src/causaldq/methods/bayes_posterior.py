"""A Bayes filter over the time of the change and the streams that shifted.

Not learned. The change came to all shifted streams at once, at one of a few candidate times:
recent ones close together, older ones further apart. Each stream shifted with probability q,
by a normal amount of variance v, one of a few. With Z the streams read and S_Z their
in-control covariance, a candidate keeps for each stream

    S_i += (S_Z^-1 x_Z)_i        N_i += (S_Z^-1)_ii

whose likelihood ratio, other streams taken for unshifted, is the mean over v of

    LR_i = (1 + N_i v)^-1/2 exp(S_i^2 v / (2 (1 + N_i v))).

Alarm statistic: log of the sum over candidates of prod_i (1 - q + q LR_i), each candidate
counted for the times it stands for. Sensors: the set that is expected to tell most about
streams in proportion to how far they are believed to be off; a stream not read lately may
have moved by any amount, which is the credit that other policies give it by a bonus.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from causaldq.covariance import blocks, ridged
from causaldq.methods.base import Method, Problem, State, Truth
from causaldq.methods.change_times import ChangeTimes, log_sum, mixed, over_times, shifted
from causaldq.methods.information import TIE, most_informative
from causaldq.setting import Count, Positive, Settings
from causaldq.statistic import inverse_positive
from causaldq.types import Floats, Ints


class BayesPosteriorSettings(Settings):
    """What it holds possible."""

    variances: Annotated[
        list[Positive], Field(min_length=1, description="of shifts, in stream deviations squared")
    ] = [0.03, 0.2, 1.5]
    most_shifted: Annotated[
        float, Field(gt=0, lt=1, description="q is m/p, the share of sensors, but at most this")
    ] = 0.5
    levels: Annotated[
        Count, Field(description="change times 2, 4, ... 2^levels steps apart are kept")
    ] = 7
    kept: Annotated[Count, Field(description="latest change times kept of each level")] = 2


@dataclass(frozen=True)
class BayesState(State):
    """Evidence for each of c candidate times."""

    time: Ints
    """Steps so far, (n,)."""
    score: Floats
    """S, (n, c, p)."""
    information: Floats
    """N, (n, c, p)."""
    log_ratio: Floats
    """log LR, (n, c, p)."""
    worth: Floats
    """What is expected of reading each stream, (n, c, p)."""
    total: Floats
    """Log likelihood ratio of each candidate, (n, c); minus infinity before it begins."""
    unread: Floats
    """Steps since each stream was last read, (n, p)."""


class BayesPosterior(Method[BayesState]):
    """Filter and sensors together; nothing to train."""

    options: ClassVar[type[Settings]] = BayesPosteriorSettings
    publishes_run_length: ClassVar[bool] = True
    many_plants: ClassVar[bool] = True

    def __init__(self, problem: Problem, settings: BayesPosteriorSettings | None = None) -> None:
        super().__init__(problem)
        self.settings = settings or BayesPosteriorSettings()
        # A ridge keeps solves safe where streams repeat each other.
        self.covariance = ridged(problem.covariance, problem.statistic.ridge)
        self.share = min(self.settings.most_shifted, problem.m / problem.p)
        self.variances: Floats = np.array(self.settings.variances)
        self.times = ChangeTimes(self.settings.levels, self.settings.kept)
        self.log_span: Floats = self.times.log_span
        _, worth = self._belief(np.zeros(1), np.zeros(1))
        self.worth_unread = float(worth[0])

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> BayesState:
        c, p = len(self.log_span), self.problem.p
        nothing = np.zeros((n, c, p))
        return BayesState(
            time=np.zeros(n, dtype=np.int64),
            score=nothing,
            information=nothing,
            log_ratio=nothing,
            worth=nothing,
            total=np.full((n, c), -np.inf),
            unread=np.zeros((n, p)),
        )

    def choose(self, state: BayesState, rng: np.random.Generator) -> Ints:
        noise = 1.0 + TIE * rng.random((len(state.time), self.problem.p))
        worth = self.expected_worth(state)
        return most_informative(self.covariance, worth, self.problem.m, noise=noise)

    def observe(
        self, state: BayesState, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> BayesState:
        n, c, p = state.score.shape
        rows = np.arange(n)
        begins = self.times.begins(state.time)
        score, information, log_ratio, worth, total = (
            part.copy()
            for part in (
                *(state.score, state.information, state.log_ratio, state.worth),
                state.total,
            )
        )
        for part in (score, information, log_ratio, total):
            part[rows, begins] = 0.0
        worth[rows, begins] = self.worth_unread

        precision = inverse_positive(blocks(self.covariance, streams))
        seen = (precision @ values[:, :, None])[:, :, 0]
        known = np.diagonal(precision, axis1=1, axis2=2)
        # Places in arrays laid out flat: numpy reads and writes faster there than at three indices.
        place = np.arange(0, n * c * p, p).reshape(n, c, 1) + streams[:, None, :]
        before = log_ratio.take(place)
        read_score = score.take(place) + seen[:, None, :]
        read_information = information.take(place) + known[:, None, :]
        read_ratio, read_worth = self._belief(read_score, read_information)
        for part, read in (
            *((score, read_score), (information, read_information)),
            *((log_ratio, read_ratio), (worth, read_worth)),
        ):
            part.reshape(-1)[place] = read
        total += (self._mixed(read_ratio) - self._mixed(before)).sum(axis=2)
        unread = state.unread + 1.0
        unread[rows[:, None], streams] = 0.0
        return BayesState(state.time + 1, score, information, log_ratio, worth, total, unread)

    def statistic(self, state: BayesState) -> Floats:
        return log_sum(state.total + self.log_span)

    def log_evidence(self, state: BayesState) -> Floats:
        """log(1 + exp(statistic)), (n,); zero before anything is read."""
        log_weights = state.total + self.log_span
        largest = np.maximum(log_weights.max(axis=1), 0.0)
        total = np.exp(log_weights - largest[:, None]).sum(axis=1) + np.exp(-largest)
        return np.asarray(largest + np.log(total))

    def contributions(self, state: BayesState) -> Floats:
        return self.posterior(state)

    def posterior(self, state: BayesState) -> Floats:
        """Probability that each stream has shifted, given a change by now, (n, p)."""
        by_time = self._shifted(state.log_ratio)
        return self.over_times(state, by_time, self.share)

    def expected_worth(self, state: BayesState) -> Floats:
        """What reading each stream is expected to be worth, (n, p)."""
        return self.over_times(state, state.worth, self.worth_unread)

    def over_times(self, state: BayesState, values: Floats, now: float) -> Floats:
        """Mean over the candidates of values (n, c, p), and of `now` for a change at this step."""
        return over_times(state.total + self.log_span, values, now)

    def _belief(self, score: Floats, information: Floats) -> tuple[Floats, Floats]:
        """log LR, and the probability of a shift times its expected size."""
        variances = self.variances.reshape(-1, *[1] * score.ndim)
        grown = 1.0 + information * variances
        mean = score * variances
        mean /= grown
        logs = score * mean
        logs -= np.log(grown)
        logs /= 2
        logs -= np.log(len(self.variances))
        largest = logs.max(axis=0)
        logs -= largest
        weights = np.exp(logs, out=logs)
        total = weights.sum(axis=0)
        second_moment = np.divide(variances, grown, out=grown)
        second_moment += np.square(mean, out=mean)
        second_moment *= weights
        square = second_moment.sum(axis=0) / total
        log_ratio = largest + np.log(total)
        return log_ratio, self._shifted(log_ratio) * np.sqrt(square)

    def _shifted(self, log_ratio: Floats) -> Floats:
        return shifted(log_ratio, self.share)

    def _mixed(self, log_ratio: Floats) -> Floats:
        return mixed(log_ratio, self.share)
