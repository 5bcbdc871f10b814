"""SDQ-style: a double Q-network with epsilon-greedy exploration.

After Li et al. (2025), whose body is not public: state (Lambda_i, Y_i), +3 for any hit, -10 for
none.
It differs from `NonCausal` in how it is trained, not in how a trained one is used.
"""

from causaldq.methods.non_causal import NonCausal


class Sdq(NonCausal):
    """Reads the m streams of largest Q, from (Lambda_i, Y_i) alone."""
