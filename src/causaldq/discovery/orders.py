"""Causal graphs drawn from their posterior, by way of orders of the streams.

Given an order, each stream picks its parents among those before it, on its own: the score
of an order is a product of sums over parent sets. So one moves through orders instead of
graphs (Friedman and Koller 2003, Machine Learning 50, 95-125), here by putting one stream
at a time in a new place, drawn from its exact conditional law. A graph is then drawn by
giving each stream one of its possible parent sets.

A parent set C of stream j scores -n/2 log of the share of variance it leaves, minus |C|/2
log n (BIC), minus the log of the number of sets of its size: many sets are tried, so each
counts less.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from math import comb

import numpy as np

from causaldq.discovery.settings import OrderSettings
from causaldq.types import Bools, Floats, Ints


@dataclass(frozen=True)
class ParentScores:
    """Log posterior, up to a constant, of every parent set that is weighed."""

    candidates: Ints
    """(p, k), the possible parents of each stream."""
    sets: Bools
    """(s, k), the sets of candidates; the same for every stream."""
    scores: Floats
    """(p, s)"""
    codes: Ints
    """(s,), each set as the bits of its members."""
    _sums: dict[tuple[int, int], float] = field(default_factory=dict)

    def log_sum(self, stream: int, barred: int) -> float:
        """Log of the summed posterior of all sets without the barred candidates (bits)."""
        key = stream, barred
        if key not in self._sums:
            allowed = self.scores[stream][(self.codes & barred) == 0]
            largest = allowed.max()
            self._sums[key] = float(largest + np.log(np.exp(allowed - largest).sum()))
        return self._sums[key]


def draw_graphs(
    covariance: Floats, rows: int, count: int, settings: OrderSettings, rng: np.random.Generator
) -> Bools:
    """Graphs (count, p, p) from the posterior given the covariance of so many rows."""
    scores = parent_scores(covariance, rows, settings)
    searches = [list(_sampled_places(scores, count, settings, rng)) for _ in range(settings.chains)]

    def reached(places: list[Ints]) -> float:
        return sum(_order_score(scores, place) for place in places)

    # A search that ended in a lesser mode falls short by far more than chance.
    best = max(searches, key=reached)
    return np.array([_drawn_graph(scores, place, rng) for place in best])


def parent_scores(covariance: Floats, rows: int, settings: OrderSettings) -> ParentScores:
    """Score all sets of up to `max_parents` of each stream's candidates."""
    p = len(covariance)
    deviation = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(deviation, deviation)
    k = min(settings.candidates, p - 1)
    chosen = _candidates(correlation, k)
    members = [c for size in range(min(settings.max_parents, k) + 1)
               for c in combinations(range(k), size)]  # fmt: skip
    sets = np.zeros((len(members), k), dtype=bool)
    for row, among in enumerate(members):
        sets[row, list(among)] = True
    sizes = sets.sum(axis=1)
    ways = np.log([comb(p - 1, size) for size in sizes.tolist()])
    scores = np.empty((p, len(members)))
    for j in range(p):
        left = _variance_left(correlation, j, chosen[j], sets)
        scores[j] = -rows / 2 * np.log(left) - sizes / 2 * np.log(rows) - ways
    return ParentScores(chosen, sets, scores, _code(sets))


def _candidates(correlation: Floats, k: int) -> Ints:
    """(p, k): two thirds by partial correlation given all others, the rest by what they add."""
    p = len(correlation)
    precision = np.linalg.inv(correlation)
    partial = np.abs(precision) / np.sqrt(np.outer(np.diag(precision), np.diag(precision)))
    np.fill_diagonal(partial, -1.0)
    chosen = np.empty((p, k), dtype=np.int64)
    first = -(-2 * k // 3)
    for j in range(p):
        found = np.argsort(-partial[j], kind="stable")[:first].tolist()
        while len(found) < k:
            weights = np.linalg.solve(correlation[np.ix_(found, found)], correlation[found])
            left = 1.0 - (correlation[found] * weights).sum(axis=0)
            shared = correlation[j] - correlation[j, found] @ weights
            added = shared**2 / np.maximum(left, 1e-9)
            added[[*found, j]] = -1.0
            found.append(int(added.argmax()))
        chosen[j] = found
    return chosen


def _variance_left(correlation: Floats, stream: int, candidates: Ints, sets: Bools) -> Floats:
    """Share of a stream's variance that each set of candidates leaves, (s,)."""
    left = np.ones(len(sets))
    sizes = sets.sum(axis=1)
    for size in range(1, sizes.max(initial=0) + 1):
        rows = np.flatnonzero(sizes == size)
        members = candidates[np.nonzero(sets[rows])[1].reshape(-1, size)]
        block = correlation[members[:, :, None], members[:, None, :]]
        shared = correlation[members, stream]
        solved = np.linalg.solve(block, shared[:, :, None])[:, :, 0]
        left[rows] -= (shared * solved).sum(axis=1)
    return np.maximum(left, 1e-9)


def _sampled_places(
    scores: ParentScores, count: int, settings: OrderSettings, rng: np.random.Generator
) -> Iterator[Ints]:
    """Places (p,) of the streams in `count` sampled orders."""
    p = len(scores.candidates)
    place = rng.permutation(p)
    may_have = [np.argwhere(scores.candidates == x) for x in range(p)]
    for sweep in range(settings.burn_in + count * settings.spacing):
        # Cautious at first, so that the search does not settle in the nearest mode.
        sharpness = min(1.0, 2 * (sweep + 1) / settings.burn_in)
        for x in rng.permutation(p):
            _move(scores, place, int(x), may_have[x], sharpness, rng)
        if sweep >= settings.burn_in and (sweep - settings.burn_in + 1) % settings.spacing == 0:
            yield place.copy()


def _move(
    scores: ParentScores,
    place: Ints,
    x: int,
    may_have: Ints,
    sharpness: float,
    rng: np.random.Generator,
) -> None:
    """Put stream x in a new place, given the order of the others; `place` is changed.

    At place q, x comes after the q first of the others and before the rest.
    """
    p = len(place)
    others = place - (place > place[x])
    change = np.zeros(p + 1)
    readers, own_bits = may_have[:, 0], 1 << may_have[:, 1]
    behind = others[scores.candidates[readers]] > others[readers][:, None]
    barred = _code(behind) & ~own_bits
    for o, without, bit in zip(readers.tolist(), barred.tolist(), own_bits.tolist(), strict=True):
        change[others[o] + 1] += scores.log_sum(o, without | bit) - scores.log_sum(o, without)
    ahead = others[scores.candidates[x]]
    code = (1 << len(ahead)) - 1
    own = scores.log_sum(x, code)
    change[0] += own
    for index in np.argsort(ahead).tolist():
        code &= ~(1 << index)
        gained = scores.log_sum(x, code)
        change[ahead[index] + 1] += gained - own
        own = gained
    q = _draw(sharpness * np.cumsum(change[:p]), rng)
    place[:] = others + (others >= q)
    place[x] = q


def _code(members: Bools) -> Ints:
    """Sets (..., k) as the bits of their members."""
    return np.asarray(members @ (1 << np.arange(members.shape[-1])), np.int64)


def _draw(logs: Floats, rng: np.random.Generator) -> int:
    """An index, with chances proportional to exp(logs)."""
    chances = np.cumsum(np.exp(logs - logs.max()))
    return int(np.searchsorted(chances, rng.random() * chances[-1], side="right"))


def _barred(scores: ParentScores, place: Ints, stream: int) -> int:
    """The candidates of a stream that come after it, as bits."""
    return int(_code(place[scores.candidates[stream]] > place[stream]))


def _order_score(scores: ParentScores, place: Ints) -> float:
    return sum(scores.log_sum(j, _barred(scores, place, j)) for j in range(len(place)))


def _drawn_graph(scores: ParentScores, place: Ints, rng: np.random.Generator) -> Bools:
    """A graph (p, p) that the order allows."""
    p = len(place)
    graph = np.zeros((p, p), dtype=bool)
    for j in range(p):
        logs = np.where(scores.codes & _barred(scores, place, j), -np.inf, scores.scores[j])
        graph[scores.candidates[j][scores.sets[_draw(logs, rng)]], j] = True
    return graph
