"""A sparse graph for very many streams, from rows: which follow from which others, and how far.

For the covariance alone: the order of the streams claims nothing of causes. Any order gives a
covariance, and a good one gives it with few links.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from causaldq.models.factors import HELD_OUT, LEAST, chosen_factors, fit_factors
from causaldq.models.graph_covariance import GraphCovariance
from causaldq.models.rows import Covariance
from causaldq.seeds import generator
from causaldq.types import Bools, Floats, Ints

CANDIDATES = 30
"""Streams that another one is tried on."""
MOST = 12
"""Streams that another one follows from."""
AT_ONCE = 250
"""Streams whose products with their candidates are worked out together."""
JUDGED = 1000
"""Streams that choose between factors and a graph."""
CLEARLY = 2.0
"""Standard errors by which a graph has to be the likelier one."""
WEAK = 1e-3
"""What a correlation counts beside a link, where there is room for more candidates."""


def fit_graph(rows: Floats, parents: Ints | None = None) -> Covariance:
    """The covariance of standardised rows (n, p) as that of a sparse graph.

    Parameters
    ----------
    rows : array, shape (n, p)
        In standard deviations from their mean.
    parents : array of int, shape (p, k), optional
        Streams that each one follows from, -1 for none; by default `chosen_parents`.

    Returns
    -------
    Covariance
        Its matrix is a `GraphCovariance`.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(500, 6))
    >>> rows[:, 1] += rows[:, 0]
    >>> found = fit_graph((rows - rows.mean(0)) / rows.std(0)).matrix
    >>> np.argwhere(np.triu(found.dense, 1)).tolist()
    [[0, 1]]
    """
    parents = chosen_parents(rows) if parents is None else parents
    everything = np.arange(rows.shape[1])
    _, weights, left = _explained(rows, everything, parents, parents >= 0, penalised=False)
    effect, place = np.nonzero(parents >= 0)
    edges = np.stack([parents[effect, place], effect], axis=1)
    found = GraphCovariance.of_graph(edges, weights[effect, place], np.maximum(left, LEAST))
    found = found.scaled(1.0 / np.sqrt(found.variance))
    return Covariance(found, "factor", 0.0)  # a summary goes by the kind of the structure


def chosen_structure(rows: Floats) -> Callable[[Floats], Covariance]:
    """What estimates the covariance of rows (n, p): factors, or a graph where it is clearly better.

    Judged by how likely the last rows of some streams are, given those of all others (Besag's
    pseudo-likelihood): a graph for all of them is only looked for where it is wanted.
    """
    first = int((1 - HELD_OUT) * len(rows))
    fitted, later = rows[:first], rows[first:]
    factors, p = chosen_factors(rows), rows.shape[1]
    some = np.sort(generator(0, "structure", p).permutation(p)[:JUDGED])
    near, _ = _correlates(fitted, some)
    _, weights, left = _explained(fitted, some, near, near >= 0)
    missed = later.T[some] - np.einsum("sk,skn->sn", weights, later.T[near])
    by_factors = _given_all_others(fit_factors(fitted, factors).matrix, later, some)
    gains = _log_density(missed, np.maximum(left, LEAST)) - by_factors
    if gains.mean() > CLEARLY * gains.std() / np.sqrt(len(some)):
        return partial(fit_graph, parents=chosen_parents(rows))
    return partial(fit_factors, factors=factors)


def _given_all_others(covariance: Any, rows: Floats, streams: Ints) -> Floats:
    """Mean log density (s,) of streams (s,) in rows (n, p), given the others, with factors."""
    weighed = covariance.loadings / covariance.own[:, None]
    known = covariance.known_factors(np.arange(len(covariance))[None])[0]
    near, own = weighed[streams], covariance.own[streams]
    precision = 1.0 / own - np.einsum("sr,sr->s", near @ known, near)
    explained = near @ (known @ (rows @ weighed).T)
    left = (rows.T[streams] / own[:, None] - explained) / precision[:, None]
    return _log_density(left, 1.0 / precision)


def _log_density(left: Floats, variance: Floats) -> Floats:
    """Mean over rows (s,) of the normal log density of what is left (s, n)."""
    return np.asarray(-(np.log(2 * np.pi * variance) + (left**2).mean(1) / variance) / 2)


def chosen_parents(rows: Floats) -> Ints:
    """Streams that each one follows from, (p, k), -1 for none, without cycles; of rows (n, p).

    Every stream is first explained by those that correlate with it, whatever the order. Those that
    the others explain least come first: what begins upstream is mostly a stream's own. Then each is
    explained by those before it, among the streams that it is linked with in one step or two: two
    causes of one effect have no correlation, and matter to each other once the effect comes first.
    Streams are added one by one while the likelihood gains more than the extended BIC takes
    (J. Chen and Z. Chen 2008).
    """
    from scipy.sparse import csr_array

    p = rows.shape[1]
    everything = np.arange(p)
    near, size = _correlates(rows, everything)
    linked, _, left = _explained(rows, everything, near, near >= 0)
    place = np.empty(p, dtype=np.int64)
    place[np.argsort(-left, kind="stable")] = everything
    stream, shape = np.repeat(everything, near.shape[1]), (p, p)
    links = csr_array(((size * linked).ravel(), (stream, near.ravel())), shape=shape)
    links.eliminate_zeros()
    links = links.maximum(links.T)
    weak = csr_array((WEAK * size.ravel(), (stream, near.ravel())), shape=shape)
    wide = _strongest((links + links @ links + weak).tocoo())
    before = (wide >= 0) & (place[wide] < place[:, None])
    taken, _, _ = _explained(rows, everything, wide, before)
    order = np.argsort(~taken, axis=1, kind="stable")[:, : max(int(taken.sum(axis=1).max()), 1)]
    found = np.where(taken, wide, -1)
    return np.asarray(np.take_along_axis(found, order, axis=1), np.int64)


def _correlates(rows: Floats, streams: Ints) -> tuple[Ints, Floats]:
    """Those (s, k) that correlate most with streams (s,), and how much, some at a time."""
    n, p = rows.shape
    values = rows.astype(np.float32)
    k = min(CANDIDATES, p - 1)
    near, size = np.empty((len(streams), k), dtype=np.int64), np.empty((len(streams), k))
    for first in range(0, len(streams), AT_ONCE):
        now = slice(first, first + AT_ONCE)
        found = np.abs(values[:, streams[now]].T @ values) / n
        found[np.arange(len(found)), streams[now]] = -1.0
        near[now] = np.argpartition(found, p - k, axis=1)[:, p - k :]
        size[now] = np.take_along_axis(found, near[now], axis=1)
    return near, size


def _strongest(links: Any) -> Ints:
    """The streams (p, k) with the strongest links (p, p), sparse, to each; -1 for none."""
    others = links.row != links.col
    row, column, size = links.row[others], links.col[others], links.data[others]
    order = np.lexsort((-size, row))
    row, column = row[order], column[order]
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    found = np.full((links.shape[0], CANDIDATES), -1, dtype=np.int64)
    kept = rank < CANDIDATES
    found[row[kept], rank[kept]] = column[kept]
    return found


def _explained(
    rows: Floats, streams: Ints, near: Ints, allowed: Bools, *, penalised: bool = True
) -> tuple[Bools, Floats, Floats]:
    """Streams (s,) by those near them (s, k): which are taken, their slopes, variance left (s,)."""
    n, p = rows.shape
    penalty = np.log(n) + 2 * np.log(p) if penalised else -1.0  # of the extended BIC
    values = np.ascontiguousarray(rows.T, dtype=np.float32)
    both = np.concatenate([near, streams[:, None]], axis=1)
    parts = []
    for first in range(0, len(streams), AT_ONCE):
        seen = values[both[first : first + AT_ONCE]]
        products = (seen @ seen.swapaxes(1, 2)).astype(np.float64) / n
        parts.append(_forward(products, allowed[first : first + AT_ONCE], penalty, n))
    taken, slopes, left = (np.concatenate(part) for part in zip(*parts, strict=True))
    return taken, slopes, left


def _forward(
    products: Floats, allowed: Bools, penalty: float, n: int
) -> tuple[Bools, Floats, Floats]:
    """Forward selection of regressors from products (c, k + 1, k + 1), the response last.

    One regressor is swept in at a time, the one that leaves least, while twice the log likelihood
    of n rows gains more than the penalty: which are in (c, k), slopes (c, k), variance left (c,).
    """
    free, taken = allowed.copy(), np.zeros_like(allowed)
    swept = products.copy()
    diagonal = np.einsum("ckk->ck", swept)
    least = LEAST * diagonal[:, :-1]
    for _ in range(min(MOST, free.shape[1])):
        usable = free & (diagonal[:, :-1] > least)
        gain = np.where(usable, swept[:, :-1, -1] ** 2, 0.0) / np.where(usable, diagonal[:, :-1], 1)
        best = gain.argmax(axis=1)
        share = gain.max(axis=1) / np.maximum(diagonal[:, -1], LEAST**2)
        more = -n * np.log1p(-np.minimum(share, 1 - LEAST**2)) > penalty
        here = np.flatnonzero(more & usable.any(axis=1))
        if not len(here):
            break
        at, z = np.arange(len(here)), best[here]
        part = swept[here]
        column = part[at, :, z]
        pivot = column[at, z]
        part -= column[:, :, None] * column[:, None, :] / pivot[:, None, None]
        part[at, :, z] = part[at, z, :] = column / pivot[:, None]
        part[at, z, z] = -1.0 / pivot
        swept[here] = part
        taken[here, z], free[here, z] = True, False
    return taken, np.where(taken, swept[:, :-1, -1], 0.0), swept[:, -1, -1]
