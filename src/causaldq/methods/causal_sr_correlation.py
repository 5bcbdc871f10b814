"""Control: what is correlated with a stream is taken for its effect."""

from typing import ClassVar

from causaldq.discovery.signatures import ParentSets, nothing_given
from causaldq.methods.base import GraphNeed
from causaldq.methods.causal_sr import CausalSr


class CausalSrCorrelation(CausalSr):
    """C empty."""

    graph: ClassVar[GraphNeed] = "none"

    def sets(self) -> ParentSets:
        return nothing_given(self.problem.p)
