"""Greedy: read the streams that look most shifted, with a credit for those long unread."""

import numpy as np

from causaldq.methods.base import top
from causaldq.methods.local import LocalMethod, LocalState
from causaldq.types import Ints


class Greedy(LocalMethod):
    """Ranks streams by Lambda_i + bonus * Y_i."""

    def choose(self, state: LocalState, rng: np.random.Generator) -> Ints:
        bonus = self.problem.baselines.exploration_bonus
        return top(state.contributions + bonus * state.unobserved, self.problem.m, rng)
