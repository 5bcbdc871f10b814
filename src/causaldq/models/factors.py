"""Few common factors, fitted to rows of very many streams.

Factor analysis by principal components of the streams in units of what is their own, in turn with
that own variance. The largest components come from products of the rows with few vectors, so that
nothing of size p x p or n x n is made. With p streams and n rows, noise alone gives components of
variance up to (1 + sqrt(p/n))^2, and raises the others: one of variance l seems to be of

    (1 + l) (1 + p / (n l))

(Baik and Silverstein 2006; Paul 2007), which is solved for l.
"""

import numpy as np

from causaldq.covariance import BlockCovariance, FactorCovariance
from causaldq.errors import DataError
from causaldq.models.rows import Covariance, estimate_covariance
from causaldq.seeds import generator
from causaldq.types import Floats, Ints

NUMBERS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Of factors, that are tried."""
ROWS_A_FACTOR = 20
HELD_OUT = 0.2
"""Of the rows, the last, that choose the number of factors."""
SPARE = 8
"""More vectors than components are wanted: the last of them are not exact."""
ROUNDS = 2
FLOOR = 0.2
"""Smallest own variance that streams are weighed by in between: a stream that factors seem to
explain by chance would draw a factor to itself."""
LEAST = 1e-3
"""Smallest share of a stream's variance that is its own."""


def fit_factors(rows: Floats, factors: int | None = None) -> Covariance:
    """The covariance of standardised rows (n, p) as that of few factors.

    Parameters
    ----------
    rows : array, shape (n, p)
        In standard deviations from their mean.
    factors : int, optional
        How many; by default as many as make the last fifth of the rows likeliest.

    Returns
    -------
    Covariance
        Its matrix is a `FactorCovariance`.

    Examples
    --------
    >>> common = np.random.default_rng(0).normal(size=(2000, 1))
    >>> rows = 0.6 * common + 0.8 * np.random.default_rng(1).normal(size=(2000, 12))
    >>> found = fit_factors(rows).matrix
    >>> found.factors, float(found.loadings.__abs__().mean().round(1))
    (1, 0.6)
    """
    n, p = rows.shape
    if factors is None:
        factors = chosen_factors(rows)
    if not 0 <= factors <= min(n, p) // 2:
        raise DataError(
            f"{factors} factors from {n} rows of {p} streams; give 0 to {min(n, p) // 2}"
        )
    return Covariance(_factors(_loadings(rows, factors)), "factor", 0.0)


def chosen_factors(rows: Floats) -> int:
    """The number of factors under which the last rows are likeliest; fitted on those before."""
    first = int((1 - HELD_OUT) * len(rows))
    most = min(first // ROWS_A_FACTOR, rows.shape[1] // 2)
    tried = [number for number in NUMBERS if number <= most]
    loadings = _loadings(rows[:first], tried[-1])
    likely = [_factors(loadings[:, :k]).log_likelihood(rows[first:]) for k in tried]
    return tried[int(np.argmax(likely))]


def fit_groups(rows: Floats, group: Ints) -> Covariance:
    """The covariance of standardised rows (n, p) whose streams go together in groups (p,) only."""
    sizes = np.bincount(group)
    matrices = np.zeros((len(sizes), sizes.max(), sizes.max()))
    matrices[:] = np.eye(sizes.max())
    shrinkage = 0.0
    for number, size in enumerate(sizes):
        found = estimate_covariance(rows[:, group == number])
        matrices[number, :size, :size] = found.matrix
        shrinkage = max(shrinkage, found.shrinkage)
    return Covariance(BlockCovariance(group, matrices), "block", shrinkage)


def _factors(loadings: Floats) -> FactorCovariance:
    """Variances are one: what factors leave of it is a stream's own."""
    shared = np.einsum("pr,pr->p", loadings, loadings)
    shrink = np.sqrt(np.minimum(1.0, (1.0 - LEAST) / np.maximum(shared, LEAST)))
    loadings = loadings * shrink[:, None]
    return FactorCovariance(loadings, 1.0 - np.einsum("pr,pr->p", loadings, loadings))


def _loadings(rows: Floats, factors: int) -> Floats:
    """B (p, r), the strongest factor first."""
    n, p = rows.shape
    if factors == 0:
        return np.zeros((p, 0))
    ratio = p / n
    basis = generator(0, "factors", p).standard_normal((p, min(factors + SPARE, n, p)))
    own, loadings = np.ones(p), np.zeros((p, factors))
    for number in range(ROUNDS):
        scale = 1.0 / np.sqrt(own)[:, None]
        for _ in range(2 if number else 4):
            basis = np.linalg.qr(scale * (rows.T @ (rows @ (scale * basis))))[0]
        _, sizes, turn = np.linalg.svd(rows @ (scale * basis), full_matrices=False)
        basis = basis @ turn.T
        beyond = sizes[:factors] ** 2 / n - 1.0 - ratio
        real = np.sqrt(np.maximum(beyond**2 - 4 * ratio, 0.0))
        spikes = np.where(beyond > 2 * np.sqrt(ratio), (beyond + real) / 2, 0.0)
        loadings = basis[:, :factors] * np.sqrt(spikes) / scale
        own = np.maximum(_factors(loadings).own, FLOOR)
    return loadings
