"""Control: the one learned policy without messages, causal reward and causal entropy."""

from typing import ClassVar

from causaldq.methods.base import GraphNeed
from causaldq.methods.causal_dq_eq import CausalDqEq


class NonCausalEq(CausalDqEq):
    """What learning gives without causal knowledge."""

    graph: ClassVar[GraphNeed] = "none"
