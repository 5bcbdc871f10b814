"""A graph with directed edges and edges whose direction the data do not settle."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from causaldq.types import Bools, Ints


@dataclass(frozen=True)
class Graph:
    """A partially directed graph over p streams."""

    directed: Bools
    """(p, p); entry [i, j] says that i causes j."""
    undirected: Bools
    """(p, p), symmetric; i and j are linked, the direction is open."""

    @classmethod
    def empty(cls, p: int) -> "Graph":
        return cls(np.zeros((p, p), dtype=bool), np.zeros((p, p), dtype=bool))

    @classmethod
    def from_effects(cls, effects: np.ndarray) -> "Graph":
        """The graph of known direct effects (p, p)."""
        return cls(effects != 0, np.zeros(effects.shape, dtype=bool))

    def subgraph(self, streams: Ints) -> "Graph":
        place = np.ix_(streams, streams)
        return Graph(self.directed[place], self.undirected[place])

    def edges(self) -> int:
        return int(self.directed.sum() + self.undirected.sum() // 2)


@dataclass(frozen=True)
class GraphQuality:
    """How an estimated graph compares with the true one."""

    shd: int
    """Missing, extra and reversed edges."""
    tpr: float | None
    """Share of true edges found with the right or an open direction; None without edges."""
    fdr: float | None
    """Share of found edges that are extra or reversed; None if none was found."""


def quality(found: Graph, truth: Graph) -> GraphQuality:
    """Compare with a true acyclic graph; an open direction counts as right, not as an error."""
    true = truth.directed
    right = (found.directed & true) | (found.undirected & true)
    backwards = found.directed & true.T
    extra = (found.directed | np.triu(found.undirected)) & ~(true | true.T)
    missing = true & ~(found.directed | found.directed.T | found.undirected)
    edges, true_edges = found.edges(), int(true.sum())
    wrong = int(backwards.sum() + extra.sum())
    return GraphQuality(
        shd=wrong + int(missing.sum()),
        tpr=int(right.sum()) / true_edges if true_edges else None,
        fdr=wrong / edges if edges else None,
    )


def directions(graph: Graph, count: int, rng: np.random.Generator) -> Iterator[Bools]:
    """Acyclic graphs (p, p) that settle the open edges, `count` of them drawn at random.

    Dor and Tarsi's construction with a random choice of sink: no cycle, and no collider
    that the graph does not have. Estimates from few rows may admit no such graph; then
    the nearest step that keeps the result acyclic is taken.
    """
    if not graph.undirected.any() and _is_acyclic(graph.directed):
        yield graph.directed
        return
    for _ in range(count):
        yield _random_direction(graph, rng)


def _is_acyclic(directed: Bools) -> bool:
    remaining = np.arange(len(directed))
    while len(remaining):
        sinks = ~directed[np.ix_(remaining, remaining)].any(axis=1)
        if not sinks.any():
            return False
        remaining = remaining[~sinks]
    return True


def _random_direction(graph: Graph, rng: np.random.Generator) -> Bools:
    directed, undirected = graph.directed.copy(), graph.undirected.copy()
    settled = np.zeros_like(directed)
    remaining = list(range(len(directed)))
    while remaining:
        sinks = [x for x in remaining if not directed[x].any()]
        free = [x for x in sinks if _adds_no_collider(x, directed, undirected)]
        x = int(rng.choice(free or sinks or remaining))
        settled[:, x] = directed[:, x] | undirected[:, x] | directed[x]
        directed[x], directed[:, x] = False, False
        undirected[x], undirected[:, x] = False, False
        remaining.remove(x)
    return settled


def _adds_no_collider(x: int, directed: Bools, undirected: Bools) -> bool:
    """Whether edges left open at x may all point to it."""
    linked = directed | directed.T | undirected
    around = np.flatnonzero(linked[x])
    return all(linked[y, z] for y in np.flatnonzero(undirected[x]) for z in around if z != y)
