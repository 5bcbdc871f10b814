"""The causal state: what the network sees of each stream."""

import numpy as np
import numpy.typing as npt

from causaldq.methods.local import LocalState
from causaldq.statistic import LocalStatistic
from causaldq.types import Floats


def causal_statistic(mean: Floats, effects: Floats) -> Floats:
    """phi_i = mu_i^2 + sum over j != i of mu_i eta_ij mu_j, (n, p), since eta_ii = 1."""
    return mean * (mean @ effects.T)


def causal_state(
    local: LocalStatistic, state: LocalState, effects: Floats | None, cap: int
) -> npt.NDArray[np.float32]:
    """Lambda_i, phi_i and Y_i of all streams, one after the other: (n, 3p).

    Compressed by a signed logarithm; Y is capped. Without effects there is no phi: (n, 2p).
    Everything comes from values that were read.
    """
    unobserved = np.minimum(state.unobserved, cap)
    parts = [state.contributions, unobserved]
    if effects is not None:
        parts.insert(1, causal_statistic(local.mean(state.evidence), effects))
    features = np.concatenate(parts, axis=1)
    compressed: npt.NDArray[np.float32] = np.sign(features) * np.log1p(np.abs(features))
    return compressed.astype(np.float32)
