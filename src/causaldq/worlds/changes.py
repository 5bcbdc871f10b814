"""What a change does to values that would have been in control."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from causaldq.types import Bools, Floats, Ints


@dataclass(frozen=True)
class Change:
    """What happens to n replications from the change on: x becomes spread * x + growth * mean."""

    mean: Floats
    """(n, p), of each stream once the shift has grown."""
    spread: Floats | None = None
    """(n, p), factor of each stream's deviation; None: deviations stay."""
    ramp: int | Ints = 1
    """Steps over which the means grow, evenly, for all or (n,); 1: at once."""

    def values(self, in_control: Floats, rows: Ints, step: int) -> Floats:
        """Values (len(rows), p) of some replications at the step-th reading after the change."""
        growth = np.minimum(step / np.broadcast_to(self.ramp, len(self.mean))[rows], 1.0)
        values = in_control if self.spread is None else in_control * self.spread[rows]
        return np.asarray(values + growth[:, None] * self.mean[rows], np.float64)


def stacked(changes: Sequence[Change]) -> Change:
    """Several changes one below the other."""
    spreads = [np.ones_like(c.mean) if c.spread is None else c.spread for c in changes]
    return Change(
        np.concatenate([c.mean for c in changes]),
        None if all(c.spread is None for c in changes) else np.concatenate(spreads),
        np.concatenate([np.broadcast_to(c.ramp, len(c.mean)) for c in changes]),
    )


def spread_of(shifted: Bools, factor: float) -> Floats | None:
    """Factors of deviations (n, p) if those of the shifted streams (n, p) change; else None."""
    return None if factor == 1.0 else np.where(shifted, factor, 1.0)


def group_orders(covariance: Floats) -> Ints:
    """For each stream all streams (p, p), from itself on by how strongly they correlate with it."""
    deviation = np.sqrt(np.diag(covariance))
    closeness = np.abs(covariance / np.outer(deviation, deviation))
    np.fill_diagonal(closeness, np.inf)
    return np.argsort(-closeness, axis=1, kind="stable")
