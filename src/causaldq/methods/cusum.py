"""CUSUM with known set and shift, a bound: the optimum of Lorden's minimax problem.

E. S. Page (1954). Continuous inspection schemes. Biometrika 41(1/2), 100-115.
G. V. Moustakides (1986). Optimal stopping times for detecting changes in distributions.
Annals of Statistics 14(4), 1379-1387.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from causaldq.methods.base import Method, State, Truth
from causaldq.types import Floats, Ints


@dataclass(frozen=True)
class CusumState(State):
    streams: Ints
    """(n, m), the set watched throughout."""
    weights: Floats
    """S_Z^-1 mu_Z, (n, m)."""
    drift: Floats
    """mu_Z' S_Z^-1 mu_Z / 2, (n,)."""
    value: Floats
    """W, (n,)."""


class Cusum(Method[CusumState]):
    """Sums the log likelihood ratio of the change that will come, reset at zero.

    Its limit depends on the size of the shift: calibrate it for each. Without a shift the
    ratio is one, the sum stays at zero, and no limit from zero on is ever exceeded.
    """

    is_bound: ClassVar[bool] = True
    limit_depends_on_shift: ClassVar[bool] = True
    publishes_run_length: ClassVar[bool] = True

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> CusumState:
        if truth is None:
            raise ValueError("the CUSUM with known shift is a bound and needs the truth")
        streams = best_streams(truth, self.problem.matrix, self.problem.m, rng)
        block = self.problem.covariance[streams[:, :, None], streams[:, None, :]]
        mean = np.take_along_axis(truth.mean, streams, axis=1)
        solved = np.linalg.solve(block, mean[:, :, None])[:, :, 0]
        weights = solved.astype(np.float64)
        return CusumState(streams, weights, (weights * mean).sum(axis=1) / 2, np.zeros(n))

    def choose(self, state: CusumState, rng: np.random.Generator) -> Ints:
        return state.streams

    def observe(
        self, state: CusumState, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> CusumState:
        ratio = (state.weights * values).sum(axis=1) - state.drift
        return replace(state, value=np.maximum(0.0, state.value + ratio))

    def statistic(self, state: CusumState) -> Floats:
        return state.value


def best_streams(truth: Truth, covariance: Floats, m: int, rng: np.random.Generator) -> Ints:
    """m streams to watch, (n, m): the shifted ones, then others at random.

    If there are more than m shifted streams, each in turn is the one that adds most to
    mu_Z' S_Z^-1 mu_Z: the squared mean left over once the streams before it are regressed
    out, over the variance left over. The regressions grow as a Cholesky factor would, one
    column per stream.
    """
    n, p = truth.mean.shape
    rows = np.arange(n)
    others = -rng.random((n, p))
    free = np.ones((n, p), dtype=bool)
    mean = truth.mean.astype(np.float64)
    variance = np.tile(np.diag(covariance), (n, 1))
    factor = np.zeros((n, p, m))
    chosen = np.zeros((n, m), dtype=np.int64)
    for place in range(m):
        gain = np.divide(mean**2, variance, out=np.zeros((n, p)), where=free)
        ranking = np.where(truth.shifted, gain, others)
        stream = np.argmax(np.where(free, ranking, -np.inf), axis=1)
        before = factor[:, :, :place] @ factor[rows, stream, :place, None]
        scale = np.sqrt(variance[rows, stream])[:, None]
        column = (covariance[stream] - before[:, :, 0]) / scale
        mean -= column * mean[rows, stream, None] / scale
        variance -= column**2
        factor[:, :, place] = column
        chosen[:, place] = stream
        free[rows, stream] = False
    return np.sort(chosen, axis=1)
