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

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from causaldq.config import StatisticSettings
from causaldq.types import Floats, Ints


@dataclass(frozen=True)
class Evidence:
    """h, J and K for n replications; J and K keep only diagonals if streams are independent."""

    h: Floats
    """(n, p)"""
    j: Floats
    """(n, p, p) or (n, p)"""
    k: Floats
    """(n, p, p) or (n, p)"""

    def take(self, rows: npt.NDArray[np.generic]) -> "Evidence":
        return Evidence(self.h[rows], self.j[rows], self.k[rows])

    def put(self, rows: npt.NDArray[np.generic], other: "Evidence") -> "Evidence":
        replaced = Evidence(self.h.copy(), self.j.copy(), self.k.copy())
        replaced.h[rows], replaced.j[rows], replaced.k[rows] = other.h, other.j, other.k
        return replaced


class LocalStatistic:
    """Updates evidence and reads statistics from it, batched over replications."""

    def __init__(self, covariance: Floats, settings: StatisticSettings) -> None:
        self.covariance = covariance
        self.settings = settings
        self.independent = bool(np.all(covariance == np.diag(np.diag(covariance))))
        self.ridge = settings.ridge * np.eye(len(covariance))

    def start(self, n: int) -> Evidence:
        """Nothing observed yet."""
        p = len(self.covariance)
        shape = (n, p) if self.independent else (n, p, p)
        return Evidence(np.zeros((n, p)), np.zeros(shape), np.zeros(shape))

    def update(self, evidence: Evidence, streams: Ints, values: Floats) -> Evidence:
        """Take in the values (n, m) of the streams (n, m) read at this step."""
        keep = 1.0 - self.settings.decay
        h = keep * evidence.h
        j = keep * evidence.j
        k = keep**2 * evidence.k
        rows = np.arange(len(h))[:, None]
        if self.independent:
            precision = 1.0 / np.diag(self.covariance)[streams]
            h[rows, streams] += precision * values
            j[rows, streams] += precision
            k[rows, streams] += precision
        else:
            block = np.linalg.inv(self.covariance[streams[:, :, None], streams[:, None, :]])
            h[rows, streams] += (block @ values[:, :, None])[:, :, 0]
            place = (rows[:, :, None], streams[:, :, None], streams[:, None, :])
            j[place] += block
            k[place] += block
        return replace(evidence, h=h, j=j, k=k)

    def mean(self, evidence: Evidence) -> Floats:
        """mu_n, the posterior mean of each stream (n, p); 0 where nothing was observed."""
        return self._solve(evidence.j, evidence.h)

    def contributions(self, evidence: Evidence) -> Floats:
        """Lambda_i, each stream's own term of the quadratic form (n, p)."""
        matrix = evidence.k if self.settings.form == "normalised" else evidence.j
        return evidence.h * self._solve(matrix, evidence.h)

    def _solve(self, matrix: Floats, h: Floats) -> Floats:
        if self.independent:
            return h / (matrix + self.settings.ridge)
        solution = np.linalg.solve(matrix + self.ridge, h[:, :, None])
        return np.asarray(solution[:, :, 0], np.float64)
