"""The Q-network. In numpy, so that monitoring with a trained one needs no torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from causaldq.methods.base import largest
from causaldq.types import Ints

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Perceptron:
    """Layers of rectified linear units, and a linear one that gives each stream its Q-value."""

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
