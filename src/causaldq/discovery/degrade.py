"""A graph of low quality, made from the true one, to see what quality is worth."""

import math

import numpy as np

from causaldq.discovery.graph import Graph
from causaldq.models.order import topological_order
from causaldq.types import Ints


def degraded(truth: Graph, tpr: float, fdr: float, rng: np.random.Generator) -> Graph:
    """An acyclic graph with a share `tpr` of the true edges, and a share `fdr` of false ones.

    False edges link streams that the truth does not, along the truth's order, so that no cycle
    arises; there may be fewer than asked for where the truth leaves no room.
    """
    true = np.argwhere(truth.directed)
    kept = _some(true, round(tpr * len(true)), rng)
    before = np.empty(len(truth.directed), dtype=np.int64)
    before[topological_order(truth.directed)] = np.arange(len(before))
    linked = truth.directed | truth.directed.T
    free = np.argwhere(~linked & (before[:, None] < before[None, :]))
    wanted = math.ceil(len(kept) * fdr / (1 - fdr))
    directed = np.zeros_like(truth.directed)
    for edges in (kept, _some(free, min(wanted, len(free)), rng)):
        directed[edges[:, 0], edges[:, 1]] = True
    return Graph(directed, np.zeros_like(directed))


def _some(edges: Ints, count: int, rng: np.random.Generator) -> Ints:
    return edges[rng.choice(len(edges), count, replace=False)]
