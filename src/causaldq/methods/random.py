"""Random sensors: what no policy at all would reach."""

import numpy as np

from causaldq.methods.base import largest
from causaldq.methods.local import LocalMethod, LocalState
from causaldq.types import Ints


class Random(LocalMethod):
    """m streams at random at every step."""

    def choose(self, state: LocalState, rng: np.random.Generator) -> Ints:
        drawn = rng.random(state.contributions.shape)
        return largest(-drawn, self.problem.m, drawn)
