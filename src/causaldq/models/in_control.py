"""What rows of normal operation teach: a scale, a covariance and, where rows have memory, dynamics.

Two models, one form: rows that are independent of each other, and a state-space model of how they
follow from each other. `chosen_model` lets held-out rows decide.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from causaldq.models.em import fit_state_space
from causaldq.models.rows import Covariance, Scale, block_length, estimate_covariance, fit_scale
from causaldq.models.state_space import StateSpace
from causaldq.types import Floats, Ints

ModelName = Literal["independent", "state_space"]
ModelChoice = Literal["auto", "independent", "state_space"]

FITTED_SHARE = 0.7
"""Of the rows, to choose a model; the later ones decide."""
WARM_UP = 50
"""Fitted rows that a model follows before those that decide."""
BATCHES = 10
"""Of the deciding rows, to tell how sure the decision is."""
CLEARLY = 2.0
"""Standard errors by which the model with memory has to be the likelier one."""
WHITE = 3.0
"""Innovations whose autocorrelation is within so many standard errors of zero are white."""
WORDS: dict[ModelName, str] = {
    "independent": "rows independent of each other",
    "state_space": "state space, rows follow from rows before",
}


@dataclass(frozen=True)
class InControl:
    """A model of normal rows.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(300, 4))
    >>> normal = fit_in_control(rows, ("a", "b", "c", "d"), "state_space")
    >>> normal.dynamics.p, fit_in_control(rows, ("a", "b", "c", "d"), "independent").dynamics
    (4, None)
    """

    scale: Scale
    covariance: Covariance
    block: int
    """Rows in a block that keeps the memory of the rows."""
    dynamics: StateSpace | None
    """None if rows are taken as independent."""

    @property
    def model(self) -> ModelName:
        return "independent" if self.dynamics is None else "state_space"


def fit_in_control(
    rows: Floats,
    names: tuple[str, ...],
    model: ModelName,
    without: Ints | None = None,
    estimate: Callable[[Floats], Covariance] = estimate_covariance,
) -> InControl:
    """The model of rows (n, p) in their own units, fitted without some of them."""
    left_out = np.zeros(len(rows), dtype=bool)
    if without is not None:
        left_out[without] = True
    kept = rows[~left_out]
    scale = fit_scale(kept, names)
    scaled = scale.apply(kept)
    covariance, block = estimate(scaled), block_length(scaled)
    if model == "independent":
        return InControl(scale, covariance, block, None)
    whole = scale.apply(rows)
    whole[left_out] = np.nan  # what is left out is missing, so that time goes on
    return InControl(scale, covariance, block, fit_state_space(whole))


def chosen_model(rows: Floats, names: tuple[str, ...]) -> tuple[ModelName, str]:
    """The model that rows (n, p) speak for, and why.

    Memory is assumed only where it makes later rows clearly likelier and leaves innovations no less
    white. Both models are judged on what is news alone: repeats of held values count for neither.
    """
    first = int(FITTED_SHARE * len(rows))
    fitted = fit_in_control(rows[:first], names, "state_space")
    assert fitted.dynamics is not None
    later = fitted.scale.apply(rows[max(first - WARM_UP, 0) :])
    plain = StateSpace.independent(np.asarray(fitted.covariance.matrix), first)
    plain = replace(plain, period=fitted.dynamics.period)
    seen = [model.innovations(later) for model in (fitted.dynamics, plain)]
    deciding = len(rows) - first
    gains = (seen[0].log_likelihood - seen[1].log_likelihood)[-deciding:]
    batches = [float(batch.mean()) for batch in np.array_split(gains, BATCHES)]
    error = float(np.std(batches, ddof=1)) / np.sqrt(BATCHES)
    followed = [_not_white(one.standardised[-deciding:]) for one in seen]
    better = float(gains.mean()) > CLEARLY * error and followed[0] <= followed[1]
    likely = [float(one.log_likelihood[-deciding:].mean()) for one in seen]
    reason = (
        f"log likelihood of a later row {likely[0]:.2f} with memory, {likely[1]:.2f} without"
        f" (difference known to {error:.2f}); innovations that follow from those before:"
        f" {followed[0]} of {len(names)} streams with, {followed[1]} without"
    )
    return ("state_space" if better else "independent"), reason


def _not_white(errors: Floats) -> int:
    """Streams of standardised errors (n, p) whose errors follow from the ones before."""
    found = 0
    for stream in errors.T:
        there = stream[np.isfinite(stream)]
        if len(there) > WHITE**2 and there.std() > 0:
            correlation = np.corrcoef(there[1:], there[:-1])[0, 1]
            found += bool(abs(correlation) > WHITE / np.sqrt(len(there)))
    return found
