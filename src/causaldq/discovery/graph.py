"""A graph with directed edges and edges whose direction the data do not settle."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from causaldq.types import Bools, Ints

Edges = tuple[tuple[int, int], ...]


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
    """Acyclic graphs (p, p) that settle the open edges: all of them, or `count` at random.

    Admissible is what has no cycle and no collider that the graph does not have. Parts of the
    graph that are linked by open edges settle independently, so each part is enumerated, and
    every combination is equally likely. Estimates from few rows may leave a part without
    an admissible direction, or with too many to list; it is then settled at random, from its
    sinks on, keeping the result acyclic.
    """
    parts = [_settled(graph, part) for part in _open_parts(graph.undirected)]
    if not is_acyclic(graph.directed) or any(not options for options in parts):
        for _ in range(count):
            yield _random_direction(graph, rng)
        return
    few = prod(len(options) for options in parts) <= count
    for combination in product(*parts) if few else _drawn(parts, count, rng):
        settled = _with_edges(graph.directed, combination)
        # Parts of a contradictory estimate can close a cycle through its directed edges.
        yield settled if is_acyclic(settled) else _random_direction(graph, rng)


def _drawn(
    parts: list[list[Edges]], count: int, rng: np.random.Generator
) -> Iterator[tuple[Edges, ...]]:
    for _ in range(count):
        yield tuple(options[rng.integers(len(options))] for options in parts)


LISTED = 2000
"""Most directions of one part that are enumerated."""


def _with_edges(directed: Bools, combination: tuple[Edges, ...]) -> Bools:
    settled = directed.copy()
    for edges in combination:
        for i, j in edges:
            settled[i, j] = True
    return settled


def _open_parts(undirected: Bools) -> list[Edges]:
    """Open edges, grouped by the parts of the graph that they link."""
    label = np.arange(len(undirected))
    edges = [(int(i), int(j)) for i, j in np.argwhere(np.triu(undirected))]
    for i, j in edges:
        label[label == label[j]] = label[i]
    groups: dict[int, list[tuple[int, int]]] = {}
    for i, j in edges:
        groups.setdefault(int(label[i]), []).append((i, j))
    return [tuple(group) for group in groups.values()]


def _settled(graph: Graph, part: Edges) -> list[Edges]:
    """All admissible directions of a part's edges; none if there are more than are listed."""
    linked = graph.directed | graph.directed.T | graph.undirected
    directed = graph.directed.copy()
    found: list[Edges] = []

    def adds_collider(i: int, j: int) -> bool:
        return any(k != i and not linked[k, i] for k in np.flatnonzero(directed[:, j]))

    def settle(chosen: Edges) -> bool:
        """Extend the choice; False once there are too many."""
        if len(chosen) == len(part):
            found.append(chosen)
            return len(found) <= LISTED
        for i, j in (part[len(chosen)], part[len(chosen)][::-1]):
            if adds_collider(i, j) or _reaches(directed, j, i):
                continue
            directed[i, j] = True
            go_on = settle((*chosen, (i, j)))
            directed[i, j] = False
            if not go_on:
                return False
        return True

    return found if settle(()) else []


def _reaches(directed: Bools, start: int, end: int) -> bool:
    """Whether a directed path leads from start to end."""
    seen = np.zeros(len(directed), dtype=bool)
    frontier = directed[start].copy()
    while frontier.any() and not frontier[end]:
        seen |= frontier
        frontier = directed[frontier].any(axis=0) & ~seen
    return bool(frontier[end])


def is_acyclic(directed: Bools) -> bool:
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
