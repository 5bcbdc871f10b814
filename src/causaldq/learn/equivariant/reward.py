"""What a selected stream earns in a step of training."""

from dataclasses import dataclass

import numpy as np

from causaldq.learn.equivariant.settings import EquivariantSettings
from causaldq.types import Bools, Floats, Ints


@dataclass(frozen=True)
class Outcome:
    """A step of n episodes."""

    selected: Ints
    """(n, m)"""
    mean: Floats
    """(n, p), the shift; zero before the change."""
    since_change: Ints
    """(n,), negative before it."""
    alarmed: Bools
    """(n,), before this step."""


def shares(step: Outcome, settings: EquivariantSettings, *, causal: bool) -> Floats:
    """Each selected stream's own (n, m); not causal: what the set earns, evenly."""
    size = np.abs(np.take_along_axis(step.mean, step.selected, axis=1))
    if settings.reward == "delay":
        waits = (step.since_change >= 0) & ~step.alarmed
        earned = np.tile(np.where(waits, -1.0, 0.0)[:, None], (1, size.shape[1]))
    elif settings.reward == "information":
        earned = size**2
    elif settings.reward == "deviations":
        earned = size
    else:
        earned = (size > 0).astype(np.float64)
        if settings.reward == "early_hits":
            earned *= settings.fading ** np.maximum(step.since_change, 0)[:, None]
    if causal:
        return np.asarray(earned)
    return np.tile(earned.mean(axis=1, keepdims=True), (1, size.shape[1]))
