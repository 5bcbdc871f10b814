"""Root causes by graphs that are trusted: what a known causal graph is worth."""

from typing import ClassVar

from causaldq.discovery.signatures import ParentSets, parent_sets
from causaldq.methods.base import GraphNeed
from causaldq.methods.causal_sr import CausalSr


class CausalSrKnown(CausalSr):
    """The mixture over root causes with the true graph."""

    graph: ClassVar[GraphNeed] = "known"

    def sets(self) -> ParentSets:
        return parent_sets(self.graphs())
