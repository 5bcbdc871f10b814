"""Control: every link the wrong way round."""

from causaldq.methods.causal_sr_known import CausalSrKnown
from causaldq.types import Bools


class CausalSrReversed(CausalSrKnown):
    """Effects are taken for causes."""

    def graphs(self) -> Bools:
        return super().graphs().transpose(0, 2, 1)
