"""Sensors where the next reading is expected to tell most, given the streams' covariance."""

import numpy as np

from causaldq.covariance import (
    BlockCovariance,
    CovarianceLike,
    FactorCovariance,
    Structured,
)
from causaldq.types import Floats, Ints

TIE = 1e-9
"""Relative size of the noise that breaks ties between equally informative streams."""

ROUNDS = 12
"""With more sensors than this, several are picked at a time, each without regard to the others
of its round."""

AHEAD = 4
"""Streams for each sensor that are kept ahead, to say what a pick gains at least."""

FEW = 500
"""Streams up to which a structured covariance is used as a matrix: one for all replications at a
time is faster there than its short cut."""


def most_informative(
    covariance: CovarianceLike,
    weights: Floats,
    m: int,
    signatures: Floats | None = None,
    noise: Floats | float = 1.0,
) -> Ints:
    """Greedy sets (n, m), ascending: see `picked_in_order`."""
    return np.sort(picked_in_order(covariance, weights, m, signatures, noise), axis=1)


def picked_in_order(
    covariance: CovarianceLike,
    weights: Floats,
    m: int,
    signatures: Floats | None = None,
    noise: Floats | float = 1.0,
) -> Ints:
    """Streams (n, m) picked one after the other to raise sum_r w_r s_r[Z]' S_Z^-1 s_r[Z].

    The covariance S is (p, p), or (n, p, p) with one for each row. The weights (n, h) are those
    of shifts with signatures (h, p); without signatures, shift r is that of stream r alone. A
    stream j adds A_j / C_j: C_j is its variance given those
    picked, A_j the weighted square of what it shows of the signatures beyond them. Both
    shrink with the streams z that a round picks. With L L' their conditional covariance,
    c = L^-1 times the conditional covariances with all streams, and b = L^-1 times the rows z
    of M, the weighted products of the residual signatures,

        C <- C - c' c        M <- M - c' f - f' c,   f = b - (b[z] L'^-1) c / 2

    are of low rank, so only diagonals and picked rows are kept: O(m p (m + h)). The sum is not
    submodular, since a second stream can tell what the first shows of a shift from what is common
    to both; so gains of earlier rounds are no bounds on later ones, and structured covariances
    have bounds of their own (`_by_factors`, `_by_groups`).
    """
    n, p = len(weights), covariance.shape[-1]
    if m == p:
        return np.tile(np.arange(p), (n, 1))
    if isinstance(covariance, Structured):
        if p > FEW and signatures is None:
            return _by_structure(covariance, weights, m, np.broadcast_to(noise, weights.shape))
        covariance = covariance.dense
    rows = np.arange(n)[:, None]
    if signatures is not None and not (carries := weights.any(axis=0)).all():
        weights, signatures = weights[:, carries], signatures[carries]
    shown: Floats = weights.copy() if signatures is None else weights @ signatures**2
    covariance = np.broadcast_to(covariance, (n, p, p))
    variance = np.diagonal(covariance, axis1=1, axis2=2).copy()
    least = TIE * variance
    kept = np.empty((n, 2, m, p))  # c and f of the rounds so far
    covariances, products = kept[:, 0], kept[:, 1]
    picked = np.empty((n, m), dtype=np.int64)
    taken = np.zeros((n, p), dtype=bool)
    size = -(-m // ROUNDS)
    for k in range(0, m, size):
        now = slice(k, min(k + size, m))
        gain = np.maximum(shown, 0.0) / np.maximum(variance, least) * noise
        np.copyto(gain, -1.0, where=taken)
        z = _largest(gain, now.stop - k)
        picked[:, now] = z
        taken[rows, z] = True
        if now.stop == m:
            break
        at_z = kept[rows, :, :k, z]
        known = at_z.reshape(n, 2 * z.shape[1], k) @ covariances[:, :k]
        known = known.reshape(n, z.shape[1], 2, p)
        c = covariance[rows, z]
        c -= known[:, :, 0]
        b = _products(weights, signatures, z)
        b -= known[:, :, 1]
        b -= at_z[:, :, 0] @ products[:, :k]
        inverse = _inverse_factor(_columns(c, z), least[rows, z])
        times = np.multiply if size == 1 else np.matmul  # numbers, or matrices
        c, f = times(inverse, c), times(inverse, b)
        f -= times(times(_columns(f, z), inverse.swapaxes(1, 2)) / 2, c)
        covariances[:, now], products[:, now] = c, f
        variance -= np.einsum("nbp,nbp->np", c, c)
        shown -= 2 * np.einsum("nbp,nbp->np", c, f)
    return picked


def _largest(gain: Floats, size: int) -> Ints:
    """Places of the largest (n, size) of each row, largest first; the gain is used up.

    There are few to find, and numpy finds a maximum much faster than it partitions.
    """
    rows = np.arange(len(gain))
    places = np.empty((len(gain), size), dtype=np.int64)
    for number in range(size):
        places[:, number] = found = gain.argmax(axis=1)
        gain[rows, found] = -np.inf
    return places


def _products(weights: Floats, signatures: Floats | None, z: Ints) -> Floats:
    """Rows z (n, b) of the weighted products of the signatures, (n, b, p)."""
    if signatures is None:
        n, p = weights.shape
        rows = np.zeros((*z.shape, p))
        at_z = weights.take(np.arange(0, n * p, p)[:, None] + z)
        rows.reshape(-1)[np.arange(0, rows.size, p).reshape(z.shape) + z] = at_z
        return rows
    return np.asarray((weights[:, None, :] * signatures.T[z]) @ signatures)


def _columns(matrices: Floats, z: Ints) -> Floats:
    """Columns z (n, b) of matrices (n, b, p)."""
    n, b, p = matrices.shape
    return matrices.take(np.arange(0, n * b * p, p).reshape(n, b, 1) + z[:, None, :])


def _inverse_factor(block: Floats, least: Floats) -> Floats:
    """L^-1 of the Cholesky factors L of conditional covariances (n, b, b), kept positive."""
    if block.shape[1] == 1:
        return 1.0 / np.sqrt(np.maximum(block, least[:, :, None]))
    ridge = least[:, :, None] * np.eye(block.shape[1])
    return np.asarray(np.linalg.inv(np.linalg.cholesky(block + ridge)), np.float64)


# --- structured covariances --------------------------------------------------------------------


def _by_structure(covariance: Structured, weights: Floats, m: int, noise: Floats) -> Ints:
    """The same picks (n, m), row by row, without the covariances of all streams."""
    if isinstance(covariance, FactorCovariance):
        rows = [_by_factors(covariance, *row, m) for row in zip(weights, noise, strict=True)]
    elif isinstance(covariance, BlockCovariance):
        rows = [_by_groups(covariance, *row, m) for row in zip(weights, noise, strict=True)]
    else:
        return picked_in_order(covariance.dense, weights, m, noise=noise)
    return np.array(rows)


def _by_factors(covariance: FactorCovariance, weights: Floats, noise: Floats, m: int) -> Ints:
    """Picks (m,) for weights (p,): streams hang together by factors B (p, r) alone.

    With Z the streams picked and D their own variances, the factors are known up to
    V = (I + B_Z' D^-1 B_Z)^-1, and a stream j has

        C_j = own_j + b_j V b_j'        A_j = w_j + b_j K b_j',   K = V B_Z' D^-1 w_Z D^-1 B_Z V.

    Eigenvalues of V and K bound that from the length of b_j. Streams that were ahead before say
    what a pick gains at least, and only those that may gain more are worked out.
    """
    loadings, own, shared = covariance.loadings, covariance.own, covariance.shared
    r = covariance.factors
    precision, products = np.eye(r), np.zeros((r, r))
    known: Floats = np.eye(r)
    moved: Floats = np.zeros((r, r))

    def gains(streams: Ints) -> Floats:
        near = loadings[streams]
        shown = weights[streams] + np.einsum("pr,pr->p", near @ moved, near)
        left = own[streams] + np.einsum("pr,pr->p", near @ known, near)
        return np.asarray(shown / left * noise[streams], np.float64)

    picked = np.empty(m, dtype=np.int64)
    free = np.ones(len(own), dtype=bool)
    size, wide = -(-m // ROUNDS), min(AHEAD * m, len(own))
    ahead = np.argpartition(weights / covariance.variance * noise, -wide)[-wide:]
    for k in range(0, m, size):
        count = min(size, m - k)
        ahead = ahead[free[ahead]]
        edge = np.partition(gains(ahead), -count)[-count] * (1.0 - TIE)
        (least_open, _), (_, most_moved) = _ends(known), _ends(moved)
        most = (weights + most_moved * shared) / (own + least_open * shared) * noise
        unclear = np.flatnonzero((most >= edge) & free)
        gain = gains(unclear)
        if len(unclear) > wide:
            ahead = unclear[np.argpartition(gain, -wide)[-wide:]]
        z = unclear[_largest(gain[None], count)[0]]
        picked[k : k + count], free[z] = z, False
        weighed = loadings[z] / own[z, None]
        precision += loadings[z].T @ weighed
        products += weighed.T @ (weights[z, None] * weighed)
        known = np.asarray(np.linalg.inv(precision), np.float64)
        moved = known @ products @ known
    return picked


def _ends(matrix: Floats) -> tuple[float, float]:
    """Bounds on the eigenvalues of a positive semidefinite matrix (r, r), rounding included."""
    if not len(matrix):
        return 0.0, 0.0
    values = np.linalg.eigvalsh(matrix)
    slack = TIE * abs(float(values[-1]))
    return max(float(values[0]) - slack, 0.0), float(values[-1]) + slack


def _by_groups(covariance: BlockCovariance, weights: Floats, noise: Floats, m: int) -> Ints:
    """Picks (m,) for weights (p,): a pick changes the gains of its own group alone."""
    gain = weights / covariance.variance * noise
    picked: list[int] = []
    size = -(-m // ROUNDS)
    for k in range(0, m, size):
        z = _largest(gain[None].copy(), min(size, m - k))[0]
        picked += z.tolist()
        gain[z] = -1.0
        for group in np.unique(covariance.group[z]):
            members, matrix = covariance.members[group], covariance.matrix_of(group)
            inside = np.isin(members, picked)
            weight, others = weights[members], ~inside
            slopes = np.linalg.solve(matrix[np.ix_(inside, inside)], matrix[np.ix_(inside, others)])
            shown = weight[others] + weight[inside] @ slopes**2
            left = np.diag(matrix)[others] - (matrix[np.ix_(inside, others)] * slopes).sum(axis=0)
            least = TIE * np.diag(matrix)[others]
            gain[members[others]] = shown / np.maximum(left, least) * noise[members[others]]
    return np.array(picked)
