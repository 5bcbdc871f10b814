"""Phase I of ASMP: from profiles to one score per stream.

A profile is a stream's curve over a grid. Multivariate functional principal components
are found in two stages: those of each stream by itself, then those of all streams'
scores together, which carry what the streams share.

C. Happ and S. Greven (2018). Multivariate functional principal component analysis for data
observed on different (dimensional) domains. JASA 113(522), 649-659.
"""

from dataclasses import dataclass

import numpy as np

from causaldq.errors import DataError
from causaldq.types import Bools, Floats


@dataclass(frozen=True)
class Components:
    """Multivariate functional principal components of p streams on a grid of L points."""

    functions: Floats
    """(c, p, L), eigenfunctions, of norm one and integral not negative over all streams."""
    variances: Floats
    """(c,), of the scores, decreasing."""


@dataclass(frozen=True)
class PhaseOne:
    """What in-control profiles teach: how to score a stream, and how scores correlate."""

    mean: Floats
    """(p, L)"""
    directions: Floats
    """(p, L); a stream's score is the inner product of its centred profile with this."""
    correlation: Floats
    """(p, p), of the scores."""

    def scores(self, profiles: Floats) -> Floats:
        """Scores (n, p), of mean zero and variance one in control, of profiles (n, p, L)."""
        value: Floats = np.einsum("npl,pl->np", profiles - self.mean, self.directions)
        return value

    @classmethod
    def of_scalars(cls, covariance: Floats) -> "PhaseOne":
        """Streams of single values with mean zero: a profile of length one.

        The only function on one point is a constant, so that the score is the
        standardised value.
        """
        deviation = np.sqrt(np.diag(covariance))
        return cls(
            mean=np.zeros((len(covariance), 1)),
            directions=1.0 / deviation[:, None],
            correlation=covariance / np.outer(deviation, deviation),
        )

    @classmethod
    def fit(cls, profiles: Floats, grid: Floats, explained_share: float) -> "PhaseOne":
        """Learn from in-control profiles (n, p, L) on the grid (L,).

        As many components are kept, at either stage, as explain that share of the
        variance. A stream takes part in several of them: its one score is the sum of its
        own terms of all their scores, scaled to variance one and signed so that a rise of
        the whole profile counts as positive. (The sum is how the ASMP authors' code for
        images, of the same year, comes to one score a sensor.)
        """
        mean = profiles.mean(axis=0)
        centred = profiles - mean
        if profiles.shape[2] == 1:
            weighted = np.ones_like(mean)
        else:
            weights = quadrature(grid)
            found = components(centred, weights, explained_share)
            weighted = found.functions.sum(axis=0) * weights
        score = np.einsum("npl,pl->np", centred, weighted)
        deviation = score.std(axis=0, ddof=1)
        if not deviation.all():
            flat = ", ".join(str(i) for i in np.flatnonzero(deviation == 0))
            raise DataError(f"profiles of stream {flat} do not vary in control; drop the stream")
        upwards = np.where(weighted.sum(axis=1) < 0, -1.0, 1.0)
        directions = weighted * (upwards / deviation)[:, None]
        return cls(mean, directions, np.corrcoef(score * upwards, rowvar=False))


def quadrature(grid: Floats) -> Floats:
    """Weights (L,) of the trapezium rule on the grid (L,)."""
    steps = np.diff(grid) / 2
    return np.pad(steps, (0, 1)) + np.pad(steps, (1, 0))


def components(centred: Floats, weights: Floats, explained_share: float) -> Components:
    """Multivariate components of centred profiles (n, p, L), under quadrature weights (L,)."""
    n, p, length = centred.shape
    functions, used = _stream_components(centred, weights, explained_share)
    scores = np.einsum("npl,pkl,l->npk", centred, functions, weights) * used
    joint = scores.reshape(n, p * length)
    variances, vectors = _decreasing(joint.T @ joint / (n - 1))
    kept = int(np.sum(_enough(variances, explained_share)))
    mixed = vectors[:, :kept].T.reshape(kept, p, length)
    joint_functions = np.einsum("cpk,pkl->cpl", mixed, functions)
    return Components(_turned_upwards(joint_functions, weights), variances[:kept])


def _stream_components(
    centred: Floats, weights: Floats, explained_share: float
) -> tuple[Floats, Bools]:
    """Each stream's own eigenfunctions (p, L, L), one a row, and which of them are kept.

    The eigenproblem of the covariance operator becomes symmetric once the quadrature
    weights are shared between its two sides.
    """
    root = np.sqrt(weights)
    scaled = centred * root
    covariance = np.einsum("npl,npk->plk", scaled, scaled) / (len(centred) - 1)
    variances, vectors = _decreasing(covariance)
    functions = np.swapaxes(vectors, 1, 2) / root
    return functions, _enough(variances, explained_share)


def _decreasing(matrix: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues (..., L) of symmetric matrices, largest first, and eigenvectors."""
    values, vectors = np.linalg.eigh(matrix)
    return np.maximum(values[..., ::-1], 0.0), vectors[..., ::-1]


def _enough(variances: Floats, explained_share: float) -> Bools:
    """Which of the decreasing variances (..., L) are needed to explain the share."""
    before = np.cumsum(variances, axis=-1) - variances
    return np.asarray(before < explained_share * variances.sum(axis=-1, keepdims=True))


def _turned_upwards(functions: Floats, weights: Floats) -> Floats:
    """Components (c, p, L), each turned so that its integral is not negative.

    An eigenfunction has no sign of its own; without a rule, sums of them would mean nothing.
    """
    integral = np.einsum("cpl,l->c", functions, weights)
    return functions * np.where(integral < 0, -1.0, 1.0)[:, None, None]
