"""Experience replay: a ring of transitions."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from causaldq.types import Bools, Floats, Ints


@dataclass
class Replay:
    """Transitions (s, a, shares, s', C), overwritten from the oldest on."""

    arrays: dict[str, npt.NDArray[Any]]
    added: int = 0

    @classmethod
    def empty(cls, capacity: int, inputs: int, p: int, m: int) -> "Replay":
        return cls(
            {
                "state": np.zeros((capacity, inputs), np.float32),
                "next_state": np.zeros((capacity, inputs), np.float32),
                "selected": np.zeros((capacity, m), np.int64),
                "shares": np.zeros((capacity, m), np.float32),
                "mask": np.zeros((capacity, p), np.float32),
            }
        )

    @property
    def capacity(self) -> int:
        return len(self.arrays["state"])

    def add(
        self,
        state: npt.NDArray[np.float32],
        selected: Ints,
        shares: Floats,
        next_state: npt.NDArray[np.float32],
        mask: Bools,
    ) -> None:
        n = len(state)
        rows = (self.added + np.arange(n)) % self.capacity
        new: dict[str, npt.NDArray[Any]] = {
            "state": state,
            "next_state": next_state,
            "selected": selected,
            "shares": shares,
            "mask": mask,
        }
        for name, values in new.items():
            self.arrays[name][rows] = values
        self.added += n

    def sample(self, batch: int, rng: np.random.Generator) -> "Batch":
        rows = rng.integers(min(self.added, self.capacity), size=batch)
        states = np.empty((2, batch, self.arrays["state"].shape[1]), np.float32)
        # "clip" lets numpy write to its place at once; the rows exist.
        self.arrays["state"].take(rows, axis=0, out=states[0], mode="clip")
        self.arrays["next_state"].take(rows, axis=0, out=states[1], mode="clip")
        others = (self.arrays[name].take(rows, axis=0) for name in ("selected", "shares", "mask"))
        return Batch(states, *others)


class Batch(NamedTuple):
    """n transitions drawn at random."""

    states: npt.NDArray[Any]
    """s, then s', (2, n, inputs): the online network takes both in one product."""
    selected: Ints
    """(n, m)"""
    shares: npt.NDArray[Any]
    """(n, m)"""
    mask: npt.NDArray[Any]
    """C, (n, p)."""
