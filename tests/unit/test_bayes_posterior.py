"""The filter over change times and streams, against what it stands for."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import compared_in_another_order, made

from causaldq.methods.base import Problem
from causaldq.methods.bayes_posterior import BayesPosterior, BayesState
from causaldq.methods.information import ROUNDS, most_informative, picked_in_order
from causaldq.run import step
from causaldq.statistic import StatisticSettings
from causaldq.types import Floats

STATISTIC = StatisticSettings(decay=0.02, form="normalised", ridge=1e-9)
SEEDS = st.integers(0, 2**32 - 1)


def a_covariance(p: int, rng: np.random.Generator) -> Floats:
    factor = rng.normal(size=(p, 2 * p))
    covariance = factor @ factor.T
    scale = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(scale, scale))


def a_filter(covariance: Floats, m: int) -> BayesPosterior:
    method = made("bayes_posterior", Problem(covariance, m, STATISTIC))
    assert isinstance(method, BayesPosterior)
    return method


def followed(method: BayesPosterior, values: Floats, seed: int = 0) -> tuple[BayesState, list]:
    """State after one run through values (steps, p), and the streams read."""
    rng = np.random.default_rng(seed)
    state, reads = method.start(1, None, rng), []
    for row in values:
        state, read, _ = step(method, state, row[None], rng)
        reads.append(read[0])
    return state, reads


def test_the_recursion_is_the_likelihood_ratio_of_normal_readings() -> None:
    """Independent streams: readings of a stream since the change share one normal shift."""
    p, m, steps = 5, 2, 11
    method = a_filter(np.eye(p), m)
    values = np.random.default_rng(4).normal(size=(steps, p)) + 0.5
    state, reads = followed(method, values)
    q = m / p
    totals = []
    for candidate, start in begun(method, steps).items():
        product = 0.0
        for i in range(p):
            seen = np.array(
                [values[t, i] for t in range(start, steps) if i in reads[t]], dtype=float
            )
            product += np.log(1 - q + q * np.mean([marginal(seen, v) for v in method.variances]))
        assert state.total[0, candidate] == pytest.approx(product, abs=1e-6)
        totals.append(product + method.log_span[candidate])
    assert method.statistic(state)[0] == pytest.approx(np.logaddexp.reduce(totals), abs=1e-6)


def marginal(seen: Floats, variance: float) -> float:
    """Density ratio of readings with a common N(0, variance) shift to those without."""
    n = len(seen)
    covariance = np.eye(n) + variance
    _, log_det = np.linalg.slogdet(covariance)
    gain = seen @ seen - seen @ np.linalg.solve(covariance, seen)
    return float(np.exp((gain - log_det) / 2))


def begun(method: BayesPosterior, steps: int) -> dict[int, int]:
    """The time at which each candidate began last, from the first `steps` steps."""
    times = np.arange(steps)
    return {int(slot): int(t) for t, slot in zip(times, method.times.begins(times), strict=True)}


def test_old_change_times_thin_out() -> None:
    method = a_filter(np.eye(4), 2)
    steps = 200
    ages = sorted(steps - start for start in begun(method, steps).values())
    assert len(ages) == len(method.log_span)
    assert ages[0] <= 2
    assert ages[-1] >= steps // 2
    # From one to the next, age grows by a factor of at most four, or a step or two.
    assert all(after <= max(4 * before, before + 2) for before, after in pairwise(ages))


@given(seed=SEEDS)
def test_stream_order_and_signs_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, m, steps = 7, 3, 12
    covariance = a_covariance(p, rng)
    values = rng.normal(size=(steps, p)) @ np.linalg.cholesky(covariance).T
    order, signs = rng.permutation(p), rng.choice([-1.0, 1.0], p)
    method = a_filter(covariance, m)
    other = a_filter((covariance * np.outer(signs, signs))[np.ix_(order, order)], m)
    one, two = compared_in_another_order(method, other, values, order, signs)
    np.testing.assert_array_equal(
        np.sort(order[other.choose(two, np.random.default_rng(0))[0]]),
        method.choose(one, np.random.default_rng(0))[0],
    )


def test_a_stream_that_was_not_read_is_worth_more_than_one_that_looked_well() -> None:
    p = 6
    method = a_filter(np.eye(p), 2)
    rng = np.random.default_rng(0)
    state = method.start(1, None, rng)
    read = np.array([[0, 1]])
    for _ in range(5):
        state = method.observe(state, read, np.zeros((1, 2)), rng)
    worth = method.expected_worth(state)[0]
    assert worth[2:].min() > worth[:2].max()
    assert not set(method.choose(state, rng)[0]) & {0, 1}
    state = method.observe(state, read, np.array([[6.0, 0.0]]), rng)
    assert method.posterior(state)[0].argmax() == 0
    assert 0 in method.choose(state, rng)[0]


def test_a_posterior_of_eight_in_ten_is_right_eight_times_in_ten() -> None:
    """With shifts from its own prior and a change at the first step, it is calibrated."""
    p, m, n, steps = 6, 3, 4000, 8
    method = a_filter(np.eye(p), m)
    rng = np.random.default_rng(9)
    shifted = rng.random((n, p)) < method.share
    size = np.sqrt(rng.choice(method.variances, (n, p))) * rng.normal(size=(n, p))
    state = method.start(n, None, rng)
    for _ in range(steps):
        state, _, _ = step(method, state, rng.normal(size=(n, p)) + shifted * size, rng)
    # Only the candidate that began with the change.
    first = method.times.begins(np.zeros(1, dtype=np.int64))[0]
    alone = np.full_like(state.total, -np.inf)
    alone[:, first] = 100.0
    posterior = method.posterior(replace(state, total=alone))
    for low, high in pairwise((0.0, 0.45, 0.5, 0.6, 0.75, 0.9, 1.0)):
        here = (posterior >= low) & (posterior < high)
        assert here.sum() > 100
        error = np.sqrt(0.25 / here.sum())
        assert shifted[here].mean() == pytest.approx(posterior[here].mean(), abs=4 * error)


# --- sensors -----------------------------------------------------------------------------------


@given(seed=SEEDS, m=st.integers(1, 5))
def test_without_signatures_each_shift_is_that_of_its_stream(seed: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    covariance = a_covariance(6, rng)
    weights = rng.exponential(size=(3, 6))
    found = most_informative(covariance, weights, m)
    np.testing.assert_array_equal(found, most_informative(covariance, weights, m, np.eye(6)))


def test_independent_streams_are_read_by_weight_alone() -> None:
    rng = np.random.default_rng(1)
    for m in (3, 2 * ROUNDS + 5):
        weights = rng.exponential(size=(4, 60))
        found = picked_in_order(np.eye(60), weights, m)
        np.testing.assert_array_equal(found, np.argsort(-weights, axis=1)[:, :m])


def test_rounds_of_several_lose_little_information() -> None:
    rng = np.random.default_rng(2)
    p, m = 80, 2 * ROUNDS
    covariance = a_covariance(p, rng)
    weights = rng.exponential(size=(1, p))

    def information(read: np.ndarray) -> float:
        precision = np.linalg.inv(covariance[np.ix_(read, read)])
        return float(weights[0, read] @ np.diag(precision))

    one_by_one: list[int] = []
    for _ in range(m):
        rest = [j for j in range(p) if j not in one_by_one]
        one_by_one.append(max(rest, key=lambda j: information(np.array([*one_by_one, j]))))
    together = picked_in_order(covariance, weights, m)[0]
    assert len(set(together)) == m
    assert information(together) > 0.95 * information(np.array(one_by_one))


@pytest.mark.parametrize("shown", ["streams alone", "signatures"])
def test_one_run_picks_the_sensors_that_it_picks_among_others(shown: str) -> None:
    """A single run has code of its own, for speed."""
    rng = np.random.default_rng(24)
    for case in range(60):
        p = int(rng.integers(2, 30))
        m = int(rng.integers(1, min(p, 12) + 1))
        mixing = rng.standard_normal((p, 2 * p))
        covariance = np.eye(p) if case % 5 == 0 else mixing @ mixing.T / (2 * p)
        signatures = rng.standard_normal((40, p)) if shown == "signatures" else None
        weights = rng.exponential(size=(1, p if signatures is None else 40))
        weights[:, rng.random(weights.shape[1]) < 0.3] = 0.0
        noise = 1.0 + 1e-9 * rng.random((1, p))
        alone = picked_in_order(covariance, weights, m, signatures, noise)
        twice = picked_in_order(
            covariance, weights.repeat(2, axis=0), m, signatures, noise.repeat(2, axis=0)
        )
        assert (alone == twice).all()


def test_a_belief_is_the_chance_of_a_shift_times_its_expected_size() -> None:
    """Against sums over a fine grid of shifts, each prior variance as likely as the others."""
    method = a_filter(np.eye(5), 2)
    score, information = np.array([[0.5, -6.0, 9.0]]), np.array([[1.0, 4.0, 3.0]])
    log_ratio, worth = method._belief(score, information)
    shift = np.linspace(-30, 30, 600_001)
    for s, k, ratio, found in zip(score[0], information[0], log_ratio[0], worth[0], strict=True):
        prior = np.mean(
            [np.exp(-(shift**2) / 2 / v) / np.sqrt(2 * np.pi * v) for v in method.variances], axis=0
        )
        weights = prior * np.exp(s * shift - k * shift**2 / 2)
        total = weights.sum() * (shift[1] - shift[0])
        assert ratio == pytest.approx(np.log(total), abs=1e-6)
        square = (weights * shift**2).sum() / weights.sum()
        q = method.share
        chance = q * total / (1 - q + q * total)
        assert found == pytest.approx(chance * np.sqrt(square), rel=1e-6)
