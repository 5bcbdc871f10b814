"""The Q-network and the quantities computed on its output."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn


def q_network(inputs: int, hidden: Sequence[int], streams: int) -> nn.Sequential:
    """A perceptron with one Q-value a stream."""
    sizes = [inputs, *hidden]
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], streams))


def causal_entropy(q: Tensor, mask: Tensor, temperature: float) -> Tensor:
    """H_c = -sum of C_i pi_i log pi_i with pi = softmax(Q / tau); (n,)."""
    log_policy = torch.log_softmax(q / temperature, dim=1)
    return -(mask * log_policy.exp() * log_policy).sum(dim=1)


def set_value(q: Tensor, streams: Tensor) -> Tensor:
    """Value of a set of streams: the mean of its members' Q; (n,).

    Top-m is then its exact maximiser.
    """
    return q.gather(1, streams).mean(dim=1)


def top_streams(q: Tensor, m: int) -> Tensor:
    """The m streams of largest Q, (n, m), ascending; of equals, those of lower index."""
    order = torch.sort(q, dim=1, descending=True, stable=True).indices
    return order[:, :m].sort(dim=1).values


def double_q_target(
    shares: Tensor, online_next: Tensor, target_next: Tensor, entropy: Tensor, discount: float
) -> Tensor:
    """y for each selected stream, (n, m): the online network picks, the target values."""
    picked = online_next.topk(shares.shape[1], dim=1, sorted=False).indices
    value = set_value(target_next, picked)
    return shares + (discount * value + entropy)[:, None]
