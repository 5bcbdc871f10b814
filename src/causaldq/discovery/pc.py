"""The PC algorithm, with thousands of tests made in one go.

P. Spirtes and C. Glymour (1991). An algorithm for fast recovery of sparse causal graphs. Social
Science Computer Review 9(1), 62-72; skeleton in the order-independent form of Colombo and
Maathuis (2014), JMLR 15, 3741-3782.

Gives the graph of causal-learn's `pc` with its defaults, mark for mark: where estimates
contradict each other the result depends on the order of steps, so this order is theirs.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations, islice
from statistics import NormalDist

import numpy as np

from causaldq.discovery.graph import Graph
from causaldq.types import Bools, Floats, Ints

Separators = dict[tuple[int, int], set[int]]
"""Streams that were in a set which separates two others, by the pair in either order."""


def pc(rows: Floats, level: float) -> Graph:
    """The partially directed graph of rows (n, p), by Fisher's z-tests at a level."""
    linked, separators = skeleton(np.asarray(np.corrcoef(rows.T)), len(rows), level)
    graph = _Orientation(linked)
    graph.orient_colliders(separators)
    graph.follow_meek()
    return Graph(graph.directed, linked & ~graph.directed & ~graph.directed.T)


def skeleton(correlation: Floats, n: int, level: float) -> tuple[Bools, Separators]:
    """Which streams are linked (p, p), given a correlation of n rows, and what separates others.

    Links are cut at the end of a depth: the order of streams does not matter.
    """
    p = len(correlation)
    linked = ~np.eye(p, dtype=bool)
    separators: Separators = defaultdict(set)
    depth = 0
    while linked.sum(axis=1).max() > depth:
        cut = np.zeros((p, p), dtype=bool)
        for tests in _tests(linked, depth):
            for x, y, *given in tests[independent(correlation, n, tests, level)].tolist():
                cut[x, y] = cut[y, x] = True
                separators[x, y].update(given)
                separators[y, x].update(given)
        linked &= ~cut
        depth += 1
    return linked, separators


AT_ONCE = 10_000
"""Tests made in one go; more would only take memory."""


def _tests(linked: Bools, depth: int) -> Iterator[Ints]:
    """Two linked streams, and `depth` others linked to the first; (tests, 2 + depth) at a time."""
    every = (
        (x, y, *given)
        for x, row in enumerate(linked)
        for y in np.flatnonzero(row).tolist()
        for given in combinations([z for z in np.flatnonzero(row).tolist() if z != y], depth)
    )
    while some := list(islice(every, AT_ONCE)):
        yield np.array(some, dtype=np.int64)


def independent(correlation: Floats, n: int, tests: Ints, level: float) -> Bools:
    """Which pairs of streams are independent given others, (tests,), by Fisher's z.

    The first two columns of the tests (tests, 2 + depth) are the pairs.
    """
    # The same pair in another order is to give the same number to the last digit.
    ordered = np.concatenate([np.sort(tests[:, :2], axis=1), tests[:, 2:]], axis=1)
    inverse = np.linalg.inv(correlation[ordered[:, :, None], ordered[:, None, :]])
    partial = -inverse[:, 0, 1] / np.sqrt(np.abs(inverse[:, 0, 0] * inverse[:, 1, 1]))
    partial = np.clip(partial, np.finfo(float).eps - 1.0, 1.0 - np.finfo(float).eps)
    z = np.sqrt(n - tests.shape[1] - 1) * np.abs(0.5 * np.log((1 + partial) / (1 - partial)))
    return np.asarray(z < NormalDist().inv_cdf(1.0 - level / 2))


class _Orientation:
    """Arrows on a skeleton, and what they make an ancestor of what."""

    def __init__(self, linked: Bools) -> None:
        self.linked = linked
        self.directed = np.zeros_like(linked)
        """[i, j]: an arrow from i to j."""
        self.descends = np.eye(len(linked), dtype=bool)
        """[j, i]: i is known as an ancestor of j. Not all of them: it is kept step by step."""

    def is_open(self, i: int, j: int) -> bool:
        return bool(self.linked[i, j] and not self.directed[i, j] and not self.directed[j, i])

    def point(self, i: int, j: int) -> None:
        """Make it i -> j."""
        if self.directed[i, j]:
            # An arrow drawn once more: ancestors are gathered anew without it.
            self.directed[i, j] = False
            self.descends = np.eye(len(self.linked), dtype=bool)
            for a, b in reversed(np.argwhere(np.triu(self.directed | self.directed.T)).tolist()):
                self._inherit(*((a, b) if self.directed[a, b] else (b, a)))
        self.directed[i, j] = True
        self._inherit(i, j)

    def _inherit(self, i: int, j: int) -> None:
        self.descends[j, i] = True
        self.descends[j] |= self.descends[i]
        self.descends[:, i] |= self.descends[:, j]

    def orient_colliders(self, separators: Separators) -> None:
        """x -> y <- z wherever y never separated x from z; earlier arrows stay."""
        for x, y, z in self._chains():
            shielded = self.linked[x, z] or x > z or y in separators[x, z]
            if not (shielded or self.directed[y, x] or self.directed[y, z]):
                self.point(x, y)
                self.point(z, y)

    def follow_meek(self) -> None:
        """What follows from arrows: no new collider and no cycle (Meek's first three rules)."""
        chains = self._chains()
        unshielded = [(i, j, k) for i, j, k in chains if not self.linked[i, k]]
        triangles = [(i, j, k) for i, j, k in chains if self.linked[i, k]]
        kites = self._kites(triangles)
        changed = True
        while changed:
            changed = False
            for i, j, k in unshielded:
                if self.directed[i, j] and self.is_open(j, k):
                    changed |= self._point_unless_cyclic(j, k)
            for i, j, k in triangles:
                if self.directed[i, j] and self.directed[j, k] and self.is_open(i, k):
                    changed |= self._point_unless_cyclic(i, k)
            for i, j, k, end in kites:
                arrows = self.directed[j, end] and self.directed[k, end]
                if arrows and self.is_open(i, j) and self.is_open(i, k) and self.is_open(i, end):
                    changed |= self._point_unless_cyclic(i, end)

    def _point_unless_cyclic(self, i: int, j: int) -> bool:
        if self.descends[i, j]:
            return False
        self.point(i, j)
        return True

    def _chains(self) -> list[tuple[int, int, int]]:
        """All i - j - k, in causal-learn's order: ends with a tail before those with an arrow."""
        tails = self.linked & ~self.directed.T
        links = [
            (int(j), int(i)) for ends in (tails, self.directed.T) for i, j in np.argwhere(ends)
        ]
        following: dict[int, list[int]] = defaultdict(list)
        for i, j in links:
            following[i].append(j)
        return [(i, j, k) for i, j in links for k in following[j] if k != i]

    def _kites(self, triangles: list[tuple[int, int, int]]) -> list[tuple[int, int, int, int]]:
        """i - j - l and i - k - l with i - l, but not j - k, as (i, j, k, l)."""
        middles: dict[tuple[int, int], list[int]] = defaultdict(list)
        for i, j, end in triangles:
            middles[i, end].append(j)
        return [
            (i, j, k, end)
            for i, j, end in triangles
            for k in middles[i, end]
            if j < k and not self.linked[j, k]
        ]
