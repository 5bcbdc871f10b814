"""What is known of the streams when all is well."""

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from causaldq.covariance import CovarianceLike, Structured
from causaldq.errors import DataError
from causaldq.files import read_arrays, write_arrays
from causaldq.models.rows import block_bootstrap, block_length, resample
from causaldq.setting import Protocol
from causaldq.types import Floats


@dataclass(frozen=True)
class Records:
    """What a recorded source has besides its reference rows; all in their scale."""

    mean: Floats
    """(p,), in-control means in the source's units: the scale's origin."""
    sd: Floats
    """(p,), in-control standard deviations in the source's units."""
    held_out: Floats
    """(n, p), in-control rows that neither scale, covariance, graph nor limit has seen."""
    anomalous: Floats
    """(n, p), rows under the anomaly that `paper` trains on; none if shifts are injected."""
    test_anomalous: Floats
    """(n, p), rows under the anomaly of the test; none if shifts are injected."""
    window: int
    """Rows of a window where `held_out` and `test_anomalous` consist of windows; 0 if not."""


@dataclass(frozen=True)
class Law:
    """Where simulated values come from, if not from the normal law of the known covariance."""

    own: Floats
    """(p,), standard deviation of each stream's own term; the true effects add the rest."""
    tails: float
    """Degrees of freedom of Student's t, scaled to variance one, for own terms; inf: normal."""

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Own terms of variance one."""
        if np.isinf(self.tails):
            return np.asarray(rng.standard_normal(shape), np.float64)
        return np.asarray(rng.standard_t(self.tails, shape) * np.sqrt(1 - 2 / self.tails))


@dataclass(frozen=True)
class StreamModel:
    """In-control streams: recorded rows, their covariance and, if known, the true graph.

    Parameters
    ----------
    names : tuple of str
        Of the streams.
    rows : array, shape (r, p)
        Standardised in-control rows: what causal discovery sees.
    covariance : array, shape (p, p), or structure
        Sigma.
    effects : array, shape (p, p)
        True direct effects; entry [i, j] is that of i on j. Zero where unknown.
    records : Records, optional
        There is no model to draw from: the rows are measurements, with whatever memory they have.
    law : Law, optional
        Where values come from, if the covariance is only an estimate or the tails are heavy.

    Examples
    --------
    Two independent streams with known covariance:

    >>> streams = StreamModel(("a", "b"), np.empty((0, 2)), np.eye(2), np.zeros((2, 2)))
    >>> streams.in_control(3, 10, np.random.default_rng(0)).shape
    (3, 10, 2)
    """

    names: tuple[str, ...]
    rows: Floats
    covariance: CovarianceLike
    effects: Floats
    records: Records | None = None
    law: Law | None = None

    @property
    def p(self) -> int:
        """Streams."""
        return len(self.names)

    def total_effects(self) -> Floats:
        """(p, p); entry [i, j] is how far j moves when the own term of i moves by one."""
        return np.asarray(np.linalg.inv(np.eye(self.p) - self.effects), np.float64)

    def _mixing(self, law: Law) -> Floats:
        """(p, p); entry [i, j] is how far one deviation of the own term of i moves j."""
        return law.own[:, None] * self.total_effects()

    def in_control(
        self,
        n: int,
        steps: int,
        rng: np.random.Generator,
        protocol: Protocol = "fair",
        *,
        held_out: bool = False,
    ) -> Floats:
        """Fresh in-control values (n, steps, p).

        From the model; or from recorded rows, on request those held out: one by one as the
        paper draws them, or in blocks, which keep the autocorrelation that limits depend on.
        """
        if self.law is not None:
            return self.law.draw((n, steps, self.p), rng) @ self._mixing(self.law)
        if self.records is None and isinstance(self.covariance, Structured):
            return self.covariance.draw((n, steps), rng)
        if self.records is None:
            factor = np.linalg.cholesky(self.covariance)
            return np.asarray(rng.standard_normal((n, steps, self.p)) @ factor.T, np.float64)
        rows = self.records.held_out if held_out else self.rows
        if protocol == "paper":
            return resample(rows, n, steps, rng)
        return block_bootstrap(rows, n, steps, min(block_length(self.rows), len(rows)), rng)

    def segments(self, n: int, steps: int, rng: np.random.Generator) -> Floats:
        """(n, steps, p), consecutive held-out rows from random starts; round the end if short."""
        if self.records is None:
            raise DataError("a simulated source has no held-out rows")
        rows = self.records.held_out
        last = max(len(rows) - steps, 0)
        starts = rng.integers(last + 1 if last else len(rows), size=n)
        taken = (starts[:, None] + np.arange(steps)) % len(rows)
        return np.asarray(rows[taken], np.float64)

    def save(self, path: Path) -> None:
        """Write the streams; the file appears whole or not at all."""
        arrays = {
            "names": np.array(self.names),
            "rows": self.rows,
            "covariance": np.asarray(self.covariance),
            "effects": self.effects,
        }
        if self.records is not None:
            kept = {f.name: np.asarray(getattr(self.records, f.name)) for f in fields(Records)}
            arrays |= {f"records.{name}": array for name, array in kept.items()}
        if self.law is not None:
            arrays |= {"law.own": self.law.own, "law.tails": np.asarray(self.law.tails)}
        write_arrays(path, arrays)

    @classmethod
    def load(cls, path: Path) -> "StreamModel":
        """Read streams that `save` wrote."""
        arrays = read_arrays(path, "names", "rows", "covariance", "effects")
        kept = {
            name.removeprefix("records."): array
            for name, array in arrays.items()
            if name.startswith("records.")
        }
        if kept and set(kept) != {f.name for f in fields(Records)}:
            raise DataError(f"{path} holds other arrays than streams have; make it again")
        law = None
        if "law.own" in arrays:
            law = Law(arrays["law.own"], float(arrays["law.tails"]))
        try:
            return cls(
                names=tuple(str(name) for name in arrays["names"]),
                rows=arrays["rows"],
                covariance=arrays["covariance"],
                effects=arrays["effects"],
                records=Records(window=int(kept.pop("window")), **kept) if kept else None,
                law=law,
            )
        except (TypeError, ValueError):
            raise DataError(f"{path}: names or window are none; make it again") from None
