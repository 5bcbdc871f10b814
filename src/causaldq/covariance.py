"""Covariances of streams: a matrix, or a structure that never becomes one.

A matrix (p, p) takes 800 MB at p = 10,000. Few common factors, S = B B' + diag(own), take p (r + 1)
numbers, and separate groups the sum of their squares; all that methods ask for comes from them: the
block of the streams read, what it says of the others, and the variances. The functions below take
either form; a matrix gives what it always gave.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from causaldq.errors import ConfigError
from causaldq.types import Bools, Floats, Ints

DENSE_MOST = 2000
"""Streams above which no matrix (p, p) is made."""


class Structured(ABC):
    """A covariance of p streams that is kept in parts."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def variance(self) -> Floats:
        """(p,), the diagonal."""

    @abstractmethod
    def blocks(self, streams: Ints) -> Floats:
        """(n, k, k), of the streams (n, k)."""

    @abstractmethod
    def given(self, streams: Ints, values: Floats) -> tuple[Floats, Floats]:
        """Mean and variance (n, p) of all streams given values (n, k) of streams (n, k).

        Those of the streams read are their own, and zero.
        """

    @abstractmethod
    def scaled(self, factor: Floats) -> Self:
        """The covariance of the streams times factors (p,)."""

    @abstractmethod
    def ridged(self, share: float) -> Self:
        """With a share of each variance added to it."""

    @abstractmethod
    def draw(self, size: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """(*size, p), normal values of mean zero."""

    @abstractmethod
    def parts(self) -> dict[str, npt.NDArray[Any]]:
        """Arrays for a file, from which `from_parts` makes it again."""

    @property
    @abstractmethod
    def is_diagonal(self) -> bool:
        """Whether streams are uncorrelated."""

    @abstractmethod
    def _matrix(self) -> Floats:
        """(p, p)."""

    def __len__(self) -> int:
        return len(self.variance)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self)

    @cached_property
    def dense(self) -> Floats:
        """(p, p), refused above `DENSE_MOST` streams."""
        refuse_dense(len(self))
        return self._matrix()

    def __getitem__(self, key: Any) -> Any:
        return self.dense[key]

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        return np.array(self.dense, dtype=dtype)


@dataclass(frozen=True, eq=False)
class FactorCovariance(Structured):
    """B B' + diag(own): few common factors, and what each stream has of its own.

    Parameters
    ----------
    loadings : array, shape (p, r)
        B, how far each factor moves each stream.
    own : array, shape (p,)
        Variance of each stream that the factors leave, positive.

    Examples
    --------
    >>> one = FactorCovariance(np.array([[0.6], [0.8], [0.0]]), np.array([0.64, 0.36, 1.0]))
    >>> one.dense.round(2).tolist()
    [[1.0, 0.48, 0.0], [0.48, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> one.blocks(np.array([[0, 2]])).round(2).tolist()
    [[[1.0, 0.0], [0.0, 1.0]]]
    """

    loadings: Floats
    own: Floats
    kind: ClassVar[str] = "factor"

    def __post_init__(self) -> None:
        shape = np.shape(self.loadings)
        if len(shape) != 2 or shape[:1] != np.shape(self.own):
            raise ConfigError(
                f"loadings {shape}, own variances {np.shape(self.own)}: give shapes (p, r) and (p,)"
            )
        if not (np.isfinite(self.loadings).all() and np.isfinite(self.own).all()):
            raise ConfigError("loadings and own variances must be finite")
        if (self.own <= 0).any():
            raise ConfigError("every stream needs a positive variance of its own")

    @property
    def factors(self) -> int:
        """r."""
        return int(self.loadings.shape[1])

    @cached_property
    def shared(self) -> Floats:
        """(p,), variance that streams have from the factors."""
        return np.asarray(np.einsum("pr,pr->p", self.loadings, self.loadings), np.float64)

    @cached_property
    def variance(self) -> Floats:
        return self.own + self.shared

    @property
    def is_diagonal(self) -> bool:
        return not self.loadings.any()

    def blocks(self, streams: Ints) -> Floats:
        loadings = self.loadings[streams]
        found = loadings @ loadings.swapaxes(1, 2)
        np.einsum("nkk->nk", found)[...] += self.own[streams]
        return found

    def known_factors(self, streams: Ints) -> Floats:
        """V (n, r, r), covariance of the factors once the streams (n, k) are read."""
        loadings = self.loadings[streams]
        weighed = loadings / self.own[streams][:, :, None]
        precision = np.eye(self.factors) + loadings.swapaxes(1, 2) @ weighed
        return np.asarray(np.linalg.inv(precision), np.float64)

    def given(self, streams: Ints, values: Floats) -> tuple[Floats, Floats]:
        known = self.known_factors(streams)
        seen = np.einsum("nkr,nk->nr", self.loadings[streams], values / self.own[streams])
        mean = np.einsum("nrs,ns->nr", known, seen) @ self.loadings.T
        variance = self.own + np.einsum("npr,pr->np", self.loadings @ known, self.loadings)
        np.put_along_axis(mean, streams, values, axis=1)
        np.put_along_axis(variance, streams, 0.0, axis=1)
        return mean, variance

    def scaled(self, factor: Floats) -> Self:
        return type(self)(self.loadings * factor[:, None], self.own * factor**2)

    def ridged(self, share: float) -> Self:
        return type(self)(self.loadings, self.own + share * self.variance)

    def draw(self, size: tuple[int, ...], rng: np.random.Generator) -> Floats:
        common = rng.standard_normal((*size, self.factors)) @ self.loadings.T
        own = rng.standard_normal((*size, len(self)))
        own *= np.sqrt(self.own)
        return np.asarray(common + own, np.float64)

    def log_likelihood(self, rows: Floats) -> float:
        """Of a normal row, the mean over rows (n, p)."""
        weighed = self.loadings / self.own[:, None]
        precision = np.eye(self.factors) + self.loadings.T @ weighed
        factor = np.linalg.cholesky(precision)
        explained = np.linalg.solve(factor, weighed.T @ rows.T)
        logs = np.log(self.own).sum() + 2 * np.log(np.diag(factor)).sum()
        squares = (rows**2 @ (1.0 / self.own)).mean() - (explained**2).sum(axis=0).mean()
        return float(-(len(self) * np.log(2 * np.pi) + logs + squares) / 2)

    def parts(self) -> dict[str, npt.NDArray[Any]]:
        return {"loadings": self.loadings, "own": self.own}

    def _matrix(self) -> Floats:
        return self.loadings @ self.loadings.T + np.diag(self.own)


@dataclass(frozen=True, eq=False)
class BlockCovariance(Structured):
    """Streams in groups that have nothing to do with each other, as a graph may say.

    Parameters
    ----------
    group : array of int, shape (p,)
        The group of each stream, 0, 1, ...
    matrices : array, shape (groups, s, s)
        Covariance of each group, its streams in ascending order; s is the size of the largest, and
        rows and columns beyond a smaller group's size are not looked at.

    Examples
    --------
    >>> pair, alone = [[1.0, 0.5], [0.5, 1.0]], [[2.0, 0.0], [0.0, 1.0]]
    >>> one = BlockCovariance(np.array([0, 1, 0]), np.array([pair, alone]))
    >>> one.dense.tolist()
    [[1.0, 0.0, 0.5], [0.0, 2.0, 0.0], [0.5, 0.0, 1.0]]
    """

    group: Ints
    matrices: Floats
    kind: ClassVar[str] = "block"

    def __post_init__(self) -> None:
        groups, sizes = np.unique(self.group, return_counts=True)
        wanted = (len(groups), sizes.max(initial=0), sizes.max(initial=0))
        if self.matrices.shape != wanted or (groups != np.arange(len(groups))).any():
            raise ConfigError(
                f"matrices of groups have shape {self.matrices.shape}; give {wanted}, and groups"
                f" 0 to {len(groups) - 1}"
            )
        if not np.isfinite(self.matrices).all() or (self.variance <= 0).any():
            raise ConfigError("covariances of groups must be finite, with a positive diagonal")

    @cached_property
    def members(self) -> list[Ints]:
        """Streams of each group, ascending."""
        order = np.argsort(self.group, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.group[order])) + 1)

    @cached_property
    def place(self) -> Ints:
        """(p,), of each stream in its group."""
        place = np.empty(len(self.group), dtype=np.int64)
        for members in self.members:
            place[members] = np.arange(len(members))
        return place

    @cached_property
    def variance(self) -> Floats:
        return self.matrices[self.group, self.place, self.place]

    @property
    def is_diagonal(self) -> bool:
        return all(len(members) == 1 for members in self.members)

    def matrix_of(self, group: int) -> Floats:
        """(s, s), of one group."""
        size = len(self.members[group])
        return self.matrices[group, :size, :size]

    def blocks(self, streams: Ints) -> Floats:
        group, place = self.group[streams], self.place[streams]
        inside = self.matrices[group[:, :, None], place[:, :, None], place[:, None, :]]
        return np.where(group[:, :, None] == group[:, None, :], inside, 0.0)

    def given(self, streams: Ints, values: Floats) -> tuple[Floats, Floats]:
        mean = np.zeros((len(streams), len(self)))
        variance = np.tile(self.variance, (len(streams), 1))
        for row, (read, seen) in enumerate(zip(streams, values, strict=True)):
            for group in np.unique(self.group[read]):
                here = self.group[read] == group
                matrix, place = self.matrix_of(group), self.place[read[here]]
                weights = np.linalg.solve(matrix[np.ix_(place, place)], matrix[place])
                members = self.members[group]
                mean[row, members] = seen[here] @ weights
                variance[row, members] -= np.einsum("ks,ks->s", matrix[place], weights)
        np.put_along_axis(mean, streams, values, axis=1)
        np.put_along_axis(variance, streams, 0.0, axis=1)
        return mean, variance

    def scaled(self, factor: Floats) -> Self:
        matrices = self.matrices.copy()
        for group, members in enumerate(self.members):
            size = len(members)
            matrices[group, :size, :size] *= np.outer(factor[members], factor[members])
        return type(self)(self.group, matrices)

    def ridged(self, share: float) -> Self:
        matrices = self.matrices.copy()
        np.einsum("gss->gs", matrices)[...] *= 1.0 + share
        return type(self)(self.group, matrices)

    def draw(self, size: tuple[int, ...], rng: np.random.Generator) -> Floats:
        values = np.asarray(rng.standard_normal((*size, len(self))), np.float64)
        for group, members in enumerate(self.members):
            values[..., members] = (
                values[..., members] @ np.linalg.cholesky(self.matrix_of(group)).T
            )
        return values

    def parts(self) -> dict[str, npt.NDArray[Any]]:
        return {"group": self.group, "matrices": self.matrices}

    def _matrix(self) -> Floats:
        return np.asarray(self.blocks(np.arange(len(self))[None])[0], np.float64)


CovarianceLike = Floats | Structured
"""A matrix (p, p), one for each of n replications (n, p, p), or a structure."""

KINDS: dict[str, type[FactorCovariance] | type[BlockCovariance]] = {
    kind.kind: kind for kind in (FactorCovariance, BlockCovariance)
}


# --- either form -------------------------------------------------------------------------------


def refuse_dense(p: int) -> None:
    """Say what to do instead of making a matrix of very many streams."""
    if p > DENSE_MOST:
        raise ConfigError(
            f"a covariance matrix of {p:,} streams takes {8 * p**2 / 1e6:,.0f} MB, and is made for"
            f" at most {DENSE_MOST:,}: give a FactorCovariance (Monitor.fit with"
            ' covariance="factor"), and a method that does without the matrix, such as'
            " bayes_posterior"
        )


def variance_of(covariance: CovarianceLike) -> Floats:
    """(p,), or (n, p) of n matrices."""
    if isinstance(covariance, Structured):
        return covariance.variance
    return np.asarray(np.diagonal(covariance, axis1=-2, axis2=-1), np.float64)


def is_diagonal(covariance: CovarianceLike) -> bool:
    """Whether streams are uncorrelated."""
    if isinstance(covariance, Structured):
        return covariance.is_diagonal
    return bool(np.all(covariance == np.diag(np.diag(covariance))))


def ridged(covariance: CovarianceLike, share: float) -> CovarianceLike:
    """With a share of each variance added to it: keeps solves safe where streams repeat others."""
    if isinstance(covariance, Structured):
        return covariance.ridged(share)
    if np.ndim(covariance) == 3:
        return covariance + share * variance_of(covariance)[:, :, None] * np.eye(
            covariance.shape[1]
        )
    return np.asarray(covariance + share * np.diag(np.diag(covariance)))


def blocks(covariance: CovarianceLike, streams: Ints) -> Floats:
    """(n, k, k), of the streams (n, k)."""
    if isinstance(covariance, Structured):
        return covariance.blocks(streams)
    rows, columns = streams[:, :, None], streams[:, None, :]
    if np.ndim(covariance) == 3:
        return np.asarray(covariance[np.arange(len(streams))[:, None, None], rows, columns])
    return np.asarray(covariance[rows, columns])


def correlation_of(covariance: CovarianceLike, deviation: Floats) -> CovarianceLike:
    """The covariance in deviations (p,) of the streams."""
    if isinstance(covariance, Structured):
        return covariance.scaled(1.0 / deviation)
    return np.asarray(covariance / np.outer(deviation, deviation))


# --- groups of a graph -------------------------------------------------------------------------


def groups_of(linked: Bools | npt.ArrayLike, p: int | None = None) -> Ints:
    """The part of the graph that each stream belongs to, (p,), counted from 0.

    Parameters
    ----------
    linked : array
        Edges (e, 2), numbers of streams, with `p`; or a matrix (p, p), true where two are linked.
    p : int, optional
        Streams, where edges are given.

    Examples
    --------
    >>> groups_of([[0, 3], [1, 4]], p=5).tolist()
    [0, 1, 2, 0, 1]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = np.argwhere(linked) if p is None else np.asarray(linked, np.int64).reshape(-1, 2)
    size = len(np.asarray(linked)) if p is None else p
    graph = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)
