"""A Shiryaev-Roberts mixture over root causes, and sensors where they tell causes apart.

If a cause shifts, its effects shift with it. A hypothesis r says which stream began and, by
its signature s_r, how far all streams move with it. With Z the streams read, S_Z their
in-control covariance, and a shift of d deviations up or down:

    l_r = s_r[Z]' S_Z^-1 x_Z        I_r = s_r[Z]' S_Z^-1 s_r[Z]
    R_{r,d,±} <- (1 + R_{r,d,±}) exp(± d l_r - d^2 I_r / 2)

The alarm statistic is log sum pi_r pi_d R_{r,d,±}. R is the likelihood ratio summed over all
times at which the change may have come, so pi_r pi_d R is the posterior of a cause, up to a
factor. Sensors: Z is grown one stream at a time to raise

    sum_r w_r s_r[Z]' S_Z^-1 s_r[Z],   w_r = sum_{d,±} pi_r pi_d (1 + R_{r,d,±}) d^2,

the information expected of the next reading.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from causaldq.discovery.signatures import (
    Hypotheses,
    ParentSets,
    graph_free,
    hypotheses,
    mixed,
    parent_sets,
)
from causaldq.errors import ConfigError
from causaldq.methods.base import GraphNeed, Method, Problem, State, Truth
from causaldq.methods.information import TIE, most_informative
from causaldq.setting import Positive, Settings
from causaldq.types import Bools, Floats, Ints


class CausalSrSettings(Settings):
    """The Shiryaev-Roberts mixture over root causes."""

    deltas: Annotated[
        list[Positive], Field(min_length=1, description="shift sizes looked for, in deviations")
    ] = [0.5, 1.0, 2.0]
    delta_prior: Annotated[
        list[Positive] | None,
        Field(description="weight of each size, up and down alike; null: all the same"),
    ] = None
    graph_free: Annotated[
        float,
        Field(ge=0, lt=1, description="prior share of the signatures that need no graph"),
    ] = 0.2
    prune: Annotated[
        float,
        Field(ge=0, lt=1, description="a cause below this share of all weight draws no sensor"),
    ] = 0.0001
    order_seed: Annotated[
        int, Field(ge=0, description="of the order that the control `random_order` draws")
    ] = 0

    @model_validator(mode="after")
    def _one_weight_a_size(self) -> Self:
        if self.delta_prior is not None and len(self.delta_prior) != len(self.deltas):
            raise ValueError(
                f"delta_prior has {len(self.delta_prior)} weights for {len(self.deltas)} deltas;"
                " give one each, or null"
            )
        return self


@dataclass(frozen=True)
class CausalSrState(State):
    """Evidence for every hypothesis and signed size."""

    log_grown: Floats
    """log(1 + R), (n, 2 sizes, h)."""


class CausalSr(Method[CausalSrState]):
    """Root causes by graphs that are uncertain, with a share of signatures that need none."""

    options: ClassVar[type[Settings]] = CausalSrSettings
    publishes_run_length: ClassVar[bool] = True

    graph: ClassVar[GraphNeed] = "estimated"

    def __init__(self, problem: Problem, settings: CausalSrSettings | None = None) -> None:
        super().__init__(problem)
        self.settings = settings or CausalSrSettings()
        # A ridge keeps solves safe where streams repeat each other.
        ridge = problem.statistic.ridge * np.diag(np.diag(problem.covariance))
        self.covariance: Floats = problem.covariance + ridge
        self.hypotheses: Hypotheses = hypotheses(self.covariance, self.sets())
        sizes = np.array(self.settings.deltas)
        self.sizes: Floats = np.concatenate([sizes, -sizes])
        weights = np.array(self.settings.delta_prior or np.ones(len(sizes)))
        self.size_prior: Floats = np.tile(weights / (2 * weights.sum()), 2)
        self.log_prior: Floats = np.log(self.size_prior[:, None] * self.hypotheses.prior)

    def sets(self) -> ParentSets:
        """The causes considered: each stream r with the streams C that it is freed of."""
        share = self.settings.graph_free
        by_graph = parent_sets(self.graphs())
        return mixed([(1 - share, by_graph), (share, graph_free(self.problem.p))])

    def graphs(self) -> Bools:
        """The problem's graphs, (g, p, p)."""
        if self.problem.graphs is None:
            raise ConfigError(
                f"{type(self).__name__} needs a causal graph, and the problem has none;"
                " give Problem.graphs, or use the control without a graph"
            )
        return self.problem.graphs

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> CausalSrState:
        return CausalSrState(np.zeros((n, *self.log_prior.shape)))

    def choose(self, state: CausalSrState, rng: np.random.Generator) -> Ints:
        noise = 1.0 + TIE * rng.random((len(state.log_grown), self.problem.p))
        weights = self.sensor_weights(state)
        return most_informative(
            self.covariance, weights, self.problem.m, self.hypotheses.signatures, noise
        )

    def sensor_weights(self, state: CausalSrState, power: float = 2.0) -> Floats:
        """w_r, (n, h), scaled to a sum of one; zero for causes that carry no weight.

        Sizes count by their power: 2 for the information that the next reading is expected to
        give, 0 for the probability of a cause.
        """
        counted = power * np.log(np.abs(self.sizes))[:, None]
        log_weights = _log_sum(state.log_grown + (self.log_prior + counted), axes=(1,))
        weights: Floats = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        weights[weights < self.settings.prune] = 0.0
        return weights

    def observe(
        self, state: CausalSrState, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> CausalSrState:
        projection, information = self.evidence(streams, values)
        log_ratio = self.sizes[:, None] * projection[:, None, :]
        log_ratio -= (self.sizes**2 / 2)[:, None] * information[:, None, :]
        return CausalSrState(_log_one_plus_exp(state.log_grown + log_ratio))

    def evidence(self, streams: Ints, values: Floats) -> tuple[Floats, Floats]:
        """l_r and I_r, (n, h) each, of the values (n, m) read."""
        precision = np.linalg.inv(self.covariance[streams[:, :, None], streams[:, None, :]])
        signatures = self.hypotheses.signatures.T[streams]
        whitened = precision @ signatures
        information: Floats = np.einsum("nmh,nmh->nh", signatures, whitened)
        projection: Floats = (values[:, None, :] @ whitened)[:, 0]
        return projection, information

    def statistic(self, state: CausalSrState) -> Floats:
        # The priors sum to one, so that the sum over 1 + R is one plus the sum over R.
        return _log_exp_minus_one(_log_sum(state.log_grown + self.log_prior, axes=(1, 2)))

    def posterior(self, state: CausalSrState) -> Floats:
        """Probability of each hypothesis and signed size, given a change, (n, 2 sizes, h)."""
        log_weights = self.log_prior + _log_exp_minus_one(state.log_grown)
        unread = np.isneginf(log_weights).all(axis=(1, 2), keepdims=True)
        log_weights = np.where(unread, self.log_prior, log_weights)
        return np.exp(log_weights - _log_sum(log_weights, axes=(1, 2))[:, None, None])

    def contributions(self, state: CausalSrState) -> Floats:
        return self.cause_posterior(state)

    def cause_posterior(self, state: CausalSrState) -> Floats:
        """Probability that each stream is the root cause, given a change, (n, p)."""
        return self.hypotheses.by_cause(self.posterior(state).sum(axis=1))


def _log_one_plus_exp(values: Floats) -> Floats:
    """log(1 + exp(x)); four times as fast as numpy's logaddexp."""
    return np.asarray(np.maximum(values, 0.0) + np.log1p(np.exp(-np.abs(values))))


def _log_exp_minus_one(values: Floats) -> Floats:
    """log(exp(x) - 1) for x >= 0; minus infinity at 0, and a rounding below it."""
    values = np.maximum(values, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(values + np.log(-np.expm1(-values)))


def _log_sum(values: Floats, axes: tuple[int, ...]) -> Floats:
    """log sum exp over the axes; minus infinity where all are."""
    largest = values.max(axis=axes, keepdims=True)
    largest = np.where(np.isneginf(largest), 0.0, largest)
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(values - largest).sum(axis=axes))
    return np.asarray(total + largest.reshape(total.shape))
