"""Control: what the mixture gives without causal knowledge."""

from typing import ClassVar

from causaldq.discovery.signatures import ParentSets, graph_free
from causaldq.methods.causal_sr import CausalSr, GraphNeed


class CausalSrNoGraph(CausalSr):
    """C empty and C all together."""

    graph: ClassVar[GraphNeed] = "none"

    def sets(self) -> ParentSets:
        return graph_free(self.problem.p)
