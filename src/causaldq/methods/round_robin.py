"""Round robin: every stream in its turn."""

from dataclasses import replace

import numpy as np

from causaldq.methods.base import Truth
from causaldq.methods.local import LocalMethod, LocalState
from causaldq.types import Ints


class RoundRobin(LocalMethod):
    """The next m streams after those last read, starting over after stream p."""

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> LocalState:
        """Each replication begins elsewhere, so that the change finds the turn anywhere."""
        last = rng.integers(self.problem.p, size=(n, 1))
        return replace(super().start(n, truth, rng), selected=self._following(last))

    def choose(self, state: LocalState, rng: np.random.Generator) -> Ints:
        return self._following(state.selected[:, -1:])

    def _following(self, last: Ints) -> Ints:
        """The m streams after `last` (n, 1), in turn; (n, m)."""
        return np.asarray((last + 1 + np.arange(self.problem.m)) % self.problem.p)
