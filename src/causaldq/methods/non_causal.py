"""Non-causal DQ: the paper's control, the same agent without its causal parts.

Its state has no phi, any hit earns the same, and there is no causal entropy (section 6). The first
of these is all that is left of the difference once a network is trained.
"""

from causaldq.methods.base import Problem
from causaldq.methods.causal_dq import CausalDq, Perceptron
from causaldq.types import Floats


class NonCausal(CausalDq):
    """Reads the m streams of largest Q, from (Lambda_i, Y_i) alone."""

    def __init__(
        self, problem: Problem, network: Perceptron, effects: Floats | None, cap: int
    ) -> None:
        if effects is not None:
            raise ValueError(f"{type(self).__name__} has no phi in its state; give no effects")
        super().__init__(problem, network, None, cap)
