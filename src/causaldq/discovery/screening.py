"""Which of very many streams are linked: tests only between streams that screening leaves together.

Two streams without correlation are taken for not linked (J. Fan and J. Lv 2008, sure independence
screening), so that the PC algorithm's tests (`causaldq.discovery.pc`) are made within the few
streams that correlate with each, and no p x p matrix is kept. What screening leaves is sparse where
streams have causes of their own; where common factors move all of them, everything correlates with
everything, and the factors are taken out first.
"""

from itertools import combinations
from statistics import NormalDist

import numpy as np

from causaldq.errors import DiscoveryError
from causaldq.models.factors import fit_factors
from causaldq.types import Floats, Ints

AT_ONCE = 500
"""Streams whose correlations with all others are looked at together."""
MOST_NEIGHBOURS = 20
"""Streams that one may correlate with on average: with more, tests within neighbourhoods take too
long."""


def screened_edges(
    rows: Floats, *, level: float = 0.05, most_given: int = 2, factors: int | None = 0
) -> Ints:
    """Pairs of streams that are linked, whatever few of their neighbours are held fixed.

    Parameters
    ----------
    rows : array, shape (n, p)
        Rows of normal operation.
    level : float
        Chance of a false link among all pairs, by Bonferroni's bound, in screening; and of each
        test that follows.
    most_given : int
        Streams held fixed in a test, at most.
    factors : int or None
        Common factors to take out first; None for as many as make later rows likeliest.

    Returns
    -------
    array, shape (e, 2)
        Numbers of streams, the smaller first; directions are left open.

    Raises
    ------
    DiscoveryError
        If a stream has too many neighbours for tests among them: the message says how many, and
        what to do.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(500, 300))
    >>> rows[:, 1] += rows[:, 0]
    >>> rows[:, 2] += rows[:, 1]
    >>> screened_edges(rows).tolist()
    [[0, 1], [1, 2]]
    """
    n, p = rows.shape
    scaled = (rows - rows.mean(0)) / rows.std(0)
    if factors is None or factors > 0:
        scaled = _without_factors(scaled, factors)
    pairs, sizes = _correlated(scaled, level)
    neighbours: list[set[int]] = [set() for _ in range(p)]
    for i, j in pairs.tolist():
        neighbours[i].add(j)
        neighbours[j].add(i)
    correlation = dict(zip(map(tuple, pairs.tolist()), sizes.tolist(), strict=True))
    for depth in range(1, most_given + 1):
        bound = np.tanh(NormalDist().inv_cdf(1 - level / 2) / np.sqrt(n - depth - 3))
        cut = [
            (i, j)
            for i, j in correlation
            if _separated(scaled, i, j, neighbours, depth, float(bound))
        ]
        for i, j in cut:
            del correlation[i, j]
        for i, j in cut:  # at the end of a depth: the order of streams does not matter
            neighbours[i].discard(j)
            neighbours[j].discard(i)
    return np.array(sorted(correlation), dtype=np.int64).reshape(-1, 2)


def _correlated(scaled: Floats, level: float) -> tuple[Ints, Floats]:
    """Pairs (e, 2) that correlate beyond chance, and how much, from some streams at a time."""
    n, p = scaled.shape
    chance = NormalDist().inv_cdf(1 - level / (p * max(p - 1, 1)))
    least, most = np.tanh(chance / np.sqrt(n - 3)), MOST_NEIGHBOURS * p
    pairs, sizes, found = [], [], 0
    for first in range(0, p, AT_ONCE):
        block = scaled[:, first : first + AT_ONCE].T @ scaled / n
        i, j = np.nonzero(np.abs(block) > least)
        later = j > i + first
        pairs.append(np.stack([i[later] + first, j[later]], axis=1))
        sizes.append(block[i[later], j[later]])
        found += len(pairs[-1])
        if found > most:
            raise DiscoveryError(
                f"more than {most:,} of the pairs of {p:,} streams correlate, too many to test"
                " each: take common factors out first (factors=None), give more independent rows,"
                " or give the graph (pipes, flowsheet) as an edge list"
            )
    return np.concatenate(pairs), np.concatenate(sizes)


def _without_factors(scaled: Floats, factors: int | None) -> Floats:
    """What common factors do not explain of rows (n, p), in deviations of its own."""
    loadings = np.asarray(fit_factors(scaled, factors).matrix.loadings)  # type: ignore[union-attr]
    scores = np.linalg.lstsq(loadings, scaled.T, rcond=None)[0].T
    left = scaled - scores @ loadings.T
    return np.asarray((left - left.mean(0)) / left.std(0), np.float64)


def _separated(
    scaled: Floats, i: int, j: int, neighbours: list[set[int]], depth: int, bound: float
) -> bool:
    """Whether some `depth` neighbours of either explain what i and j have in common."""
    for near in (neighbours[i] - {j}, neighbours[j] - {i}):
        for given in combinations(sorted(near), depth):
            values = scaled[:, [i, j, *given]]
            inverse = np.linalg.inv(values.T @ values)
            if abs(inverse[0, 1]) < bound * np.sqrt(inverse[0, 0] * inverse[1, 1]):
                return True
    return False
