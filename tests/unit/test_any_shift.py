"""The detector for shifts of any kind, against what its sum stands for."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import compared_in_another_order, made
from scipy.special import logsumexp

from causaldq.methods.any_shift import AnyShift, AnyShiftState
from causaldq.methods.base import Problem
from causaldq.methods.causal_sr import CausalSr
from causaldq.methods.information import most_informative
from causaldq.run import step
from causaldq.statistic import StatisticSettings
from causaldq.types import Floats

STATISTIC = StatisticSettings(decay=0.02, form="normalised", ridge=1e-12)


def a_detector(covariance: Floats, m: int, graph: Floats | None = None) -> AnyShift:
    graphs = None if graph is None else (graph != 0)[None]
    method = made("any_shift", Problem(covariance, m, STATISTIC, graphs))
    assert isinstance(method, AnyShift)
    return method


def a_covariance(p: int, rng: np.random.Generator) -> Floats:
    factor = rng.normal(size=(p, 2 * p))
    return np.asarray(factor @ factor.T / p)


def followed(method: AnyShift, values: Floats) -> tuple[AnyShiftState, list[list[int]]]:
    """State after one run through values (steps, p), and the streams read."""
    rng = np.random.default_rng(0)
    state, reads = method.start(1, None, rng), []
    for row in values:
        state, read, _ = step(method, state, row[None], rng)
        reads.append(read[0].tolist())
    return state, reads


def log_ratio(readings: list[float], mean: float) -> float:
    """Of normal readings of variance one with this mean to those of mean zero."""
    return sum(x * mean - mean**2 / 2 for x in readings)


def marginal(readings: list[float], mean: float, deviation: float) -> float:
    """Density ratio of readings that share a normal shift to those without."""
    seen = np.array(readings)
    covariance = np.eye(len(seen)) + deviation**2
    _, log_det = np.linalg.slogdet(covariance)
    gain = seen @ seen - (seen - mean) @ np.linalg.solve(covariance, seen - mean)
    return float(np.exp((gain - log_det) / 2))


def test_the_statistic_is_the_sum_over_all_hypotheses() -> None:
    """Independent streams, every change time still a candidate: all can be written out."""
    p, m, steps = 4, 1, 3
    method = a_detector(np.eye(p), m)
    chosen = method.settings
    values = np.random.default_rng(3).normal(size=(steps, p)) + 1.0
    state, reads = followed(method, values)
    alike = np.log(4 * len(chosen.shares) * len(chosen.sizes))
    terms = []
    for start in range(steps):
        seen = [[values[t, i] for t in range(start, steps) if i in reads[t]] for i in range(p)]
        up, down = (
            np.array(
                [[marginal(one, sign * d, chosen.spread * d) for d in chosen.sizes] for one in seen]
            )
            for sign in (1, -1)
        )
        either = (up + down) / 2
        terms.append(np.log(1 - m / p + m / p * either.mean(axis=1)).sum() - np.log(4))
        for q in chosen.shares:
            terms += list(np.log(1 - q + q * either).sum(axis=0) - alike)
            for ratio in (up, down):
                terms += list(np.log(1 - q + q * ratio).sum(axis=0) - alike - np.log(2))
    for start, r, d, sign in product(range(steps), range(p), chosen.deltas, (1, -1)):
        readings = [values[t, r] for t in range(start, steps) if r in reads[t]]
        weight = np.log(4 * p * 2 * len(chosen.deltas))
        terms.append(log_ratio(readings, sign * d) - weight)
    assert method.statistic(state)[0] == pytest.approx(logsumexp(terms), abs=1e-6)


def test_joining_candidates_keeps_the_sum() -> None:
    method = a_detector(np.eye(4), 2)
    state, _ = followed(method, np.random.default_rng(3).normal(size=(37, 4)))
    begun = method._begun(state)
    families = np.exp(state.total).sum(axis=2)
    np.testing.assert_allclose(np.exp(begun.total).sum(axis=2), families + 1.0)
    began = begun.began[0][begun.began[0] >= 0].tolist()
    assert sorted(began) == sorted(set(began))
    assert max(began) == 37


@given(seed=st.integers(0, 2**32 - 1))
def test_units_and_order_of_streams_do_not_matter_nor_their_sign_if_it_is_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, m, steps = 6, 2, 10
    covariance = a_covariance(p, rng)
    values = rng.normal(size=(steps, p)) @ np.linalg.cholesky(covariance).T
    order, scale = rng.permutation(p), rng.choice([-1.0, 1.0]) * rng.uniform(0.1, 10.0, p)
    method = a_detector(covariance, m)
    other = a_detector((covariance * np.outer(scale, scale))[np.ix_(order, order)], m)
    compared_in_another_order(method, other, values, order, scale)


def test_weights_are_a_mixture_and_move_to_what_is_believed() -> None:
    p, m = 8, 3
    method = a_detector(np.eye(p), m)
    rng = np.random.default_rng(1)
    state = method.start(2, None, rng)
    weights = method.sensor_weights(state)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    lead = method.settings.head_start
    # Nothing is read: root causes, a quarter of the prior, with their head start.
    np.testing.assert_allclose(weights[:, p:].sum(axis=1), lead / (lead + 3))
    for t in range(12):  # all streams are off in the first run, one in the second
        read = np.tile((np.arange(m) + m * t) % p, (2, 1))
        far = np.array([np.full(m, 1.5), 1.5 * (read[1] == 0)])
        state = method.observe(state, read, far, rng)
    many, single = method.sensor_weights(state)[:, p:].sum(axis=1)
    assert many < 0.01 < 0.1 < single
    assert method.posterior(state)[0].min() > 0.5
    assert method.posterior(state)[1].argmax() == 0


def test_sensors_are_the_most_informative_of_the_mixture() -> None:
    p, m = 7, 3
    covariance = a_covariance(p, np.random.default_rng(5))
    method = a_detector(covariance, m)
    values = np.random.default_rng(6).normal(size=(9, p))
    state, _ = followed(method, values)
    chosen = method.choose(state, np.random.default_rng(0))
    weights = method.sensor_weights(state)
    signatures = np.vstack(
        [np.diag(np.sqrt(np.diag(covariance))), method.causes.hypotheses.signatures]
    )
    expected = most_informative(method.covariance, weights, m, signatures)
    np.testing.assert_array_equal(chosen, expected)


def test_a_graph_is_used_where_there_is_one() -> None:
    chain = np.eye(5, k=1)
    with_graph, without = a_detector(np.eye(5), 2, chain), a_detector(np.eye(5), 2)
    assert type(with_graph.causes) is CausalSr
    assert type(without.causes) is not CausalSr


@pytest.mark.parametrize("far", [0.0, 50.0, 1e4])
def test_numbers_stay_finite(far: float) -> None:
    """Nearly collinear streams, many readings, values far off, and none at all."""
    p = 5
    covariance = np.full((p, p), 1.0 - 1e-5) + 1e-5 * np.eye(p)
    method = a_detector(covariance, 2)
    rng = np.random.default_rng(0)
    state = method.start(1, None, rng)
    assert method.statistic(state)[0] == -np.inf
    nothing = np.empty((1, 0))
    for t in range(150):
        streams = method.choose(state, rng)
        if t % 5 == 4:
            state = method.observe(state, streams[:, :0], nothing, rng)
        else:
            state = method.observe(state, streams, np.array([[far, -far]]), rng)
        assert not np.isnan(method.statistic(state)).any()
        assert np.isfinite(method.posterior(state)).all()
        assert np.isfinite(method.sensor_weights(state)).all()
