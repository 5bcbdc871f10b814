"""The local statistic: what the observed values so far say about each stream's mean.

With Z the streams read at step n, S_Z their block of the in-control covariance, and E
the matrix that selects them, memory decays by lambda at each step:

    h_n = (1 - lambda)   h_{n-1} + E' S_Z^-1 x_n
    J_n = (1 - lambda)   J_{n-1} + E' S_Z^-1 E
    K_n = (1 - lambda)^2 K_{n-1} + E' S_Z^-1 E

K_n is the covariance of h_n when all is well, so h' K^-1 h is chi-square for the observed
directions: the normalised form. The raw form, h' J^-1 h = mu' J mu with the posterior mean
mu = J^-1 h, is what the paper prints; its stationary law is chi-square / (2 - lambda).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from causaldq.covariance import (
    DENSE_MOST,
    CovarianceLike,
    Structured,
    blocks,
    is_diagonal,
    variance_of,
)
from causaldq.setting import Positive, Settings, Share
from causaldq.types import Floats, Ints


class StatisticSettings(Settings):
    """The local statistic of the paper's section 4.2."""

    decay: Annotated[Share, Field(description="lambda, the share of memory lost at each step")] = (
        0.02
    )
    form: Annotated[
        Literal["normalised", "raw"],
        Field(description="normalised: chi-square null law; raw: as printed, chi2/(2-lambda)"),
    ] = "normalised"
    ridge: Annotated[
        Positive, Field(description="added to the precision so that solves are safe")
    ] = 1e-06


@dataclass(frozen=True)
class Evidence:
    """h, J and K for n replications.

    J and K are kept for the q streams that some replication has read: elsewhere they are
    zero, and many a policy reads few streams. They are diagonals if streams are independent,
    or too many, and empty, (n, 0), if nobody asks for them.
    """

    h: Floats
    """(n, p)"""
    known: Ints
    """(q,), ascending: the streams of J and K; all of them if those are diagonals."""
    j: Floats
    """(n, q, q) or (n, p)"""
    k: Floats
    """(n, q, q) or (n, p)"""

    def take(self, rows: npt.NDArray[np.generic]) -> "Evidence":
        return Evidence(self.h[rows], self.known, self.j[rows], self.k[rows])

    def put(self, rows: npt.NDArray[np.generic], other: "Evidence") -> "Evidence":
        known = np.union1d(self.known, other.known)
        here, there = self.knowing(known), other.knowing(known)
        replaced = Evidence(here.h.copy(), known, here.j.copy(), here.k.copy())
        replaced.h[rows], replaced.j[rows], replaced.k[rows] = there.h, there.j, there.k
        return replaced

    def knowing(self, known: Ints) -> "Evidence":
        """The same, with room for more streams."""
        if len(known) == len(self.known):
            return self
        place = np.searchsorted(known, self.known)

        def widened(matrices: Floats) -> Floats:
            if matrices.ndim == 2:
                return matrices
            wide = np.zeros((len(matrices), len(known), len(known)))
            wide[:, place[:, None], place] = matrices
            return wide

        return Evidence(self.h, known, widened(self.j), widened(self.k))


class LocalStatistic:
    """Updates evidence and reads statistics from it, batched over replications."""

    def __init__(
        self, covariance: CovarianceLike, settings: StatisticSettings, *, with_mean: bool = True
    ) -> None:
        """Without the mean, the normalised form needs no J.

        J and K of very many correlated streams are out of reach: each stream keeps its own entry
        of them, and its statistic is that of its own evidence, freed of the streams read with it.
        """
        if isinstance(covariance, Structured) and len(covariance) <= DENSE_MOST:
            covariance = covariance.dense
        self.covariance = covariance
        self.settings = settings
        self.uncorrelated = is_diagonal(covariance)
        self.independent = self.uncorrelated or isinstance(covariance, Structured)
        self.keeps_j = with_mean or settings.form == "raw"
        self.keeps_k = settings.form == "normalised"

    def start(self, n: int) -> Evidence:
        """Nothing observed yet."""
        p = len(self.covariance)
        shape = (n, p) if self.independent else (n, 0, 0)
        return Evidence(
            np.zeros((n, p)),
            np.arange(p if self.independent else 0),
            np.zeros(shape if self.keeps_j else (n, 0)),
            np.zeros(shape if self.keeps_k else (n, 0)),
        )

    def update(self, evidence: Evidence, streams: Ints, values: Floats) -> Evidence:
        """Take in the values (n, m) of the streams (n, m) read at this step."""
        keep = 1.0 - self.settings.decay
        n, p = evidence.h.shape
        # Places in arrays laid out flat: numpy adds there much faster than at rows and columns.
        place = np.arange(0, n * p, p)[:, None] + streams
        if self.uncorrelated:
            precision = 1.0 / variance_of(self.covariance)[streams]
            seen, matrix_place = precision * values, place
        else:
            precision = self._precision(streams)
            seen = (precision @ values[:, :, None])[:, :, 0]
            if self.independent:
                precision, matrix_place = np.einsum("nii->ni", precision), place
            else:
                evidence, matrix_place = _with_places(evidence, streams)
        return Evidence(
            h=_faded(evidence.h, keep, place, seen),
            known=evidence.known,
            j=_faded(evidence.j, keep, matrix_place, precision) if self.keeps_j else evidence.j,
            k=_faded(evidence.k, keep**2, matrix_place, precision) if self.keeps_k else evidence.k,
        )

    def _precision(self, streams: Ints) -> Floats:
        """S_Z^-1 of each replication, (n, m, m); those that read the same streams share it."""
        first: dict[bytes, int] = {}
        same = [first.setdefault(row.tobytes(), number) for number, row in enumerate(streams)]
        rows = list(first.values())
        sets = streams[rows]
        precision = inverse_positive(blocks(self.covariance, sets))
        return precision if len(rows) == len(same) else precision[np.searchsorted(rows, same)]

    def mean(self, evidence: Evidence) -> Floats:
        """mu_n, the posterior mean of each stream (n, p); 0 where nothing was observed."""
        if not self.keeps_j:
            raise ValueError("this local statistic was made without the mean")
        return self._solve(evidence, evidence.j)

    def contributions(self, evidence: Evidence) -> Floats:
        """Lambda_i, each stream's own term of the quadratic form (n, p)."""
        matrix = evidence.k if self.settings.form == "normalised" else evidence.j
        return evidence.h * self._solve(evidence, matrix)

    def _solve(self, evidence: Evidence, matrix: Floats) -> Floats:
        """(matrix + ridge I)^-1 h, (n, p)."""
        h, known = evidence.h, evidence.known
        if self.independent:
            return h / (matrix + self.settings.ridge)
        if len(known) == h.shape[1]:
            return solve_positive(matrix, self.settings.ridge, h)
        solution = np.zeros_like(h)
        solution[:, known] = solve_positive(matrix, self.settings.ridge, h[:, known])
        return solution


def _with_places(evidence: Evidence, streams: Ints) -> tuple[Evidence, Ints]:
    """Evidence that knows the streams (n, m), and where they stand in its flat matrices."""
    n, p = evidence.h.shape
    place = streams
    if len(evidence.known) < p:
        is_known = np.zeros(p, dtype=bool)
        is_known[evidence.known] = is_known[streams] = True
        evidence = evidence.knowing(np.flatnonzero(is_known))
        place = (np.cumsum(is_known) - 1)[streams]
    q = len(evidence.known)
    row = q * np.arange(n)[:, None] + place
    return evidence, q * row[:, :, None] + place[:, None, :]


def _faded(before: Floats, keep: float, place: Ints, added: Floats) -> Floats:
    """keep * before, plus what is added at some places of the flat array."""
    after = keep * before
    after.reshape(-1)[place] += added
    return after


SMALL = 16
"""Below this size numpy's general routines, a loop in C, beat Cholesky factors in a Python loop."""


def solve_positive(matrices: Floats, ridge: float, h: Floats) -> Floats:
    """x (n, p) with (A + ridge I) x = h, for symmetric positive definite A (n, p, p).

    A Cholesky factor takes half the work of the LU factor of a general solver, and OpenBLAS
    finds the lower one faster than the upper.
    """
    if h.shape[1] < SMALL:
        solved = np.linalg.solve(matrices + ridge * np.eye(h.shape[1]), h[:, :, None])
        return np.asarray(solved[:, :, 0], np.float64)
    from scipy.linalg.lapack import dposv  # slow to import; small problems do without

    solution = h.copy()
    for matrix, row in zip(_with_ridge(matrices, ridge), solution, strict=True):
        *_, failed = dposv(matrix, row, lower=True, overwrite_a=True, overwrite_b=True)
        _refuse(failed)
    return solution


def inverse_positive(matrices: Floats) -> Floats:
    """A^-1 (n, p, p) of symmetric positive definite A."""
    if matrices.shape[1] < SMALL:
        return np.asarray(np.linalg.inv(matrices), np.float64)
    inverses = np.empty_like(matrices)
    for factor, inverse in zip(inverse_factors(matrices, 0.0), inverses, strict=True):
        np.matmul(factor.T, factor, out=inverse)
    return inverses


def posterior(matrices: Floats, ridge: float, h: Floats) -> tuple[Floats, Floats]:
    """x (n, p) with (A + ridge I) x = h, and the diagonal of (A + ridge I)^-1, (n, p)."""
    if h.shape[1] < SMALL:
        inverses = np.linalg.inv(matrices + ridge * np.eye(h.shape[1]))
        return (inverses @ h[:, :, None])[:, :, 0], np.einsum("nii->ni", inverses)
    solution, diagonal = np.empty_like(h), np.empty_like(h)
    for row, factor in enumerate(inverse_factors(matrices, ridge)):
        solution[row] = (factor @ h[row]) @ factor
        np.einsum("ij,ij->j", factor, factor, out=diagonal[row])
    return solution, diagonal


def inverse_factors(matrices: Floats, ridge: float) -> Iterator[Floats]:
    """F = L^-1 (p, p), so that F'F is the inverse, for each A + ridge I = L L' in turn."""
    from scipy.linalg.lapack import dpotrf, dtrtri

    for matrix in _with_ridge(matrices, ridge):
        factor, failed = dpotrf(matrix, lower=True, overwrite_a=True)
        _refuse(failed)
        inverse, failed = dtrtri(factor, lower=True, overwrite_c=True)
        _refuse(failed)
        yield inverse


def _with_ridge(matrices: Floats, ridge: float) -> Iterator[Floats]:
    """A + ridge I for each A in turn, in the same place, laid out as LAPACK wants it.

    LAPACK counts along columns, and a symmetric matrix is its own transpose.
    """
    work = np.empty(matrices.shape[1:], order="F")
    diagonal = np.einsum("ii->i", work)
    for matrix in matrices:
        work.T[:] = matrix
        diagonal += ridge
        yield work


def _refuse(failed: int) -> None:
    if failed:
        raise np.linalg.LinAlgError("the precision of the streams is not positive definite")
