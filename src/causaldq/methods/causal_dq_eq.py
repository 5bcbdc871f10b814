"""One learned policy for all problems, with the filter's evidence among its inputs.

The network is trained once, on problems that have nothing to do with the plant (see
`causaldq.learn.equivariant`), and is location-agnostic: it knows only how
a stream looks among the others.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from causaldq.discovery.effects import direct_effects
from causaldq.errors import CheckpointError, ConfigError
from causaldq.methods.base import GraphNeed, Problem
from causaldq.methods.bayes_posterior import BayesPosterior, BayesPosteriorSettings, BayesState
from causaldq.methods.equivariant_features import conditional_variance, features
from causaldq.methods.equivariant_network import Array, advantages, links
from causaldq.methods.information import TIE, most_informative
from causaldq.types import Floats, Ints


class CausalDqEq(BayesPosterior):
    """Reads the set of sensors that its Q-values ask for; alarms as the filter does."""

    graph: ClassVar[GraphNeed] = "estimated"
    many_plants: ClassVar[bool] = False

    def __init__(
        self, problem: Problem, settings: BayesPosteriorSettings, weights: Mapping[str, Array]
    ) -> None:
        super().__init__(problem, settings)
        if ("causes" in weights) != (self.graph != "none"):
            raise CheckpointError(
                f"these are not the weights of {type(self).__name__}; give its own network"
            )
        self.weights = weights
        self.alone = conditional_variance(np.asarray(self.covariance))
        self.heard = links(self.effects()) if self.graph != "none" else None

    @classmethod
    def rebuilt(
        cls, problem: Problem, options: Mapping[str, Any], learned: Mapping[str, Array]
    ) -> "CausalDqEq":
        return cls(problem, BayesPosteriorSettings.model_validate(options), learned)

    def learned(self) -> Mapping[str, Array]:
        return self.weights

    def effects(self) -> Floats:
        """Size of the direct effects (p, p), the mean over the possible graphs."""
        if self.problem.graphs is None:
            raise ConfigError(
                "causal_dq_eq needs a causal graph, and the problem has none; give"
                " Problem.graphs, or use non_causal_eq"
            )
        sizes = [
            np.abs(direct_effects(g, np.asarray(self.covariance))) for g in self.problem.graphs
        ]
        return np.asarray(np.mean(sizes, axis=0))

    def choose(self, state: BayesState, rng: np.random.Generator) -> Ints:
        noise = 1.0 + TIE * rng.random((len(state.time), self.problem.p))
        return most_informative(self.covariance, self.worth(state), self.problem.m, noise=noise)

    def worth(self, state: BayesState) -> Floats:
        """A, what the network takes each stream to be worth, (n, p)."""
        seen = features(self, state, self.alone)
        return np.asarray(advantages(self.weights, seen, self.heard), np.float64)
