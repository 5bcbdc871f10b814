"""Learning: one update of the double Q-network.

The gradient is written out rather than left to autograd, which spends more time on keeping
books than a network of this size spends on its matrix products. The tests compare both.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from causaldq.learn.replay import Batch
from causaldq.learn.settings import TrainingSettings
from causaldq.methods.causal_dq import Array, Perceptron
from causaldq.seeds import generator
from causaldq.types import Ints

Layers = list[tuple[Tensor, Tensor]]
"""Weights (inputs, outputs) and biases (outputs,) of a network, shared with its arrays."""


def q_network(inputs: int, hidden: Sequence[int], streams: int) -> Perceptron:
    """A fresh network, drawn as torch draws its linear layers."""
    sizes = [inputs, *hidden, streams]
    drawn = [nn.Linear(before, after) for before, after in pairwise(sizes)]
    tensors = nn.Sequential(*(part for layer in drawn for part in (layer, nn.ReLU()))).state_dict()
    return Perceptron.from_tensors({name: t.numpy() for name, t in tensors.items()}, sizes)


def in_torch(network: Perceptron) -> tuple[Perceptron, Layers]:
    """A copy of a network in memory that torch has laid out, and its tensors.

    Products of arrays whose memory numpy has laid out take a quarter longer: torch begins
    them where the processor's vectors do.
    """
    layers = [(torch.tensor(weights), torch.tensor(biases)) for weights, biases in network.layers]
    return Perceptron(tuple((w.numpy(), b.numpy()) for w, b in layers)), layers


def activations(layers: Layers, states: Tensor) -> list[Tensor]:
    """What enters each layer, the states (n, inputs) first, and at last the Q-values (n, p)."""
    values = [states]
    for weights, biases in layers[:-1]:
        values.append(torch.addmm(biases, values[-1], weights).relu_())
    weights, biases = layers[-1]
    values.append(torch.addmm(biases, values[-1], weights))
    return values


def causal_entropy(q: Array, mask: Array, temperature: float) -> tuple[Array, Array]:
    """H_c = -sum of C_i pi_i log pi_i with pi = softmax(Q / tau), (n,); its gradient in Q, (n, p).

    With g_i = C_i pi_i (log pi_i + 1), the gradient is (pi_i sum of g - g_i) / tau; the
    paper's printed one lacks the sum.
    """
    log_policy = q / temperature
    log_policy -= log_policy.max(axis=1, keepdims=True)
    policy = np.exp(log_policy)
    total = policy.sum(axis=1, keepdims=True)
    policy /= total
    log_policy -= np.log(total)
    g = mask * policy
    terms = g * log_policy
    g += terms
    slope = policy * g.sum(axis=1, keepdims=True)
    slope -= g
    slope /= temperature
    return -terms.sum(axis=1), slope


def places(q: Array, streams: Ints) -> Ints:
    """Where streams (n, m) stand in Q-values (n, p) laid out flat."""
    return np.arange(0, q.size, q.shape[1])[:, None] + streams


def set_value(q: Array, streams: Ints) -> Array:
    """Value of a set of streams: the mean of its members' Q; (n,).

    Top-m is then its exact maximiser.
    """
    return np.asarray(q.take(places(q, streams)).sum(axis=1) / streams.shape[1])


def double_q_target(
    shares: Array, online_next: Array, target_next: Array, entropy: Array, discount: float
) -> Array:
    """y for each selected stream, (n, m): the online network picks, the target values."""
    rest = online_next.shape[1] - shares.shape[1]
    picked = online_next.argpartition(max(rest - 1, 0), axis=1)[:, rest:]
    value = set_value(target_next, picked)
    return np.asarray(shares + (discount * value + entropy)[:, None])


class Measured(NamedTuple):
    """What a batch says, for the log."""

    error: Array
    """y minus Q, (n, m) or, if credit goes to the team, (n, 1)."""
    chosen: Array
    """Q of the selected streams, (n, m)."""
    entropy: Array
    """(n,)"""


def loss_slope(
    q: Array,
    q_next: Array,
    target_next: Array,
    batch: Batch,
    temperature: float,
    settings: TrainingSettings,
) -> tuple[Array, Measured]:
    """Gradient in Q (n, p) of the loss: the mean squared error less the weighted mean entropy.

    q and q_next are the online network's values of s and s', target_next the target
    network's of s', (n, p) each. y is taken for a constant.
    """
    selected, shares, hyper = batch.selected, batch.shares, settings.hyperparameters
    if settings.method.causal_entropy:
        entropy, slope = causal_entropy(q, batch.mask, temperature)
        slope *= -hyper.entropy_weight / len(q)
    else:
        entropy, slope = np.zeros(len(q), q.dtype), np.zeros_like(q)
    target = double_q_target(shares, q_next, target_next, entropy, hyper.discount)
    place = places(q, selected)
    chosen = q.take(place)
    if settings.agent.reward.credit == "team":
        # Shares add up to the reward; the future is counted once.
        future = (target - shares).mean(axis=1, keepdims=True)
        error = shares.sum(axis=1, keepdims=True) + future - chosen.mean(axis=1, keepdims=True)
    else:
        error = target - chosen
    slope.reshape(-1)[place] -= (2 / chosen.size) * error
    return slope, Measured(error, chosen, entropy)


@dataclass
class Learner:
    """Both networks and the optimiser."""

    online: Perceptron
    target: Perceptron
    settings: TrainingSettings
    updates: int = 0
    adam: torch.optim.Adam | None = field(init=False)
    """None for plain gradient descent, which has nothing to remember."""

    def __post_init__(self) -> None:
        self.online, self.layers = in_torch(self.online)
        self.target, self.target_layers = in_torch(self.target)
        self.rate = self.settings.hyperparameters.learning_rate
        self.adam = None
        if self.settings.agent.optimiser == "adam":
            parameters = [tensor for layer in self.layers for tensor in layer]
            self.adam = torch.optim.Adam(parameters, lr=self.rate)

    @classmethod
    def fresh(cls, settings: TrainingSettings, inputs: int, p: int) -> "Learner":
        # The only random numbers torch draws; fixing them here keeps the rest in numpy.
        init = generator(settings.seed, settings.network, "weights")
        torch.manual_seed(int(init.integers(2**62)))
        online = q_network(inputs, settings.agent.hidden, p)
        return cls(online, online, settings)

    @torch.inference_mode()
    def update(self, batch: Batch, temperature: float) -> Measured:
        """One step of the optimiser; copies the online network now and then."""
        n = batch.states.shape[1]
        states = torch.from_numpy(batch.states).flatten(0, 1)
        online = activations(self.layers, states)
        target_next = activations(self.target_layers, states[n:])[-1].numpy()
        q = online[-1].numpy()
        slope, measured = loss_slope(q[:n], q[n:], target_next, batch, temperature, self.settings)
        self._descend([entered[:n] for entered in online[:-1]], torch.from_numpy(slope))
        self.updates += 1
        if self.updates % self.settings.agent.target_every == 0:
            self._copy_to_target()
        return measured

    def loss(self, measured: list[Measured]) -> tuple[float, float, float]:
        """Mean loss, Q of selected streams and causal entropy of some updates."""
        error, chosen, entropy = (np.concatenate(part) for part in zip(*measured, strict=True))
        weight = self.settings.hyperparameters.entropy_weight
        mean_entropy = float(entropy.mean(dtype=np.float64))
        square = float(np.square(error).mean(dtype=np.float64))
        return square - weight * mean_entropy, float(chosen.mean(dtype=np.float64)), mean_entropy

    def _descend(self, entered: list[Tensor], slope: Tensor) -> None:
        """Carry the loss's gradient in Q (n, p) back through the layers, and step down.

        `entered` is what went into each layer. Gradient descent changes a layer as soon as the
        gradient has passed through it; Adam first gathers all of it.
        """
        for place in reversed(range(len(self.layers))):
            weights, biases = self.layers[place]
            below = entered[place]
            passed = torch.mm(slope, weights.T) if place else slope
            if self.adam is None:
                weights.addmm_(below.T, slope, alpha=-self.rate)
                biases.add_(slope.sum(dim=0), alpha=-self.rate)
            else:
                weights.grad, biases.grad = torch.mm(below.T, slope), slope.sum(dim=0)
            # A rectified unit passes the gradient on where it is not zero.
            slope = passed.mul_(below.sign()) if place else passed
        if self.adam is not None:
            self.adam.step()

    def _copy_to_target(self) -> None:
        for target, online in zip(self.target_layers, self.layers, strict=True):
            for there, here in zip(target, online, strict=True):
                there.copy_(here)
