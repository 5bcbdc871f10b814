"""Fitting the state-space model to normal rows by expectation and maximisation.

The expected noises given all rows come from one pass forward and one backward (the disturbance
smoother: S. J. Koopman, 1993, Biometrika 80, 117-126). Missing cells need no care of their own:
with G_t the inverse covariance of the innovations, zero for what is missing, and P_t that of z,

    u_t = G_t nu_t - G_t P_t A r_t,    r_{t-1} = u_t + A r_t
    D_t = G_t + H M H',  M = A N_t A,  H = G_t P_t,    N_{t-1} = D_t + M - H M - M H'

and E v_t = R u_t, var v_t = R - R D_t R, E e_t = Q r_t, var e_t = Q - Q N_t Q.
"""

from dataclasses import dataclass, replace

import numpy as np

from causaldq.models.rows import estimate_covariance
from causaldq.models.state_space import StateSpace
from causaldq.statistic import inverse_factors
from causaldq.types import Bools, Floats

ROUNDS = 10
"""Of expectation and maximisation."""
KEPT = 0.99
"""Off-diagonal noise is shrunk by this factor in every round."""
LEAST_NOISE = 0.002
"""Measurement noise is at least this share of a stream's variance."""
MOST_MEMORY = 0.995
LEAST_MEMORY = -0.97
HELD_SHARE = 0.3
"""A stream with a larger share of exact repeats holds its value."""
LAGS = 25
"""Of the long-run variance of innovations; with 8 it is half of what later rows show."""
GAPS = (1, 2, 4, 8, 16, 32)
"""Unread rows after which the model's certainty is checked."""
PHASES = 8
"""Of the ways to read one row in so many, at most this number is tried."""
LEAST_READINGS = 10
"""With fewer in a row the certainty after so long a gap is not checked."""
RIDGE = 1e-10
"""Added to variances, so that streams that copy each other do no harm."""
SETTLED = 1e-10
"""A covariance that moves by less, relatively, has reached its steady state."""
START_A = (-0.9, -0.6, -0.3, 0.0, 0.2, 0.4, 0.6, 0.75, 0.85, 0.92, 0.96, 0.98, 0.99, 0.995)
START_R = (0.002, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)


def fit_state_space(rows: Floats, rounds: int = ROUNDS) -> StateSpace:
    """The model of standardised rows (n, p); NaN in cells or whole rows that are missing."""
    period = holding(rows)
    fresh = without_repeats(rows, period > 1)
    model = start_model(rows, fresh, period)
    first = model.stationary
    for _ in range(rounds):
        model = em_round(model, fresh, first)[0]
    return _checked(model, rows)


def holding(rows: Floats) -> Floats:
    """(p,), rows for which each stream of (n, p) holds its value; 1 for those that do not."""
    pairs = np.isfinite(rows[1:]) & np.isfinite(rows[:-1])
    share = ((rows[1:] == rows[:-1]) & pairs).sum(0) / np.maximum(pairs.sum(0), 1)
    return np.where(share > HELD_SHARE, 1.0 / np.maximum(1.0 - share, 1.0 / len(rows)), 1.0)


def without_repeats(rows: Floats, held: Bools) -> Floats:
    """Rows (n, p) with NaN where a held stream repeats its value."""
    fresh = rows.copy()
    fresh[1:][(rows[1:] == rows[:-1]) & held] = np.nan
    return fresh


def start_model(rows: Floats, fresh: Floats, period: Floats) -> StateSpace:
    """Each stream's own most likely memory and noise, on a grid; correlations of the rows."""
    p = rows.shape[1]
    a, share, variance = _alone(fresh, period > 1)
    whole = rows[np.isfinite(rows).all(1)]
    correlation = estimate_covariance(whole).matrix
    state, noise = variance * (1 - share) * (1 - a**2), variance * share
    q = correlation * np.sqrt(np.outer(state, state))
    r = _shaped(correlation * np.sqrt(np.outer(noise, noise)), period > 1)
    one = np.ones(p)
    return StateSpace(a, q, r, np.zeros((p, p)), period, one, np.ones((p, 1)))


def _alone(rows: Floats, held: Bools) -> tuple[Floats, Floats, Floats]:
    """Memory, share of measurement noise and variance (p,) of each stream by itself."""
    a, share = (grid.ravel() for grid in np.meshgrid(START_A, START_R, indexing="ij"))
    state = (1 - share) * (1 - a**2)
    p, n = rows.shape[1], len(rows)
    mean, spread = np.zeros((p, len(a))), np.tile(1 - share, (p, 1))
    squares, logs = np.zeros((p, len(a))), np.zeros((p, len(a)))
    there = np.isfinite(rows)
    for t in range(n):
        seen = there[t][:, None]
        innovation = np.where(seen, rows[t][:, None] - mean, 0.0)
        total = spread + share
        gain = np.where(seen, spread / total, 0.0)
        squares += innovation**2 / total
        logs += np.where(seen, np.log(total), 0.0)
        mean = a * (mean + gain * innovation)
        spread = a**2 * (1 - gain) * spread + state
    count = np.maximum(there.sum(0), 1)[:, None]
    variance = squares / count
    fits = -(logs + count * np.log(variance)) / 2
    fits[np.ix_(held, a < 0)] = -np.inf
    best = fits.argmax(1)
    return a[best], share[best], variance[np.arange(p), best]


# --- one round ---------------------------------------------------------------------------------


@dataclass
class _Moments:
    """Sums over the rows of what a round needs."""

    measurement: Floats
    """sum of u u' - D."""
    innovation: Floats
    """sum of r r' - N."""
    state: Floats
    """sum of E z z'."""
    crossed: Floats
    """sum of r z' - N A (P - P G P), which Q times is E e z'."""


def em_round(
    model: StateSpace, rows: Floats, first: Floats, kept: float = KEPT
) -> tuple[StateSpace, float]:
    """A model at least as likely for rows (n, p), and the log likelihood of the one given.

    `first` (p, p) is the covariance of z before the first row, the same in all rounds. Shrinking
    (`kept` below 1) and bounds give up a little likelihood for safety.
    """
    n, p = rows.shape
    moments, likelihood = _moments(model, rows, first)
    q, r = model.q, model.r
    noise = r + r @ moments.measurement @ r / n
    crossed = q @ moments.crossed
    # The likelihood of A, with Q as it is, is largest where (Q^-1 * S) da = diag(Q^-1 E e z').
    inverse = np.linalg.pinv(q, hermitian=True)
    step = np.linalg.lstsq(inverse * moments.state, np.diag(inverse @ crossed), rcond=None)[0]
    least = np.where(model.held, 0.0, LEAST_MEMORY)
    a = np.clip(model.a + step, least, MOST_MEMORY)
    step = a - model.a
    turned = crossed * step
    moved = q + (q @ moments.innovation @ q - turned - turned.T) / (n - 1)
    moved += moments.state * np.outer(step, step) / (n - 1)
    scale = np.full((p, p), kept)
    np.fill_diagonal(scale, 1.0)
    noise = _shaped(noise * scale, model.held)
    floor = LEAST_NOISE * np.nanvar(rows, axis=0)
    noise[np.diag_indices(p)] = np.maximum(np.diag(noise), floor)
    return replace(model, a=a, q=_positive(moved * scale), r=_positive(noise)), likelihood


def _moments(model: StateSpace, rows: Floats, first: Floats) -> tuple[_Moments, float]:
    n, p = rows.shape
    a, products = model.a, np.outer(model.a, model.a)
    there = np.isfinite(rows)
    covariances: list[Floats] = []
    precisions: list[Floats] = []
    filtered: list[Floats] = []
    weighed, means = np.zeros((n, p)), np.zeros((n, p))
    mean, covariance, likelihood, log_det = np.zeros(p), first, 0.0, 0.0
    same = False  # as the row before: nothing to compute but means
    for t in range(n):
        same = same and bool((there[t] == there[t - 1]).all())
        if not same:
            seen = np.flatnonzero(there[t])
            block = np.ix_(seen, seen)
            total = (covariance + model.r)[block]
            factor = next(inverse_factors(total[None], RIDGE)) if len(seen) else total
            precision = np.zeros((p, p))
            precision[block] = factor.T @ factor
            log_det = len(seen) * np.log(2 * np.pi) - 2 * np.log(np.diag(factor)).sum()
            shown = factor @ covariance[seen]
            left = covariance - shown.T @ shown
        covariances.append(covariance)
        precisions.append(precision)
        filtered.append(left)
        innovation = np.where(there[t], rows[t] - mean, 0.0)
        weighed[t], means[t] = precision @ innovation, mean
        likelihood -= (innovation @ weighed[t] + log_det) / 2
        mean = a * (mean + covariance @ weighed[t])
        if not same:
            following = products * (left + left.T) / 2 + model.q
            same = bool(np.abs(following - covariance).max() < SETTLED)
            covariance = covariance if same else following
    return _backward(a, covariances, precisions, filtered, weighed, means), likelihood


def _backward(
    a: Floats,
    covariances: list[Floats],
    precisions: list[Floats],
    filtered: list[Floats],
    weighed: Floats,
    means: Floats,
) -> _Moments:
    n, p = means.shape
    products = np.outer(a, a)
    late, scores, states = np.zeros((n, p)), np.zeros((n, p)), np.zeros((n, p))
    r, later = np.zeros(p), np.zeros((p, p))
    sums = _Moments(*(np.zeros((p, p)) for _ in range(4)))
    same = False  # as the row after
    for t in reversed(range(n)):
        g, covariance = precisions[t], covariances[t]
        same = same and g is precisions[t + 1]
        if not same:
            shown = g @ covariance
            inside = products * later
            through = shown @ inside
            known = g + through @ shown.T
            earlier = known + inside - through - through.T
            unsure = covariance - covariance @ earlier @ covariance
            linked = later @ (a[:, None] * filtered[t])
        late[t] = r
        scores[t] = weighed[t] - shown @ (a * r)
        r = scores[t] + a * r
        states[t] = means[t] + covariance @ r
        sums.measurement -= known
        if t < n - 1:  # after the last row nothing follows
            sums.state += unsure
            sums.innovation -= later
            sums.crossed -= linked
        if not same:
            same = bool(np.abs(earlier - later).max() < SETTLED * np.abs(earlier).max())
            later = later if same else (earlier + earlier.T) / 2
    sums.measurement += scores.T @ scores
    sums.innovation += late[:-1].T @ late[:-1]
    sums.state += states[:-1].T @ states[:-1]
    sums.crossed += late[:-1].T @ states[:-1]
    return sums


def _shaped(noise: Floats, held: Bools) -> Floats:
    """Measurement noise (p, p) in which that of held streams is their own."""
    shaped = noise.copy()
    shaped[held[:, None] | held[None, :]] = 0.0
    np.fill_diagonal(shaped, np.diag(noise))
    return shaped


def _positive(matrix: Floats) -> Floats:
    """The nearest symmetric matrix without negative eigenvalues."""
    symmetric = (matrix + matrix.T) / 2
    values, vectors = np.linalg.eigh(symmetric)
    if values[0] > 0:
        return np.asarray(symmetric, np.float64)
    least = 1e-8 * values[-1]
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T, np.float64)


# --- how far it can be trusted -----------------------------------------------------------------


def _checked(model: StateSpace, rows: Floats) -> StateSpace:
    """The model with its uncertain mean, its long-run excess and its gap factors.

    What it expects of a stream is checked with all others read, and with none.
    """
    away = 1.0 / (1.0 - model.a)
    count = int(np.isfinite(rows).any(1).sum())
    model = replace(model, mean_error=(model.q * np.outer(away, away) + model.r) / count)
    ways = [
        np.array([seen.standardised[0] for seen in way.follow(rows[None])])
        for way in (model, model.apart)
    ]
    excess = np.maximum(*map(long_run, ways))
    return replace(model, excess=excess, gap_factors=_gap_factors(model, rows, ways))


def long_run(errors: Floats) -> Floats:
    """(p,), variance of sums of standardised errors (n, p) over that of independent ones, >= 1."""
    filled = np.nan_to_num(errors)
    own = (filled**2).sum(0)
    ratio = np.ones(errors.shape[1])
    for lag in range(1, LAGS + 1):
        weight = 2 * (1 - lag / (LAGS + 1))
        ratio += weight * (filled[lag:] * filled[:-lag]).sum(0) / np.maximum(own, 1e-12)
    return np.maximum(ratio, 1.0)


def _gap_factors(model: StateSpace, rows: Floats, errors: list[Floats]) -> Floats:
    """phi (p, h): mean squared standardised innovation when streams are read every h rows.

    For h = 1 these are the errors (n, p) at hand, the larger of both.
    """
    found = [np.max([np.nanmean(one**2, axis=0) for one in errors], axis=0)]
    for every in GAPS[1:]:
        steps = len(rows) // every
        if steps < LEAST_READINGS:
            found.append(found[-1])
            continue
        paths = rows[: steps * every].reshape(steps, every, -1).swapaxes(0, 1)[:PHASES]
        read = np.array([seen.standardised for seen in model.thinned(every).follow(paths)])
        found.append(np.nanmean(read**2, axis=(0, 1)))
    factors = np.maximum.accumulate(np.maximum(np.nan_to_num(found, nan=1.0), 1.0))
    every_gap = np.arange(1, GAPS[-1] + 1)
    return np.array([np.interp(every_gap, GAPS, one) for one in factors.T])
