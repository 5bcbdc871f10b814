"""Sensors where the next reading is expected to tell most, given the streams' covariance."""

import numpy as np

from causaldq.types import Floats, Ints

TIE = 1e-9
"""Relative size of the noise that breaks ties between equally informative streams."""

ROUNDS = 12
"""With more sensors than this, several are picked at a time, each without regard to the others
of its round."""


def most_informative(
    covariance: Floats,
    weights: Floats,
    m: int,
    signatures: Floats | None = None,
    noise: Floats | float = 1.0,
) -> Ints:
    """Greedy sets (n, m), ascending: see `picked_in_order`."""
    return np.sort(picked_in_order(covariance, weights, m, signatures, noise), axis=1)


def picked_in_order(
    covariance: Floats,
    weights: Floats,
    m: int,
    signatures: Floats | None = None,
    noise: Floats | float = 1.0,
) -> Ints:
    """Streams (n, m) picked one after the other to raise sum_r w_r s_r[Z]' S_Z^-1 s_r[Z].

    The weights (n, h) are those of shifts with signatures (h, p); without signatures, shift r
    is that of stream r alone. A stream j adds A_j / C_j: C_j is its variance given those
    picked, A_j the weighted square of what it shows of the signatures beyond them. Both
    shrink with the streams z that a round picks. With L L' their conditional covariance,
    c = L^-1 times the conditional covariances with all streams, and b = L^-1 times the rows z
    of M, the weighted products of the residual signatures,

        C <- C - c' c        M <- M - c' f - f' c,   f = b - (b[z] L'^-1) c / 2

    are of low rank, so only diagonals and picked rows are kept: O(m p (m + h)).
    """
    n, p = len(weights), len(covariance)
    if m == p:
        return np.tile(np.arange(p), (n, 1))
    rows = np.arange(n)[:, None]
    if signatures is not None and not (carries := weights.any(axis=0)).all():
        weights, signatures = weights[:, carries], signatures[carries]
    shown: Floats = weights.copy() if signatures is None else weights @ signatures**2
    variance = np.tile(np.diag(covariance), (n, 1))
    least = TIE * np.diag(covariance)
    covariances, products = np.zeros((n, m, p)), np.zeros((n, m, p))
    picked = np.zeros((n, m), dtype=np.int64)
    taken = np.zeros((n, p), dtype=bool)
    size = -(-m // ROUNDS)
    for k in range(0, m, size):
        now = slice(k, min(k + size, m))
        gain = np.maximum(shown, 0.0) / np.maximum(variance, least) * noise
        gain[taken] = -1.0
        z = _largest(gain, now.stop - k)
        picked[:, now] = z
        taken[rows, z] = True
        if now.stop == m:
            break
        c_before, f_before = covariances[:, :k], products[:, :k]
        c_at_z, f_at_z = (before[rows, :, z] for before in (c_before, f_before))
        c = covariance[z] - c_at_z @ c_before
        b = _products(weights, signatures, z) - c_at_z @ f_before - f_at_z @ c_before
        inverse = _inverse_factor(_columns(c, z), least[z])
        c, b = inverse @ c, inverse @ b
        f = b - (_columns(b, z) @ inverse.swapaxes(1, 2)) @ c / 2
        covariances[:, now], products[:, now] = c, f
        variance -= (c**2).sum(axis=1)
        shown -= 2 * (c * f).sum(axis=1)
    return picked


def _largest(gain: Floats, size: int) -> Ints:
    """Places of the largest (n, size) of each row, largest first."""
    if size == 1:
        return np.asarray(gain.argmax(axis=1)[:, None])
    places = np.argpartition(-gain, size - 1, axis=1)[:, :size]
    order = np.argsort(-np.take_along_axis(gain, places, axis=1), axis=1)
    return np.take_along_axis(places, order, axis=1)


def _products(weights: Floats, signatures: Floats | None, z: Ints) -> Floats:
    """Rows z (n, b) of the weighted products of the signatures, (n, b, p)."""
    if signatures is None:
        rows = np.zeros((*z.shape, weights.shape[1]))
        np.put_along_axis(rows, z[:, :, None], np.take_along_axis(weights, z, axis=1)[..., None], 2)
        return rows
    return np.asarray((weights[:, None, :] * signatures.T[z]) @ signatures)


def _columns(matrices: Floats, z: Ints) -> Floats:
    """Columns z (n, b) of matrices (n, b, p)."""
    return np.take_along_axis(matrices, z[:, None, :], axis=2)


def _inverse_factor(block: Floats, least: Floats) -> Floats:
    """L^-1 of the Cholesky factors L of conditional covariances (n, b, b), kept positive."""
    if block.shape[1] == 1:
        return 1.0 / np.sqrt(np.maximum(block, least[:, :, None]))
    ridge = least[:, :, None] * np.eye(block.shape[1])
    return np.asarray(np.linalg.inv(np.linalg.cholesky(block + ridge)), np.float64)
