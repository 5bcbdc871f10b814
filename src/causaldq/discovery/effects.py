"""Causal propagation effects (eta): how strongly a stream acts on each other stream."""

import numpy as np

from causaldq.discovery.graph import Graph, directions
from causaldq.types import Bools, Floats


def direct_effects(directed: Bools, correlation: Floats) -> Floats:
    """Least-squares effects (p, p) of each stream's parents, on standardised data."""
    effects = np.zeros(correlation.shape)
    for j in range(len(correlation)):
        parents = np.flatnonzero(directed[:, j])
        if len(parents):
            block = correlation[np.ix_(parents, parents)]
            effects[parents, j] = np.linalg.solve(block, correlation[parents, j])
    return effects


def propagation_effects(
    graph: Graph, correlation: Floats, count: int, rng: np.random.Generator
) -> Floats:
    """eta, (p, p): the absolute total effect of i on j, squashed by tanh into (0, 1).

    One on the diagonal; zero where i is no ancestor of j; where edges are left open, the
    mean over `count` admissible directions.
    """
    p = len(correlation)
    total = np.zeros((p, p))
    drawn = 0
    for directed in directions(graph, count, rng):
        reach = np.linalg.inv(np.eye(p) - direct_effects(directed, correlation))
        total += np.tanh(np.abs(np.where(_ancestors(directed), reach, 0.0)))
        drawn += 1
    effects = total / drawn
    np.fill_diagonal(effects, 1.0)
    return effects


def _ancestors(directed: Bools) -> Bools:
    """Entry [i, j] says that a directed path leads from i to j."""
    reach = directed.copy()
    for _ in range(max(1, int(np.ceil(np.log2(len(directed)))))):
        reach = reach | (reach @ reach)
    return reach
