"""Control: the one learned policy without messages, causal reward and causal entropy."""

from typing import ClassVar

from causaldq.methods.causal_dq_eq import CausalDqEq


class NonCausalEq(CausalDqEq):
    """What learning gives without causal knowledge."""

    causal: ClassVar[bool] = False
