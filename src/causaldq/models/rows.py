"""From recorded in-control rows to what monitoring needs: a scale, a covariance, more rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from causaldq.covariance import CovarianceLike
from causaldq.errors import DataError
from causaldq.types import Bools, Floats, Ints

Estimator = Literal["sample", "ledoit_wolf", "factor", "block"]

ROWS_A_STREAM = 10
"""With fewer in-control rows for each stream the sample covariance is shrunk."""
BLOCK_OF_MEMORY = 3
"""A block is this many autocorrelation times long, so that its seams weigh little."""
LEAST_BLOCKS = 10
"""The rows hold at least so many blocks, or paths would be copies of one another."""
AT_ONCE = 1000
"""Streams whose autocorrelations are worked out together; more would only take memory."""
QUIET_LAGS = 5
"""Memory is over when so many autocorrelations in a row are noise (Politis and White, 2004)."""


@dataclass(frozen=True)
class Scale:
    """Means and standard deviations of in-control rows."""

    mean: Floats
    """(p,)."""
    sd: Floats
    """(p,)."""

    def apply(self, values: Floats) -> Floats:
        """(..., p), values in standard deviations from the in-control mean."""
        return np.asarray((values - self.mean) / self.sd, np.float64)


def fit_scale(rows: Floats, names: Sequence[str]) -> Scale:
    """The scale of in-control rows (n, p); a stream that does not vary has none."""
    if len(rows) < 2:
        raise DataError(f"{len(rows)} in-control rows are too few; give at least two")
    steady = ~varying(rows)
    if steady.any():
        name = names[int(np.argmax(steady))]
        raise DataError(f"{name} does not vary in the {len(rows)} in-control rows; drop it")
    return Scale(rows.mean(0), rows.std(0, ddof=1))


def varying(rows: Floats) -> Bools:
    """(p,), which streams of in-control rows (n, p) vary at all."""
    return np.asarray(np.ptp(rows, axis=0) > 1e-12 * np.abs(rows).max(0), np.bool_)


@dataclass(frozen=True)
class Covariance:
    """An estimated correlation matrix, and how it was estimated."""

    matrix: CovarianceLike
    """(p, p), with ones on the diagonal."""
    estimator: Estimator
    shrinkage: float
    """Weight of the identity in it; 0 for the sample's own."""


def estimate_covariance(rows: Floats) -> Covariance:
    """The covariance of standardised in-control rows (n, p).

    With fewer than ten rows a stream it is shrunk towards the identity by Ledoit and Wolf's
    weight, without which its inverse would be dominated by noise.
    """
    n, p = rows.shape
    if n >= ROWS_A_STREAM * p:
        return Covariance(np.atleast_2d(np.corrcoef(rows, rowvar=False)), "sample", 0.0)
    matrix, shrinkage = ledoit_wolf(rows)
    scale = np.sqrt(np.diag(matrix))
    return Covariance(matrix / np.outer(scale, scale), "ledoit_wolf", shrinkage)


def ledoit_wolf(rows: Floats) -> tuple[Floats, float]:
    """Covariance (p, p) of rows (n, p), shrunk towards a multiple of the identity, and by how much.

    O. Ledoit and M. Wolf (2004), A well-conditioned estimator for large-dimensional covariance
    matrices, Journal of Multivariate Analysis 88, 365-411. The weight is the estimated squared
    error of the sample covariance over its squared distance from the target.
    """
    n, p = rows.shape
    centred = rows - rows.mean(axis=0)
    products = centred.T @ centred
    sample = products / n
    mean_variance = float(np.trace(sample)) / p
    squares = centred**2
    error = (float((squares.T @ squares).sum()) / n - float((sample**2).sum())) / (n * p)
    distance = (float((sample**2).sum()) - p * mean_variance**2) / p
    shrinkage = min(max(error, 0.0) / distance, 1.0) if distance > 0 else 0.0
    shrunk = (1.0 - shrinkage) * sample
    shrunk.flat[:: p + 1] += shrinkage * mean_variance
    return shrunk, shrinkage


# --- more rows ---------------------------------------------------------------------------------


def resample(rows: Floats, n: int, steps: int, rng: np.random.Generator) -> Floats:
    """(n, steps, p), rows (r, p) drawn one by one with replacement: no autocorrelation."""
    return rows[rng.integers(len(rows), size=(n, steps))]


def block_bootstrap(
    rows: Floats, n: int, steps: int, block: int, rng: np.random.Generator
) -> Floats:
    """(n, steps, p), paths joined from blocks of consecutive rows (r, p).

    Blocks start anywhere with equal chance and go on at the first row after the last, so that
    every row is equally likely at every step (circular block bootstrap).
    """
    return rows[block_indices(len(rows), n, steps, block, rng)]


def block_indices(rows: int, n: int, steps: int, block: int, rng: np.random.Generator) -> Ints:
    """(n, steps), which of `rows` rows each step of each path takes."""
    if not 1 <= block <= rows:
        raise DataError(f"a block of {block} rows cannot be had from {rows}; give 1 to {rows}")
    starts = rng.integers(rows, size=(n, math.ceil(steps / block)))
    joined = (starts[:, :, None] + np.arange(block)) % rows
    return np.asarray(joined.reshape(n, -1)[:, :steps], np.int64)


def block_length(rows: Floats) -> int:
    """Length of blocks for rows (r, p): three times the longest memory among the streams.

    At most a tenth of the rows; 1 if they have no memory.
    """
    longest = float(memory(rows).max())
    if longest <= 1:
        return 1
    most = max(1, len(rows) // LEAST_BLOCKS)
    return min(math.ceil(BLOCK_OF_MEMORY * longest), most)


def memory(rows: Floats) -> Floats:
    """(p,), autocorrelation time 1 + 2 (|rho_1| + |rho_2| + ...) of every stream of rows (r, p).

    The sum ends where five autocorrelations in a row are within the noise, 2 / sqrt(r).
    Absolute values, because blocks have to keep negative autocorrelation too.
    """
    n, p = rows.shape
    if p > AT_ONCE:
        parts = np.array_split(rows, -(-p // AT_ONCE), axis=1)
        return np.concatenate([memory(part) for part in parts])
    centred = rows - rows.mean(0)
    spectrum = np.abs(np.fft.rfft(centred, 2 * n, axis=0)) ** 2
    covariance = np.fft.irfft(spectrum, axis=0)[:n]
    size = np.abs(covariance[1:] / covariance[0])
    beyond = np.zeros((QUIET_LAGS, rows.shape[1]))
    noise = np.concatenate([size, beyond]) <= 2 / math.sqrt(n)
    runs = np.lib.stride_tricks.sliding_window_view(noise, QUIET_LAGS, axis=0).all(-1)
    counted = np.arange(n - 1)[:, None] < runs.argmax(0)
    return np.asarray(1 + 2 * (size * counted).sum(0), np.float64)
