"""A Q-network that treats all streams alike. In numpy, so that monitoring needs no torch.

Each stream's features are encoded with the same weights; what the encodings have in common
is pooled; and, if the network is causal, each stream hears from its causes and its effects:

    h_i = relu(a f_i)            u = relu(c [mean h, max h, g])
    k_i = relu(b h_i + d u + in sum_j |eta_ji| h_j + out sum_j |eta_ij| h_j)
    A_i = w_i exp(q k_i)         Q_i = A_i + v u

w_i is what the Bayes filter expects of reading stream i: an untrained network does as the filter
does, and training says where to trust it more or less. To number the streams otherwise
numbers the Q-values otherwise; p and m may be any.

The sensors are the set Z that maximises sum_i A_i (S_Z^-1)_ii, grown greedily: what each
stream is worth times how sharply Z shows it. Where streams are independent, these are
the m streams of largest Q, as in the paper.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from causaldq.types import Floats

Array = npt.NDArray[np.float32]
Link = Any
"""Shares (p, p), as an array or, if there are many streams and few edges, a sparse one."""
Heard = tuple[Link, Link]

FEATURES = 6
"""Of each stream."""
LARGE = 256
"""Streams from which on it pays to leave out edges that are not there."""
GLOBALS = 3
"""Of the problem and the run."""
MOST = 4.0
"""Trust or distrust goes no further than the factor exp(4)."""


@dataclass(frozen=True)
class Seen:
    """What the network sees of n runs."""

    streams: Array
    """(n, p, FEATURES)"""
    run: Array
    """(n, GLOBALS)"""
    worth: Array
    """(n, p), what the filter expects of each stream."""


def shapes(hidden: int, *, causal: bool) -> dict[str, tuple[int, ...]]:
    """Weights (inputs, outputs) and biases of the network, by name."""
    found: dict[str, tuple[int, ...]] = {
        "encode": (FEATURES, hidden),
        "encode_bias": (hidden,),
        "pool": (2 * hidden + GLOBALS, hidden),
        "pool_bias": (hidden,),
        "own": (hidden, hidden),
        "common": (hidden, hidden),
        "mix_bias": (hidden,),
        "trust": (hidden, 1),
        "trust_bias": (1,),
        "value": (hidden, 1),
        "value_bias": (1,),
    }
    if causal:
        found |= {"causes": (hidden, hidden), "effects": (hidden, hidden)}
    return found


def links(effects: Floats) -> Heard:
    """How much each stream hears of its causes and of its effects, (p, p) each; rows sum to < 1."""
    size = np.abs(effects)

    def normalised(heard: Floats) -> Link:
        share = np.asarray(heard / (1.0 + heard.sum(axis=1, keepdims=True)), np.float32)
        if len(share) < LARGE or np.count_nonzero(share) > share.size / 10:
            return share
        from scipy.sparse import csr_array  # slow to import, and small problems do without

        return csr_array(share)

    return normalised(size.T), normalised(size)


def _heard(link: Link, encoded: Array) -> Array:
    if isinstance(link, np.ndarray):
        return np.asarray(link @ encoded)
    return np.stack([link @ run for run in encoded])


def _times(values: Array, weights: Array) -> Array:
    """Values (n, p, inputs) times weights (inputs, outputs), in one product for all n."""
    (n, p, inputs), outputs = values.shape, weights.shape[1]
    return np.asarray((values.reshape(n * p, inputs) @ weights).reshape(n, p, outputs))


def advantages(weights: Mapping[str, Array], seen: Seen, heard: Heard | None) -> Array:
    """A (n, p), what each stream is worth."""
    encoded = _times(seen.streams, weights["encode"])
    encoded += weights["encode_bias"]
    np.maximum(encoded, 0, out=encoded)
    pooled = np.concatenate([encoded.mean(axis=1), encoded.max(axis=1), seen.run], axis=1)
    context = np.maximum(pooled @ weights["pool"] + weights["pool_bias"], 0)
    mixed = _times(encoded, weights["own"])
    mixed += (context @ weights["common"] + weights["mix_bias"])[:, None, :]
    if heard is not None:
        causes, effects = heard
        mixed += _times(_heard(causes, encoded), weights["causes"])
        mixed += _times(_heard(effects, encoded), weights["effects"])
    np.maximum(mixed, 0, out=mixed)
    trust = _times(mixed, weights["trust"])[:, :, 0] + weights["trust_bias"]
    return np.asarray(seen.worth * np.exp(np.clip(trust, -MOST, MOST)))
