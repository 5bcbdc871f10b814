"""CDS: local CUSUMs of all streams, the unread ones inferred from those read.

M. Nabhan, Y. Mei and J. Shi (2021). Correlation-based dynamic sampling for online
high-dimensional process monitoring. Journal of Quality Technology 53(3), 289-308.

In deviations of the streams, with Z those read and R the in-control correlation, a stream k has

    y_k = R_kZ R_Z^-1 z_Z        c_k = 1 - R_kZ R_Z^-1 R_Zk,

its expected value given what was read, and how much of its variance that leaves open; a stream
that was read has y_k = z_k and c_k = 0. If a shift of u deviations in stream k takes the others
along as far as they are correlated with it, y_k has mean u (1 - c_k) and variance 1 - c_k, and

    W+_k <- max(0, W+_k + u y_k - u^2 (1 - c_k) / 2) + Delta sqrt(c_k),   W-_k with -y_k,

is its CUSUM, raised in proportion to what is not known of it: an upper confidence bound. Sensors
are the m largest W = max(W+, W-), and the alarm statistic is the sum of the r largest.

What we could read of the publication is its summary: the correlation infers the unread streams
and enters the global statistic, sensors follow the idea of an upper confidence bound, and the
statistic is thresholded by order. The form above is ours. It is that of `tras`, by the same
authors, where streams are independent, and takes u, Delta and r from there.
"""

import numpy as np

from causaldq.covariance import Structured, blocks, correlation_of, ridged
from causaldq.methods.base import Problem
from causaldq.methods.tras import LocalCusums, Tras, TrasSettings
from causaldq.statistic import inverse_positive
from causaldq.types import Floats, Ints


class Cds(Tras):
    """Reads the m largest local CUSUMs, inferred where they were not read."""

    def __init__(self, problem: Problem, settings: TrasSettings | None = None) -> None:
        super().__init__(problem, settings)
        self.correlation = correlation_of(problem.covariance, self.deviation)
        # A ridge keeps solves safe where streams repeat each other.
        self.ridge = problem.statistic.ridge
        self.safe = ridged(self.correlation, self.ridge)

    def observe(
        self, state: LocalCusums, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> LocalCusums:
        expected, unknown = self._inferred(streams, values / self.deviation[streams])
        u = self.settings.shift
        allowance = u**2 / 2 * (1.0 - unknown)
        credit = self.settings.compensation * np.sqrt(unknown)
        return LocalCusums(
            np.maximum(0.0, state.upward + u * expected - allowance) + credit,
            np.maximum(0.0, state.downward - u * expected - allowance) + credit,
        )

    def _inferred(self, streams: Ints, scores: Floats) -> tuple[Floats, Floats]:
        """y and c, (n, p) each, given the scores (n, m) of the streams (n, m)."""
        if isinstance(self.safe, Structured):
            expected, unknown = self.safe.given(streams, scores)
            return expected, np.clip(unknown - self.ridge, 0.0, 1.0)
        rows = np.asarray(self.correlation)[streams]
        precision = inverse_positive(blocks(self.safe, streams))
        weights = precision @ rows
        expected = np.einsum("nm,nmp->np", scores, weights)
        unknown = np.clip(1.0 - np.einsum("nmp,nmp->np", rows, weights), 0.0, 1.0)
        np.put_along_axis(expected, streams, scores, axis=1)
        np.put_along_axis(unknown, streams, 0.0, axis=1)
        return expected, unknown
