"""Streams with memory: a state-space model of normal rows, and its filter for whatever is read.

In standardised units, with A diagonal and Q and R full,

    x_t = z_t + v_t,    v_t ~ N(0, R)
    z_{t+1} = A z_t + e_t,    e_t ~ N(0, Q).

Rows without memory are the case A = Q = 0, so that whoever works with this model works with them,
too. A stream that repeats its value (an analyser that samples and holds) tells something only when
the value changes: a repeat is taken as no reading at all.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from causaldq.statistic import inverse_positive
from causaldq.types import Bools, Floats, Ints


@dataclass(frozen=True)
class Belief:
    """What n plants are expected to show at the next row.

    Examples
    --------
    >>> model = StateSpace.independent(np.eye(3), rows=100)
    >>> model.start(2).mean.shape
    (2, 3)
    """

    mean: Floats
    """(n, p), of z."""
    covariance: Floats
    """(n, p, p), of z."""
    unread: Ints
    """(n, p), rows since each stream was last read, the next row included."""
    last: Floats
    """(n, p), its last value; NaN before the first."""


@dataclass(frozen=True)
class Seen:
    """What k readings of n plants showed, against what was expected.

    Readings without news (missing, or held since the last time) have innovation and gain zero.
    """

    innovation: Floats
    """nu (n, k)."""
    covariance: Floats
    """C (n, k, k), of the innovations; the identity where there is no news."""
    precision: Floats
    """C^-1 (n, k, k)."""
    gain: Floats
    """K (n, p, k): z is moved by K nu."""
    news: Bools
    """(n, k)."""

    @property
    def standardised(self) -> Floats:
        """Innovations (n, k), each over its own standard deviation; NaN without news."""
        spread = np.sqrt(np.diagonal(self.covariance, axis1=1, axis2=2))
        return np.where(self.news, self.innovation / spread, np.nan)


@dataclass(frozen=True)
class Innovations:
    """One-step prediction errors of a row of steps."""

    standardised: Floats
    """(steps, p), each over its own standard deviation; NaN where there is no news."""
    log_likelihood: Floats
    """(steps,)."""


@dataclass(frozen=True)
class StateSpace:
    """A fitted model of normal rows.

    Examples
    --------
    Two streams, the first with a long memory:

    >>> model = StateSpace.independent(np.eye(2), rows=500)
    >>> q, r = np.diag([0.19, 0.0]), np.diag([0.0, 1.0])
    >>> model = replace(model, a=np.array([0.9, 0.0]), q=q, r=r)
    >>> model.covariance.round(6).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    >>> belief, seen = model.observe(model.start(1), np.array([[0]]), np.array([[2.0]]))
    >>> belief.mean.round(2).tolist()
    [[1.8, 0.0]]
    """

    a: Floats
    """(p,), diagonal of A."""
    q: Floats
    """Q (p, p)."""
    r: Floats
    """R (p, p)."""
    mean_error: Floats
    """V (p, p): how well so few rows with so much memory tell the streams' means."""
    period: Floats
    """(p,), rows for which a stream holds its value; 1 if it does not."""
    excess: Floats
    """f (p,), long-run variance of the innovations over their variance, at least 1."""
    gap_factors: Floats
    """phi (p, h), by how much the model is too sure of a stream after 1, 2, ... h unread rows."""

    @classmethod
    def independent(cls, covariance: Floats, rows: float) -> Self:
        """Rows without memory, with the covariance (p, p) that so many rows gave."""
        p = len(covariance)
        one, none = np.ones(p), np.zeros((p, p))
        return cls(np.zeros(p), none, covariance, covariance / rows, one, one, np.ones((p, 1)))

    @property
    def p(self) -> int:
        return len(self.a)

    @property
    def held(self) -> Bools:
        """(p,), streams that repeat their value."""
        return np.asarray(self.period > 1, np.bool_)

    @property
    def stationary(self) -> Floats:
        """(p, p), of z."""
        return np.asarray(self.q / (1.0 - np.outer(self.a, self.a)), np.float64)

    @property
    def covariance(self) -> Floats:
        """(p, p), of a row."""
        return self.stationary + self.r

    def arrays(self) -> dict[str, Floats]:
        """Its parts by name, for a file: `StateSpace(**arrays)` is the model again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    # --- following a plant ---------------------------------------------------------------------

    def start(self, n: int) -> Belief:
        """Before anything is read."""
        p = self.p
        return Belief(
            np.zeros((n, p)),
            np.tile(self.stationary + self.mean_error, (n, 1, 1)),
            np.ones((n, p), dtype=np.int64),
            np.full((n, p), np.nan),
        )

    def observe(self, belief: Belief, streams: Ints, values: Floats) -> tuple[Belief, Seen]:
        """Take in the values (n, k) of the streams (n, k), NaN where there is none."""
        rows = np.arange(len(streams))[:, None]
        repeated = self.held[streams] & (values == belief.last[rows, streams])
        news = np.isfinite(values) & ~repeated
        both = news[:, :, None] & news[:, None, :]
        crossed = np.take_along_axis(belief.covariance, streams[:, None, :], axis=2)
        crossed *= news[:, None, :]
        noise = self.r[streams[:, :, None], streams[:, None, :]]
        covariance = np.take_along_axis(crossed, streams[:, :, None], axis=1) + noise
        covariance = np.where(both, covariance, np.eye(streams.shape[1]))
        innovation = np.where(news, values - belief.mean[rows, streams], 0.0)
        precision = inverse_positive(covariance)
        gain = crossed @ precision
        mean = belief.mean + (gain @ innovation[:, :, None])[:, :, 0]
        known = belief.covariance - gain @ crossed.swapaxes(1, 2)
        unread, last = belief.unread + 1, belief.last.copy()
        unread[rows, streams] = np.where(news, 1, unread[rows, streams])
        last[rows, streams] = np.where(news, values, last[rows, streams])
        after = Belief(self.a * mean, self._next(known), unread, last)
        return after, Seen(innovation, covariance, precision, gain, news)

    def _next(self, covariance: Floats) -> Floats:
        """Of z one row later, (n, p, p), symmetric whatever rounding did."""
        symmetric = (covariance + covariance.swapaxes(1, 2)) / 2
        return np.asarray(np.outer(self.a, self.a) * symmetric + self.q, np.float64)

    def follow(self, paths: Floats) -> Iterator[Seen]:
        """Row after row of paths (n, steps, p) that are all read."""
        n, steps, p = paths.shape
        everything = np.tile(np.arange(p), (n, 1))
        belief = self.start(n)
        for t in range(steps):
            belief, seen = self.observe(belief, everything, paths[:, t])
            yield seen

    def innovations(self, rows: Floats) -> Innovations:
        """One-step errors of rows (steps, p) that are all read, and what they make likely."""
        standardised, likelihood = [], []
        for seen in self.follow(rows[None]):
            standardised.append(seen.standardised[0])
            square = seen.innovation[0] @ seen.precision[0] @ seen.innovation[0]
            logs = np.linalg.slogdet(seen.covariance[0])[1] + seen.news.sum() * np.log(2 * np.pi)
            likelihood.append(-(square + logs) / 2)
        return Innovations(np.array(standardised), np.array(likelihood))

    # --- other models of the same plant --------------------------------------------------------

    def thinned(self, every: int) -> Self:
        """The model of the rows that are left if one in so many is read."""
        products = np.outer(self.a, self.a)
        gathered = (1.0 - products**every) / (1.0 - products)
        return replace(self, a=self.a**every, q=self.q * gathered)

    @property
    def apart(self) -> Self:
        """The model of each stream by itself, as if no other were read."""
        return replace(self, q=np.diag(np.diag(self.q)), r=np.diag(np.diag(self.r)))

    def gap_factor(self, unread: Ints) -> Floats:
        """phi (n, p) after so many rows (n, p) since the last reading."""
        place = np.minimum(unread, self.gap_factors.shape[1]) - 1
        return np.asarray(self.gap_factors[np.arange(self.p), place], np.float64)

    def simulate(self, n: int, steps: int, rng: np.random.Generator) -> Floats:
        """In-control paths (n, steps, p), held values included."""
        p = self.p
        noise = rng.standard_normal((n, steps, p)) @ _root(self.r)
        moves = rng.standard_normal((n, steps, p)) @ _root(self.q)
        z = rng.standard_normal((n, p)) @ _root(self.stationary)
        paths = np.empty((n, steps, p))
        phase = rng.random((n, p)) * self.period
        sampled = np.floor(phase / self.period)
        for t in range(steps):
            now = np.floor((phase + t) / self.period)
            fresh = (now > sampled) | (t == 0)
            paths[:, t] = np.where(fresh, z + noise[:, t], paths[:, t - 1])
            z, sampled = self.a * z + moves[:, t], now
        return paths


def _root(matrix: Floats) -> Floats:
    """W (p, p) with W'W the matrix, which may be singular."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T, np.float64)
