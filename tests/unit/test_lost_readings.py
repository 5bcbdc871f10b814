"""A reading that was asked for and did not come."""

import numpy as np
import pytest

from causaldq.lost_readings import without_suspicion
from causaldq.methods.base import Problem
from causaldq.methods.resolve import resolved

STREAMS, LOST = 6, np.array([1, 4])


@pytest.mark.parametrize("name", ["tssrp", "tssrp_cov", "tras", "cds"])
def test_it_lowers_the_suspicion_as_a_reading_at_the_mean_does(name: str) -> None:
    method, rng = resolved(name, Problem(np.eye(STREAMS), 2)), np.random.default_rng(0)
    state, large = method.start(1, None, rng), np.array([[4.0, 4.0]])
    for streams in ([1, 4], [0, 2], [3, 5]):
        state = method.observe(state, np.array([streams]), large, rng)
    unread = method.observe(state, np.zeros((1, 0), int), np.zeros((1, 0)), rng)
    at_mean = method.observe(state, LOST[None], np.zeros((1, 2)), rng)
    lost = without_suspicion(method, unread, LOST)
    assert np.allclose(method.contributions(lost), method.contributions(at_mean))
    assert not np.allclose(method.contributions(lost), method.contributions(unread))


@pytest.mark.parametrize("name", ["bayes_posterior", "any_shift", "greedy"])
def test_it_says_nothing_to_methods_that_weigh_likelihoods(name: str) -> None:
    method, rng = resolved(name, Problem(np.eye(STREAMS), 2)), np.random.default_rng(0)
    state = method.start(1, None, rng)
    assert without_suspicion(method, state, LOST) is state
