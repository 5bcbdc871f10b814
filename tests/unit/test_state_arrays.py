"""States of methods as arrays, and back."""

import numpy as np
import pytest

from causaldq.methods.base import Problem
from causaldq.methods.greedy import Greedy
from causaldq.state_arrays import filled, flat


def test_a_state_of_another_form_is_refused() -> None:
    """Another type of number, or another number of axes: either is enough."""
    method = Greedy(Problem(np.eye(3), 2))
    state = method.start(1, None, np.random.default_rng(0))
    arrays = flat(state)
    assert flat(filled(state, arrays)).keys() == arrays.keys()
    for wrong in (arrays["unobserved"].astype(np.float32), arrays["unobserved"][0]):
        with pytest.raises(ValueError, match="unobserved of the state has another form"):
            filled(state, arrays | {"unobserved": wrong})
