"""Greedy: read the streams that look most shifted, with a credit for those long unread."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from causaldq.methods.base import Problem, top
from causaldq.methods.local import LocalMethod, LocalState
from causaldq.setting import NotNegative, Settings
from causaldq.types import Ints


class GreedySettings(Settings):
    """How curious it is."""

    bonus: Annotated[
        NotNegative, Field(description="credit per step that a stream goes unobserved")
    ] = 0.05


class Greedy(LocalMethod):
    """Ranks streams by Lambda_i + bonus * Y_i."""

    options: ClassVar[type[Settings]] = GreedySettings

    def __init__(self, problem: Problem, settings: GreedySettings | None = None) -> None:
        super().__init__(problem)
        self.bonus = (settings or GreedySettings()).bonus

    def choose(self, state: LocalState, rng: np.random.Generator) -> Ints:
        return top(state.contributions + self.bonus * state.unobserved, self.problem.m, rng)
