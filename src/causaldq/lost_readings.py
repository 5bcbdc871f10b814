"""Readings that did not come, or were set aside, for methods that unread streams make suspicious.

TSSRP and TRAS read the streams that they suspect most, and alarm on the sum of these suspicions.
In normal operation a reading lowers a suspicion, on average by half the square of the shift looked
for; one that does not come leaves it, and another stream is read in its place. With every twentieth
reading lost they alarmed 8 to 12% more often. So a lost reading counts as one at the mean: it
lowers the suspicion by what a reading lowers it on average.

Methods that weigh likelihoods need nothing of the kind: what was not read says nothing.
"""

from typing import Any

import numpy as np

from causaldq.methods.base import Method, State
from causaldq.methods.tras import LocalCusums, Tras
from causaldq.methods.tssrp import Tssrp, TssrpState
from causaldq.types import Floats, Ints


def without_suspicion(method: Method[Any], state: State, lost: Ints) -> State:
    """The state after a step (1, ...) in which the streams `lost` (k,) were asked for in vain."""
    if isinstance(method, Tssrp) and isinstance(state, TssrpState):
        less = method.settings.shift**2 / 2
        return TssrpState(_lower(state.upward, lost, less), _lower(state.downward, lost, less))
    if isinstance(method, Tras) and isinstance(state, LocalCusums):
        less = method.settings.shift**2 / 2 + method.settings.compensation
        return LocalCusums(
            np.maximum(_lower(state.upward, lost, less), 0.0),
            np.maximum(_lower(state.downward, lost, less), 0.0),
        )
    return state


def _lower(evidence: Floats, streams: Ints, by: float) -> Floats:
    lowered = evidence.copy()
    lowered[:, streams] -= by
    return lowered
