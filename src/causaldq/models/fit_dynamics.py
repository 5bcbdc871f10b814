"""Few factors and own dynamics, fitted to rows of very many streams.

Loadings are those of the rows' covariance (`causaldq.models.factors`), turned so that each factor
follows from itself alone: the lag-one covariance of the factors, as the rows show them, is made
diagonal. What the factors leave of a stream is split into a part with memory and noise by its
spectrum (P. Whittle, 1953): with memory a and noise of share s of its variance it is

    h(w) = (1 - s) (1 - a^2) / |1 - a e^-iw|^2 + s

and the likeliest a and s on a grid are taken. Periodograms are summed to few bands first, so that
all streams and all of the grid are one product of matrices.
"""

from dataclasses import replace

import numpy as np

from causaldq.covariance import FactorCovariance
from causaldq.models.em import (
    GAPS,
    LEAST_MEMORY,
    LEAST_READINGS,
    MOST_MEMORY,
    PHASES,
    holding,
    long_run,
)
from causaldq.models.factor_dynamics import FactorDynamics
from causaldq.models.factors import fit_factors
from causaldq.types import Floats

MEMORIES = (
    *(-0.9, -0.75, -0.6, -0.45, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75),
    *(0.8, 0.84, 0.88, 0.91, 0.93, 0.95, 0.965, 0.98, 0.99, 0.995),
)
SHARES = (0.002, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97)
"""Of noise."""
BANDS = 60
"""Of a periodogram, narrow at low frequencies."""
AT_ONCE = 500
"""Streams whose periodograms are worked out together; more would only take memory."""
MATTERS = 2.0
"""Log likelihood that memory has to gain, or a stream has none of its own."""


def fit_factor_dynamics(
    rows: Floats, factors: int | None = None, *, check: bool = True
) -> FactorDynamics:
    """The model of standardised rows (n, p) without gaps.

    Parameters
    ----------
    rows : array, shape (n, p)
        In standard deviations from their mean, evenly spaced in time.
    factors : int, optional
        How many; by default as many as make the last fifth of the rows likeliest.
    check : bool
        Whether to measure on the rows how much too sure the model is of what comes next.

    Examples
    --------
    >>> truth = FactorDynamics.of(np.full((40, 1), 0.7), b=[0.9], a=[0.5] * 40, noise=[0.1] * 40)
    >>> rows = truth.simulate(1, 2000, np.random.default_rng(0))[0]
    >>> found = fit_factor_dynamics(rows)
    >>> found.b.round(1).tolist(), float(np.median(found.a).round(1))
    ([0.9], 0.5)
    """
    covariance = fit_factors(rows, factors).matrix
    assert isinstance(covariance, FactorCovariance)
    scores = _scores(rows, covariance)
    turn, b = _own_ways(scores, covariance)
    loadings = covariance.loadings @ turn
    a, share = _spectral(rows, loadings, scores @ turn)
    own = covariance.own
    model = FactorDynamics.of(loadings, b, a, own * share, own=own * (1.0 - share), rows=len(rows))
    model = replace(model, period=holding(rows))
    return _checked(model, rows) if check else model


def _scores(rows: Floats, covariance: FactorCovariance) -> Floats:
    """(n, r), the factors as least squares tell them from each row, by weights of own variances."""
    weighed = covariance.loadings / covariance.own[:, None]
    solved = np.linalg.pinv(covariance.loadings.T @ weighed, hermitian=True)
    return np.asarray(rows @ (weighed @ solved), np.float64)


def _own_ways(scores: Floats, covariance: FactorCovariance) -> tuple[Floats, Floats]:
    """A rotation (r, r) after which each factor follows from itself alone, and their memory."""
    if not covariance.factors:
        return np.zeros((0, 0)), np.zeros(0)
    following = scores[1:].T @ scores[:-1] / (len(scores) - 1)
    memory, turn = np.linalg.eigh((following + following.T) / 2)
    return np.asarray(turn[:, ::-1]), np.clip(memory[::-1], LEAST_MEMORY, MOST_MEMORY)


def _spectral(rows: Floats, loadings: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """Memory and share of noise (p,) of what the factors leave of each stream."""
    n, p = rows.shape
    frequency = 2 * np.pi * np.arange(1, n // 2 + 1) / n
    edges = np.unique(np.geomspace(1, len(frequency) + 1, BANDS).astype(np.int64)) - 1
    starts, counts = edges[:-1], np.diff(edges)
    memory, share = (grid.ravel() for grid in np.meshgrid(MEMORIES, SHARES, indexing="ij"))
    moves = np.abs(1.0 - memory[:, None] * np.exp(-1j * frequency)) ** 2
    shape = ((1 - share) * (1 - memory**2))[:, None] / moves + share[:, None]
    banded = np.add.reduceat(shape, starts, axis=1) / counts  # (grid, bands)
    weights = (1.0 / banded / len(frequency)).T
    logs = np.log(banded) @ counts / len(frequency)
    plain = int(np.flatnonzero(memory == 0.0)[-1])  # its spectrum is flat, whatever the share
    best = np.empty(p, dtype=np.int64)
    for part in np.array_split(np.arange(p), -(-p // AT_ONCE)):
        left = rows[:, part] - scores @ loadings[part].T
        power = np.abs(np.fft.rfft(left, axis=0)[1 : len(frequency) + 1]) ** 2 / n
        summed = np.add.reduceat(power, starts, axis=0).T  # (streams, bands)
        likely = -len(frequency) * (np.log(summed @ weights) + logs)
        found = likely.argmax(axis=1)
        gained = likely[np.arange(len(part)), found] - likely[:, plain]
        best[part] = np.where(gained > MATTERS, found, plain)
    return memory[best], share[best]


def _checked(model: FactorDynamics, rows: Floats) -> FactorDynamics:
    """The model with its long-run excess and its gap factors, as on rows that are all read."""
    errors = model.innovations(rows).standardised
    found = [np.nanmean(errors**2, axis=0)]
    excess = long_run(errors)
    del errors
    for every in GAPS[1:]:
        steps = len(rows) // every
        if steps < LEAST_READINGS:
            found.append(found[-1])
            continue
        thinned, squares = model.thinned(every), np.zeros((2, model.p))
        for phase in range(min(every, PHASES)):
            seen = thinned.innovations(rows[phase : steps * every : every]).standardised
            squares += np.nansum(seen**2, axis=0), np.isfinite(seen).sum(axis=0)
        found.append(squares[0] / np.maximum(squares[1], 1.0))
    factors = np.maximum.accumulate(np.maximum(np.nan_to_num(found, nan=1.0), 1.0))
    between = [np.interp(np.arange(1, GAPS[-1] + 1), GAPS, one) for one in factors.T]
    return replace(model, excess=excess, gap_factors=np.array(between))
