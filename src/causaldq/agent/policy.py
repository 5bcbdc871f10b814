"""A trained network as a method: frozen, top-m, on observed values only."""

from typing import ClassVar

import numpy as np

from causaldq.agent.checkpoint import Checkpoint
from causaldq.agent.network import top_streams
from causaldq.agent.state import causal_state
from causaldq.methods.base import Problem
from causaldq.methods.local import LocalMethod, LocalState
from causaldq.types import Ints


class LearnedPolicy(LocalMethod):
    """Reads the m streams of largest Q."""

    trained: ClassVar[bool] = True

    def __init__(self, problem: Problem, checkpoint: Checkpoint) -> None:
        super().__init__(problem, with_mean=checkpoint.effects is not None)
        self.network = checkpoint.online
        self.effects = checkpoint.effects
        self.cap = checkpoint.settings.agent.unobserved_cap

    def choose(self, state: LocalState, rng: np.random.Generator) -> Ints:
        features = causal_state(self.local, state, self.effects, self.cap)
        return top_streams(self.network(features), self.problem.m)
