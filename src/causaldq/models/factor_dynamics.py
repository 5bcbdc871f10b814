"""Very many streams with memory: few common factors, and own dynamics of each stream.

In standardised units,

    x_t = B f_t + u_t + v_t,    v_t ~ N(0, diag(noise))
    f_{t+1} = diag(b) f_t + ...,  u_{t+1} = diag(a) u_t + ...,

with r factors of variance one, p own parts of variances `own`, and independent moves that keep the
variances. What is known of (f, u) after some readings is kept as

    f = mean + G_f g,    u = mean + G_u g + h,    g ~ N(0, I),  h ~ N(0, diag(d)),

so that no matrix (p, p) is made. Readings of any streams leave this form as it is, exactly: h of a
stream read follows from its reading and g, and g from all readings. A step in time adds r columns,
the factors' moves. They are turned so that r columns hold all that is known of f, and its
covariances with u. Of the others the strongest `spare` are kept and the rest of their variance goes
to d. So variances of all that is predicted stay those of the step, and what is left out are the
weakest correlations between own parts, which come from not having known the factors before. With
spare columns as many as factors times steps, or with own parts without memory, nothing is left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from causaldq.covariance import FactorCovariance
from causaldq.models.state_space import Belief, Innovations
from causaldq.types import Bools, Floats, Ints

SPARE = 8
"""Columns beyond those of the factors."""
SETTLED = 1e-6
"""Variances of the prediction that move by less, relatively, have reached their steady state."""


@dataclass(frozen=True)
class FactorSeen:
    """What k readings of n plants showed, against what was expected.

    Readings without news (missing, or held since the last time) have innovation and gain zero.
    """

    innovation: Floats
    """nu (n, k)."""
    covariance: Floats
    """C (n, k, k), of the innovations; the identity where there is no news."""
    precision: Floats
    """C^-1 (n, k, k)."""
    own_gain: Floats
    """(n, k), by how much an innovation moves what its own stream is expected to show next."""
    news: Bools
    """(n, k)."""


@dataclass(frozen=True)
class _Read:
    """k readings of n plants, with g columns of what is unknown."""

    innovation: Floats
    """(n, k)."""
    news: Bools
    """(n, k)."""
    shown: Floats
    """(n, k, g), loadings of the readings on g; zero without news."""
    alone: Floats
    """(n, k), variance of the readings besides."""
    through: Floats
    """W (n, k, g): the precision of the readings is diag(1 / alone) - W W'."""
    gain: Floats
    """(n, k), on the own stream's prediction."""


@dataclass(frozen=True)
class FactorDynamics:
    """A model of normal rows of very many streams.

    A `Belief` holds the mean (n, r + p) of factors and own parts, and in place of a covariance
    (n, r + p, k + 1) the columns of G, then d.

    Examples
    --------
    Three streams with one factor that moves slowly:

    >>> one = FactorDynamics.of(np.full((3, 1), 0.8), b=[0.9], a=[0, 0, 0.5], noise=[0.1, 0.2, 0.1])
    >>> one.covariance.dense.round(2).tolist()
    [[1.0, 0.64, 0.64], [0.64, 1.0, 0.64], [0.64, 0.64, 1.0]]
    >>> belief, seen = one.observe(one.start(1), np.array([[0]]), np.array([[2.0]]))
    >>> one.expected(belief).round(2).tolist()
    [[1.15, 1.15, 1.15]]
    """

    loadings: Floats
    """B (p, r)."""
    b: Floats
    """(r,), memory of the factors."""
    a: Floats
    """(p,), memory of the own parts."""
    own: Floats
    """(p,), their variances."""
    noise: Floats
    """(p,), variance of what has no memory."""
    rows: Floats
    """(1,), how many the means are known from."""
    period: Floats
    """(p,), rows for which a stream holds its value; 1 if it does not."""
    excess: Floats
    """f (p,), long-run variance of the innovations over their variance, at least 1."""
    gap_factors: Floats
    """phi (p, h), by how much the model is too sure of a stream after 1, 2, ... h unread rows."""
    spare: Ints
    """(1,), columns kept beyond those of the factors."""

    @classmethod
    def of(
        cls,
        loadings: Floats,
        b: Floats | list[float],
        a: Floats | list[float],
        noise: Floats | list[float],
        own: Floats | None = None,
        rows: float = np.inf,
        spare: int = SPARE,
    ) -> Self:
        """The model from its parts; without `own`, streams have variance one."""
        noises = np.asarray(noise, np.float64)
        p = len(noises)
        left = 1.0 - noises - np.einsum("pr,pr->p", loadings, loadings) if own is None else own
        return cls(
            loadings=np.asarray(loadings, np.float64),
            b=np.asarray(b, np.float64),
            a=np.asarray(a, np.float64),
            own=np.asarray(left, np.float64),
            noise=noises,
            rows=np.array([rows], np.float64),
            period=np.ones(p),
            excess=np.ones(p),
            gap_factors=np.ones((p, 1)),
            spare=np.array([spare]),
        )

    @property
    def p(self) -> int:
        return len(self.a)

    @property
    def factors(self) -> int:
        """r."""
        return len(self.b)

    @property
    def held(self) -> Bools:
        """(p,), streams that repeat their value."""
        return np.asarray(self.period > 1, np.bool_)

    @property
    def covariance(self) -> FactorCovariance:
        """Of a row."""
        return FactorCovariance(self.loadings, self.own + self.noise)

    @property
    def mean_error(self) -> Floats:
        """V_ii (p,), how well so few rows with so much memory tell the streams' means."""
        common, own = self._mean_errors
        return np.asarray(self.loadings**2 @ common + own, np.float64)

    @property
    def _mean_errors(self) -> tuple[Floats, Floats]:
        """Of factors (r,), and of the rest (p,)."""
        common = (1.0 + self.b) / (1.0 - self.b) / self.rows
        own = (self.own * (1.0 + self.a) / (1.0 - self.a) + self.noise) / self.rows
        return np.asarray(common, np.float64), np.asarray(own, np.float64)

    def arrays(self) -> dict[str, Floats]:
        """Its parts by name, for a file: `FactorDynamics(**arrays)` is the model again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def thinned(self, every: int) -> Self:
        """The model of the rows that are left if one in so many is read."""
        return replace(self, a=self.a**every, b=self.b**every)

    def gap_factor(self, unread: Ints) -> Floats:
        """phi (n, p) after so many rows (n, p) since the last reading."""
        place = np.minimum(unread, self.gap_factors.shape[1]) - 1
        return np.asarray(self.gap_factors[np.arange(self.p), place], np.float64)

    # --- following a plant ---------------------------------------------------------------------

    def start(self, n: int) -> Belief:
        """Before anything is read."""
        r, p, k = self.factors, self.p, self.factors + int(self.spare[0])
        common, own = self._mean_errors
        parts = np.zeros((n, r + p, k + 1))
        parts[:, np.arange(r), np.arange(r)] = np.sqrt(1.0 + common)
        parts[:, r:, k] = self.own + own
        return Belief(
            np.zeros((n, r + p)),
            parts,
            np.ones((n, p), dtype=np.int64),
            np.full((n, p), np.nan),
        )

    def expected(self, belief: Belief) -> Floats:
        """(n, p), what the next row is expected to show."""
        r = self.factors
        return np.asarray(belief.mean[:, :r] @ self.loadings.T + belief.mean[:, r:], np.float64)

    def unsure(self, covariance: Floats) -> tuple[Floats, Floats]:
        """What is unknown of the next row: loadings (n, p, k) on g, and variances (n, p) besides.

        Of the `covariance` of a belief.
        """
        common, columns, own = self._split(covariance)
        return self.loadings @ common + columns, own + self.noise

    def _split(self, covariance: Floats) -> tuple[Floats, Floats, Floats]:
        """G_f (n, r, k), G_u (n, p, k) and d (n, p)."""
        r = self.factors
        return covariance[:, :r, :-1], covariance[:, r:, :-1], covariance[:, r:, -1]

    def observe(self, belief: Belief, streams: Ints, values: Floats) -> tuple[Belief, FactorSeen]:
        """Take in the values (n, k) of the streams (n, k), NaN where there is none."""
        after, read = self._updated(belief, streams, values)
        both = read.news[:, :, None] & read.news[:, None, :]
        diagonal = np.arange(streams.shape[1])
        covariance = read.shown @ read.shown.swapaxes(1, 2)
        covariance[:, diagonal, diagonal] += read.alone
        covariance = np.where(both, covariance, np.eye(streams.shape[1]))
        precision = -(read.through @ read.through.swapaxes(1, 2))
        precision[:, diagonal, diagonal] += 1.0 / read.alone
        precision = np.where(both, precision, np.eye(streams.shape[1]))
        return after, FactorSeen(read.innovation, covariance, precision, read.gain, read.news)

    def _updated(self, belief: Belief, streams: Ints, values: Floats) -> tuple[Belief, _Read]:
        """One row later, without what its k readings have to do with each other."""
        r, rows = self.factors, np.arange(len(streams))[:, None]
        repeated = self.held[streams] & (values == belief.last[rows, streams])
        news = np.isfinite(values) & ~repeated
        common, columns, own = self._split(belief.covariance)
        shown = self.loadings[streams] @ common + columns[rows, streams]
        shown *= news[:, :, None]
        d = own[rows, streams]
        alone = d + self.noise[streams]
        before = np.einsum("nkr,nr->nk", self.loadings[streams], belief.mean[:, :r])
        before += belief.mean[rows, r + streams]
        innovation = np.where(news, values - before, 0.0)

        weighed = shown / alone[:, :, None]
        information = weighed.swapaxes(1, 2) @ shown
        root = _inverse_root(information)  # g is then known up to root g'
        told = np.einsum("nkg,nk->ng", weighed, innovation)
        told = (root @ (root.swapaxes(1, 2) @ told[:, :, None]))[:, :, 0]
        share = np.where(news, d / alone, 0.0)

        mean = belief.mean.copy()
        mean[:, :r] += np.einsum("nrg,ng->nr", common, told)
        mean[:, r:] += np.einsum("npg,ng->np", columns, told)
        left = innovation - np.einsum("nkg,ng->nk", shown, told)
        mean[rows, r + streams] += share * left

        # By how much an innovation moves its own stream's prediction, by way of h and by way of g.
        through = weighed @ root
        moved_own = share * (1.0 - np.einsum("nkg,nkg->nk", shown @ root, through))
        moved_own += np.einsum("nkg,nkg->nk", columns[rows, streams] @ root, through)
        moved_common = (self.loadings[streams] * self.b) @ (common @ root)
        gain = self.a[streams] * moved_own + np.einsum("nkg,nkg->nk", moved_common, through)

        columns = columns.copy()
        columns[rows, streams] -= share[:, :, None] * shown
        own = own.copy()
        own[rows, streams] = d * (1.0 - share)
        parts = self._next(common @ root, columns @ root, own)
        mean[:, :r] *= self.b
        mean[:, r:] *= self.a

        unread, last = belief.unread + 1, belief.last.copy()
        unread[rows, streams] = np.where(news, 1, unread[rows, streams])
        last[rows, streams] = np.where(news, values, last[rows, streams])
        read = _Read(innovation, news, shown, alone, through, np.where(news, gain, 0.0))
        return Belief(mean, parts, unread, last), read

    def _next(self, common: Floats, columns: Floats, own: Floats) -> Floats:
        """The parts (n, r + p, k + 1) one row later."""
        n, r, k = common.shape
        parts = np.empty((n, r + self.p, k + 1))
        d = self.a**2 * own + (1.0 - self.a**2) * self.own
        moves = np.tile(np.diag(np.sqrt(1.0 - self.b**2)), (n, 1, 1))
        wide = np.concatenate([self.b[:, None] * common, moves], axis=2)  # (n, r, k + r)
        turn, lower = np.linalg.qr(wide.swapaxes(1, 2), mode="complete")
        parts[:, :r, :r] = lower[:, :r].swapaxes(1, 2)
        parts[:, :r, r:] = 0.0
        # The new columns have no part in u yet.
        turned = (self.a[:, None] * columns) @ turn[:, :k]
        parts[:, r:, :r] = turned[:, :, :r]
        others = turned[:, :, r:]
        weights = 1.0 / (d + self.noise)
        products = others.swapaxes(1, 2) @ (weights[:, :, None] * others)
        strongest = np.linalg.eigh(products)[1][:, :, ::-1][:, :, : k - r]
        kept = others @ strongest
        parts[:, r:, r:k] = kept
        lost = np.einsum("npg,npg->np", others, others) - np.einsum("npg,npg->np", kept, kept)
        parts[:, r:, k] = d + np.maximum(lost, 0.0)
        parts[:, :r, k] = 0.0
        return parts

    def innovations(self, rows: Floats) -> Innovations:
        """One-step errors of rows (steps, p) that are all read, and what they make likely.

        Gains are worked out until they have settled, and then kept.
        """
        found = list(self._follow(rows))
        return Innovations(np.array([one[0] for one in found]), np.array([one[1] for one in found]))

    def _follow(self, rows: Floats) -> Iterator[tuple[Floats, float]]:
        """Standardised errors (p,) and log likelihood of each row; NaN where there is no news."""
        r, belief = self.factors, self.start(1)
        whole = bool(np.isfinite(rows).all()) and not self.held.any()
        every, mean = np.arange(self.p)[None], belief.mean[0]
        variance, settled = np.zeros(self.p), False
        for row in rows:
            if not settled:
                before, parts = variance, belief.covariance
                shown, alone = (part[0] for part in self.unsure(parts))
                common, columns, own = (part[0] for part in self._split(parts))
                variance = alone + np.einsum("pg,pg->p", shown, shown)
                settled = whole and bool((np.abs(variance - before) < SETTLED * variance).all())
                known = np.linalg.inv(np.eye(shown.shape[1]) + shown.T @ (shown / alone[:, None]))
                log_det = np.log(alone).sum() - np.linalg.slogdet(known)[1]
            there = np.isfinite(row) & ~(self.held & (row == belief.last[0]))
            error = np.where(there, row - self.loadings @ mean[:r] - mean[r:], 0.0)
            standardised = np.where(there, error / np.sqrt(variance), np.nan)
            if there.all():
                weighed = shown.T @ (error / alone)
                told = known @ weighed
                square = error @ (error / alone) - weighed @ told
                yield standardised, float(-(square + log_det + self.p * np.log(2 * np.pi)) / 2)
            else:
                yield standardised, _log_density(shown[there], alone[there], error[there])
            if settled:
                left = error - shown @ told
                common_mean = self.b * (mean[:r] + common @ told)
                mean = np.concatenate(
                    [common_mean, self.a * (mean[r:] + columns @ told + own / alone * left)]
                )
            else:
                belief, _ = self._updated(belief, every, row[None])
                mean = belief.mean[0]

    def simulate(self, n: int, steps: int, rng: np.random.Generator) -> Floats:
        """In-control paths (n, steps, p), of streams that do not hold their values."""
        f = rng.standard_normal((n, self.factors))
        u = np.sqrt(self.own) * rng.standard_normal((n, self.p))
        paths = np.empty((n, steps, self.p))
        for t in range(steps):
            paths[:, t] = f @ self.loadings.T + u
            paths[:, t] += np.sqrt(self.noise) * rng.standard_normal((n, self.p))
            f = self.b * f + np.sqrt(1.0 - self.b**2) * rng.standard_normal(f.shape)
            u *= self.a
            u += np.sqrt((1.0 - self.a**2) * self.own) * rng.standard_normal(u.shape)
        return paths


def _inverse_root(information: Floats) -> Floats:
    """W (n, g, g) with W W' the inverse of I plus the information (n, g, g)."""
    factor = np.linalg.cholesky(np.eye(information.shape[1]) + information)
    return np.asarray(np.linalg.inv(factor).swapaxes(1, 2), np.float64)


def _log_density(shown: Floats, alone: Floats, error: Floats) -> float:
    """Of errors (k,) with covariance shown shown' + diag(alone)."""
    weighed = shown / alone[:, None]
    root = _inverse_root((weighed.T @ shown)[None])[0]
    explained = root.T @ (weighed.T @ error)
    log_det = np.log(alone).sum() - 2 * np.log(np.abs(np.linalg.det(root)))
    square = error @ (error / alone) - explained @ explained
    return float(-(square + log_det + len(error) * np.log(2 * np.pi)) / 2)
