"""A sparse graph for very many streams, from rows: which follow from which others, and how far.

For the covariance alone: the order of the streams claims nothing of causes. Any order gives a
covariance, and a good one gives it with few links.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from causaldq.models.factors import HELD_OUT, LEAST, chosen_factors, fit_factors
from causaldq.models.graph_covariance import GraphCovariance
from causaldq.models.rows import Covariance
from causaldq.types import Bools, Floats, Ints

CANDIDATES = 30
"""Streams that another one is tried on."""
MOST = 12
"""Streams that another one follows from."""
AT_ONCE = 250
"""Streams whose products with their candidates are worked out together."""
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
    weights, own = _weights(rows, parents)
    effect, place = np.nonzero(parents >= 0)
    edges = np.stack([parents[effect, place], effect], axis=1)
    found = GraphCovariance.of_graph(edges, weights[effect, place], own)
    return Covariance(found.scaled(1.0 / np.sqrt(found.variance)), "factor", 0.0)


def chosen_structure(rows: Floats) -> Callable[[Floats], Covariance]:
    """What estimates the covariance: factors or a graph, whichever makes the last rows likelier."""
    first = int((1 - HELD_OUT) * len(rows))
    fitted, later = rows[:first], rows[first:]
    factors, parents = chosen_factors(rows), chosen_parents(fitted)
    weights, own = _weights(fitted, parents)
    left = later.T.copy()
    for place in range(parents.shape[1]):
        left -= weights[:, place, None] * later.T[parents[:, place]]
    squares = (left**2).mean(axis=1) / own
    likely = -(np.log(2 * np.pi * own) + squares).sum() / 2
    common: Any = fit_factors(fitted, factors).matrix
    if likely > common.log_likelihood(later):
        return partial(fit_graph, parents=parents)
    return partial(fit_factors, factors=factors)


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
    near, size = _correlates(rows)
    linked, left = _explained(rows, near, near >= 0)
    place = np.empty(p, dtype=np.int64)
    place[np.argsort(-left, kind="stable")] = np.arange(p)
    stream = np.repeat(np.arange(p), near.shape[1])
    shape = (p, p)
    links = csr_array(((size * linked).ravel(), (stream, near.ravel())), shape=shape)
    links.eliminate_zeros()
    links = links.maximum(links.T)
    weak = csr_array((WEAK * size.ravel(), (stream, near.ravel())), shape=shape)
    wide = _strongest((links + links @ links + weak).tocoo())
    before = (wide >= 0) & (place[wide] < place[:, None])
    taken, _ = _explained(rows, wide, before)
    order = np.argsort(~taken, axis=1, kind="stable")[:, : max(int(taken.sum(axis=1).max()), 1)]
    found = np.where(taken, wide, -1)
    return np.asarray(np.take_along_axis(found, order, axis=1), np.int64)


def _correlates(rows: Floats) -> tuple[Ints, Floats]:
    """The streams (p, k) that correlate with each most, and how much, some streams at a time."""
    n, p = rows.shape
    values = rows.astype(np.float32)
    k = min(CANDIDATES, p - 1)
    near, size = np.empty((p, k), dtype=np.int64), np.empty((p, k))
    for first in range(0, p, AT_ONCE):
        found = np.abs(values[:, first : first + AT_ONCE].T @ values) / n
        here = np.arange(len(found))
        found[here, first + here] = -1.0
        now = slice(first, first + len(found))
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


def _explained(rows: Floats, near: Ints, allowed: Bools) -> tuple[Bools, Floats]:
    """Which of the streams (p, k) explain each, (p, k), and the variance that they leave, (p,)."""
    n, p = rows.shape
    parts = [
        _forward(*part, np.log(n) + 2 * np.log(p), n) for part in _products(rows, near, allowed)
    ]
    taken, _, left = (np.concatenate(part) for part in zip(*parts, strict=True))
    return taken, left


def _weights(rows: Floats, parents: Ints) -> tuple[Floats, Floats]:
    """Slopes (p, k) of each stream on its parents, and the variance (p,) that they leave."""
    parts = [_forward(*part, -1.0, len(rows)) for part in _products(rows, parents, parents >= 0)]
    _, weights, left = (np.concatenate(part) for part in zip(*parts, strict=True))
    return weights, np.maximum(left, LEAST)


def _products(rows: Floats, near: Ints, allowed: Bools) -> Iterator[tuple[Floats, Bools]]:
    """Mean products (c, k + 1, k + 1) of near streams and the stream itself, the last, in parts."""
    n, p = rows.shape
    values = np.ascontiguousarray(rows.T, dtype=np.float32)
    both = np.concatenate([near, np.arange(p)[:, None]], axis=1)
    for first in range(0, p, AT_ONCE):
        seen = values[both[first : first + AT_ONCE]]
        products = (seen @ seen.swapaxes(1, 2)).astype(np.float64) / n
        yield products, allowed[first : first + AT_ONCE]


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
