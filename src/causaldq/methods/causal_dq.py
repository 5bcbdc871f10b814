"""Causal DQ, the paper's method, at work: a trained network moves the sensors.

In the paper's order: the local statistic Lambda of what was read (section 4.2,
`causaldq.statistic`), the causal statistic phi, the causal state (Lambda_i, phi_i, Y_i), the
Q-value of each stream, the action (the m streams of largest Q), and the alarm (section 4.4). The
network is frozen here. How it learns is in `causaldq.learn`: the double Q update with the causal
entropy of section 4.1 in `learner.py`, the causal reward of section 4.3 in `reward.py`, episodes in
`environment.py`, the loop in `train.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from causaldq.methods.base import Problem, largest
from causaldq.methods.local import LocalMethod, LocalState
from causaldq.statistic import LocalStatistic
from causaldq.types import Floats, Ints

Array = npt.NDArray[Any]

# --- causal state (section 4.2) ------------------------------------------------------------------


def causal_statistic(mean: Floats, effects: Floats) -> Floats:
    """phi_i = mu_i^2 + sum over j != i of mu_i eta_ij mu_j, (n, p), since eta_ii = 1."""
    return mean * (mean @ effects.T)


def causal_state(
    local: LocalStatistic, state: LocalState, effects: Floats | None, cap: int
) -> npt.NDArray[np.float32]:
    """Lambda_i, phi_i and Y_i of all streams, one after the other: (n, 3p).

    Compressed by a signed logarithm; Y is capped. Without effects there is no phi: (n, 2p).
    Everything comes from values that were read.
    """
    unobserved = np.minimum(state.unobserved, cap)
    parts = [state.contributions, unobserved]
    if effects is not None:
        parts.insert(1, causal_statistic(local.mean(state.evidence), effects))
    features = np.concatenate(parts, axis=1)
    compressed: npt.NDArray[np.float32] = np.sign(features) * np.log1p(np.abs(features))
    return compressed.astype(np.float32)


# --- Q-values and action (section 4.2) -----------------------------------------------------------


@dataclass(frozen=True)
class Perceptron:
    """The Q-network: rectified linear units, and a linear layer that gives each stream its Q-value.

    In numpy, so that monitoring with a trained one needs no torch.
    """

    layers: tuple[tuple[Array, Array], ...]
    """Weights (inputs, outputs) and biases (outputs,) of each layer."""

    def __call__(self, states: Array) -> Array:
        """Q-values (n, p) of states (n, inputs)."""
        *hidden, (last_weights, last_biases) = self.layers
        for weights, biases in hidden:
            states = np.maximum(states @ weights + biases, 0)
        return np.asarray(states @ last_weights + last_biases)

    def fill(self, tensors: Mapping[str, Array]) -> None:
        """Take over the weights that another network's `tensors` gave."""
        for place, (weights, biases) in enumerate(self.layers):
            weights[:] = tensors[f"{2 * place}.weight"].T
            biases[:] = tensors[f"{2 * place}.bias"]

    def tensors(self) -> dict[str, Array]:
        """By the names, and in the layout, of torch's Sequential of Linear and ReLU."""
        named: dict[str, Array] = {}
        for place, (weights, biases) in enumerate(self.layers):
            named[f"{2 * place}.weight"] = np.ascontiguousarray(weights.T)
            named[f"{2 * place}.bias"] = biases
        return named

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Array], sizes: Sequence[int]) -> "Perceptron":
        """A network of these sizes, inputs first; ValueError if the tensors are of another."""
        shapes: dict[str, tuple[int, ...]] = {}
        for place, (inputs, outputs) in enumerate(pairwise(sizes)):
            shapes[f"{2 * place}.weight"] = (outputs, inputs)
            shapes[f"{2 * place}.bias"] = (outputs,)
        if {name: tensor.shape for name, tensor in tensors.items()} != shapes:
            raise ValueError("the tensors do not fit the network")
        pairs = pairwise(sizes)
        network = cls(
            tuple((np.empty(pair, np.float32), np.empty(pair[1], np.float32)) for pair in pairs)
        )
        network.fill(tensors)
        return network


def top_streams(q: Array, m: int) -> Ints:
    """The m streams of largest Q, (n, m), ascending; of equals, those of lower index."""
    return largest(q, m, np.broadcast_to(np.arange(q.shape[1]), q.shape))


# --- the method ----------------------------------------------------------------------------------


class CausalDq(LocalMethod):
    """Reads the m streams of largest Q."""

    trained: ClassVar[bool] = True

    def __init__(
        self, problem: Problem, network: Perceptron, effects: Floats | None, cap: int
    ) -> None:
        """`effects` is eta (p, p), None for an agent without phi in its state; `cap` bounds Y."""
        super().__init__(problem, with_mean=effects is not None)
        self.network = network
        self.effects = effects
        self.cap = cap

    @classmethod
    def rebuilt(
        cls, problem: Problem, options: Mapping[str, Any], learned: Mapping[str, npt.NDArray[Any]]
    ) -> "CausalDq":
        network = {name: array for name, array in learned.items() if name[0].isdigit()}
        shapes = [network[name].shape for name in sorted(network, key=_layer) if "weight" in name]
        sizes = [shapes[0][1], *(outputs for outputs, _ in shapes)]
        perceptron = Perceptron.from_tensors(network, sizes)
        return cls(problem, perceptron, learned.get("effects"), int(learned["cap"]))

    def learned(self) -> dict[str, npt.NDArray[Any]]:
        found = {**self.network.tensors(), "cap": np.array(self.cap)}
        return found if self.effects is None else {**found, "effects": self.effects}

    def choose(self, state: LocalState, rng: np.random.Generator) -> Ints:
        features = causal_state(self.local, state, self.effects, self.cap)
        return top_streams(self.network(features), self.problem.m)


def _layer(name: str) -> int:
    return int(name.partition(".")[0])
