"""What is known of the streams when all is well."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from causaldq.files import read_arrays, write_arrays
from causaldq.sources.prepare import block_bootstrap, block_length
from causaldq.types import Floats


@dataclass(frozen=True)
class StreamModel:
    """In-control streams: recorded rows, their covariance and, if known, the true graph."""

    names: tuple[str, ...]
    rows: Floats
    """(n, p), standardised in-control rows: what causal discovery sees."""
    covariance: Floats
    """(p, p), Sigma."""
    effects: Floats
    """(p, p), true direct effects; entry [i, j] is that of i on j. Zero where unknown."""
    recorded: bool = False
    """The rows are measurements, with whatever memory they have; there is no model to draw from."""

    @property
    def p(self) -> int:
        return len(self.names)

    def total_effects(self) -> Floats:
        """(p, p); entry [i, j] is how far j moves when the own term of i moves by one."""
        return np.asarray(np.linalg.inv(np.eye(self.p) - self.effects), np.float64)

    def in_control(self, n: int, steps: int, rng: np.random.Generator) -> Floats:
        """Fresh in-control values (n, steps, p): from the model, or blocks of recorded rows.

        Blocks keep the autocorrelation on which a limit depends.
        """
        if self.recorded:
            return block_bootstrap(self.rows, n, steps, block_length(self.rows), rng)
        factor = np.linalg.cholesky(self.covariance)
        return np.asarray(rng.standard_normal((n, steps, self.p)) @ factor.T, np.float64)

    def save(self, path: Path) -> None:
        write_arrays(
            path,
            {
                "names": np.array(self.names),
                "rows": self.rows,
                "covariance": self.covariance,
                "effects": self.effects,
                "recorded": np.array(self.recorded),
            },
        )

    @classmethod
    def load(cls, path: Path) -> "StreamModel":
        arrays = read_arrays(path, "names", "rows", "covariance", "effects", "recorded")
        return cls(
            names=tuple(str(name) for name in arrays["names"]),
            rows=arrays["rows"],
            covariance=arrays["covariance"],
            effects=arrays["effects"],
            recorded=bool(arrays["recorded"]),
        )
