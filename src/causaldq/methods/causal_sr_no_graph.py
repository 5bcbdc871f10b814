"""Control: what the mixture gives without causal knowledge."""

from typing import ClassVar

from causaldq.discovery.signatures import ParentSets, graph_free
from causaldq.methods.base import GraphNeed
from causaldq.methods.causal_sr import CausalSr


class CausalSrNoGraph(CausalSr):
    """C empty and C all together."""

    graph: ClassVar[GraphNeed] = "none"

    def sets(self) -> ParentSets:
        return graph_free(self.problem.p)
