"""Random sensors: what no policy at all would reach."""

import numpy as np

from causaldq.methods.base import top
from causaldq.methods.local import LocalMethod, LocalState
from causaldq.types import Ints


class Random(LocalMethod):
    """m streams at random at every step."""

    def choose(self, state: LocalState, rng: np.random.Generator) -> Ints:
        return top(np.zeros_like(state.contributions), self.problem.m, rng)
