"""Control: the true links, directed at random."""

import numpy as np

from causaldq.methods.causal_sr_known import CausalSrKnown
from causaldq.types import Bools


class CausalSrRandomOrder(CausalSrKnown):
    """The graphs' links, each directed along one random order of the streams."""

    def graphs(self) -> Bools:
        graphs = super().graphs()
        place = np.random.default_rng(self.settings.order_seed).permutation(self.problem.p)
        return (graphs | graphs.transpose(0, 2, 1)) & (place[:, None] < place)
