"""Experience replay: a ring of transitions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

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

    def sample(self, batch: int, rng: np.random.Generator) -> dict[str, Tensor]:
        rows = rng.integers(min(self.added, self.capacity), size=batch)
        return {name: torch.from_numpy(array[rows]) for name, array in self.arrays.items()}
