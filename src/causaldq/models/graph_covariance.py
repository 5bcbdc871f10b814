"""The covariance of streams that hang together along a sparse graph.

In some order of the streams, each follows from few of those before it and from something of its
own, x_i = sum_j b_ij x_j + e_i. With T = (I - B)^-1 and D the variances of e,

    S = T D T' = R R',   R = T sqrt(D),

and R is sparse where what begins at a stream dies out along its paths: entries below a thousandth
of what is a stream's own are dropped, which leaves a covariance all the same.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from causaldq.covariance import DENSE_MOST, KINDS, CovarianceLike, Structured, refuse_dense
from causaldq.errors import ConfigError
from causaldq.types import Floats, Ints

SMALL = 1e-3
"""Effects below this, in deviations of what is a stream's own, are dropped."""


@dataclass(frozen=True, eq=False)
class GraphCovariance(Structured):
    """R R' + diag(own), where R is sparse: what begins at a stream reaches few others.

    Parameters
    ----------
    reach : array, shape (e,)
        Entries of R that are not zero, stream by stream: how far what begins at a source moves it.
    source : array of int, shape (e,)
        Column of each.
    start : array of int, shape (p + 1,)
        Where each stream's entries start, and where the last one's end.
    own : array, shape (p,)
        Variance of each stream beyond, zero or more.

    Examples
    --------
    A chain of three streams, each moved by half of the one before:

    >>> chain = GraphCovariance.of_graph([[0, 1], [1, 2]], [0.5, 0.5], [1.0, 0.75, 0.75])
    >>> chain.dense.round(2).tolist()
    [[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]]
    """

    reach: Floats
    source: Ints
    start: Ints
    own: Floats
    kind: ClassVar[str] = "graph"

    def __post_init__(self) -> None:
        p, e = len(self.own), len(self.reach)
        if self.start.shape != (p + 1,) or self.source.shape != (e,) or self.start[-1] != e:
            raise ConfigError(
                f"{e} entries of {len(self.source)} sources, own variances of {p} streams and"
                f" starts {self.start.shape}: give shapes (e,), (e,), (p,) and (p + 1,)"
            )
        if not (np.isfinite(self.reach).all() and np.isfinite(self.own).all()):
            raise ConfigError("entries and own variances must be finite")
        if (self.own < 0).any() or (self.variance <= 0).any():
            raise ConfigError("every stream needs a positive variance, none of it negative")

    @classmethod
    def of_graph(cls, edges: npt.ArrayLike, weights: npt.ArrayLike, own: npt.ArrayLike) -> Self:
        """The covariance of a linear model on a graph without cycles.

        Parameters
        ----------
        edges : array of int, shape (e, 2)
            Cause and effect.
        weights : array, shape (e,)
            How far a cause moves the effect.
        own : array, shape (p,)
            Variance of what begins at each stream, positive.
        """
        from scipy.sparse import csr_array, eye_array
        from scipy.sparse.csgraph import connected_components

        variance = np.asarray(own, np.float64)
        p, pairs = len(variance), np.asarray(edges, np.int64).reshape(-1, 2)
        power = csr_array((np.asarray(weights, np.float64), (pairs[:, 1], pairs[:, 0])), (p, p))
        strong = connected_components(power, connection="strong")[0]
        if strong < p or (pairs[:, 0] == pairs[:, 1]).any():
            raise ConfigError("the graph has a cycle: give one without, each cause before effects")
        if not (variance > 0).all():
            raise ConfigError("every stream needs a positive variance of its own")
        deviation = np.sqrt(variance)
        total = eye_array(p, format="csr")
        while power.nnz:  # (I + B)(I + B^2)(I + B^4)... is the sum of all powers
            total = _without_small(total + power @ total, deviation)
            power = _without_small(power @ power, deviation)
        root = (total * deviation[None, :]).tocsr()
        root.sort_indices()
        start, source = (np.asarray(part, np.int64) for part in (root.indptr, root.indices))
        return cls(root.data, source, start, np.zeros(p))

    @cached_property
    def root(self) -> Any:
        """R (p, q), a sparse array."""
        from scipy.sparse import csr_array

        shape = (len(self.own), int(self.source.max(initial=-1)) + 1)
        return csr_array((self.reach, self.source, self.start), shape=shape)

    @cached_property
    def _across(self) -> Any:
        """R' (q, p)."""
        return self.root.T.tocsr()

    @cached_property
    def variance(self) -> Floats:
        return self.own + np.bincount(self._stream, self.reach**2, len(self.own))

    @property
    def _stream(self) -> Ints:
        """(e,), the row of each entry."""
        return np.repeat(np.arange(len(self.own)), np.diff(self.start))

    @property
    def is_diagonal(self) -> bool:
        return len(np.unique(self.source)) == len(self.source) <= len(self.own)

    def rows_of(self, streams: Ints) -> Floats:
        """(..., p), the covariances of streams (...) with all."""
        flat = streams.reshape(-1)
        found = (self.root[flat] @ self._across).toarray()
        found[np.arange(len(flat)), flat] += self.own[flat]
        return np.asarray(found, np.float64).reshape(*streams.shape, len(self.own))

    def blocks(self, streams: Ints) -> Floats:
        if len(self) <= DENSE_MOST:
            return np.asarray(self.dense[streams[:, :, None], streams[:, None, :]], np.float64)
        found = np.empty((*streams.shape, streams.shape[1]))
        for block, read in zip(found, streams, strict=True):
            near = self.root[read]
            block[:] = (near @ near.T).toarray()
            np.einsum("kk->k", block)[...] += self.own[read]
        return found

    def given(self, streams: Ints, values: Floats) -> tuple[Floats, Floats]:
        mean = np.empty((len(streams), len(self)))
        variance = np.tile(self.variance, (len(streams), 1))
        for row, (read, seen) in enumerate(zip(streams, values, strict=True)):
            covariances = self.rows_of(read)
            slopes = np.linalg.solve(covariances[:, read], covariances)
            mean[row] = seen @ slopes
            variance[row] -= np.einsum("kp,kp->p", covariances, slopes)
        np.put_along_axis(mean, streams, values, axis=1)
        np.put_along_axis(variance, streams, 0.0, axis=1)
        return mean, variance

    def scaled(self, factor: Floats) -> Self:
        return replace(self, reach=self.reach * factor[self._stream], own=self.own * factor**2)

    def ridged(self, share: float) -> Self:
        return replace(self, own=self.own + share * self.variance)

    def draw(self, size: tuple[int, ...], rng: np.random.Generator) -> Floats:
        begun = rng.standard_normal((int(np.prod(size)), self.root.shape[1]))
        own = rng.standard_normal((*size, len(self))) * np.sqrt(self.own)
        return np.asarray((begun @ self._across).reshape(own.shape) + own, np.float64)

    def parts(self) -> dict[str, npt.NDArray[Any]]:
        return {name: getattr(self, name) for name in ("reach", "source", "start", "own")}

    def _matrix(self) -> Floats:
        return np.asarray((self.root @ self._across).toarray() + np.diag(self.own), np.float64)

    # The greedy choice of sensors takes few rows of a matrix: above DENSE_MOST streams, it has what
    # works them out. Whoever wants the whole matrix is refused.

    @cached_property
    def dense(self) -> Any:
        return self._matrix() if len(self) <= DENSE_MOST else _RowByRow(self, self.shape)

    def __getitem__(self, key: Any) -> Any:
        refuse_dense(len(self))
        return self.dense[key]

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        refuse_dense(len(self))
        return np.array(self.dense, dtype=dtype)


STRUCTURES: dict[str, Callable[..., CovarianceLike]] = {
    **KINDS,
    GraphCovariance.kind: GraphCovariance,
}
"""What a saved covariance is made of again, by its kind."""


class _RowByRow:
    """In place of a matrix (p, p), or of n equal ones: rows are worked out when asked for."""

    def __init__(self, covariance: GraphCovariance, shape: tuple[int, ...]) -> None:
        self.covariance, self.shape = covariance, shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Floats:
        """Row [stream], or rows [replications, streams]."""
        return self.covariance.rows_of(np.asarray(key[1] if isinstance(key, tuple) else key))

    def reshape(self, *shape: int) -> "_RowByRow":
        return _RowByRow(self.covariance, shape)

    def diagonal(self) -> Floats:
        return np.broadcast_to(self.covariance.variance, self.shape[:-1])

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.broadcast_to:
            return self.reshape(*args[1])
        return self.diagonal() if function is np.diagonal else NotImplemented


def _without_small(effects: Any, deviation: Floats) -> Any:
    """Effects (p, p), sparse, without those that are next to nothing beside a stream's own."""
    found = effects.tocoo()
    kept = np.abs(found.data) * deviation[found.col] >= SMALL * deviation[found.row]
    found.data, found.coords = found.data[kept], tuple(place[kept] for place in found.coords)
    return found.tocsr()
