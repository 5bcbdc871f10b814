"""TSSRP told the covariance: what its lead over `tssrp` is, a covariance gives and no policy.

`tssrp` takes streams for independent; `greedy` and `cmab` weigh what they read by the covariance
of the streams read together, as the filter does. This is TSSRP on the same footing. The right
evidence for stream i is the likelihood ratio of a shift of i alone, given all that was read: with
Z the streams read and S_Z their in-control covariance,

    LR_i = exp(±d s_i - d^2 N_i / 2),   s = S_Z^-1 x_Z,   N_i = (S_Z^-1)_ii,

d being mu1 deviations of the stream. It is that of a single reading, the residual of x_i given the
other streams read, whose variance is 1 / N_i. Whitened values would not do: each mixes several
streams, in a way that depends on their order.
"""

import numpy as np

from causaldq.covariance import blocks, ridged
from causaldq.methods.base import Problem
from causaldq.methods.tssrp import Tssrp, TssrpSettings, TssrpState, log_sum
from causaldq.statistic import inverse_positive
from causaldq.types import Floats, Ints


class TssrpCov(Tssrp):
    """Reads the m largest local statistics, of evidence freed of the other streams read."""

    def __init__(self, problem: Problem, settings: TssrpSettings | None = None) -> None:
        super().__init__(problem, settings)
        # A ridge keeps solves safe where streams repeat each other.
        self.covariance = ridged(problem.covariance, problem.statistic.ridge)

    def observe(
        self, state: TssrpState, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> TssrpState:
        """R <- R + 1 for all, times the likelihood ratio for those read."""
        precision = inverse_positive(blocks(self.covariance, streams))
        shift = self.settings.shift * self.deviation[streams]
        gain, allowance = np.zeros((2, *state.upward.shape))
        seen = (precision @ values[:, :, None])[:, :, 0]
        np.put_along_axis(gain, streams, shift * seen, axis=1)
        information = np.einsum("nii->ni", precision)
        np.put_along_axis(allowance, streams, shift**2 * information / 2, axis=1)
        return TssrpState(
            log_sum(state.upward, 0.0) + gain - allowance,
            log_sum(state.downward, 0.0) - gain - allowance,
        )
