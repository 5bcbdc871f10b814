"""Factors and own parts with memory: the filter against one with the whole matrix."""

import numpy as np
import pytest

from causaldq.models.factor_dynamics import FactorDynamics
from causaldq.models.state_space import StateSpace
from causaldq.types import Floats, Ints

STEPS, READ = 40, 8


def a_model(
    p: int, r: int, spare: int, seed: int = 1, memory: float | None = None
) -> FactorDynamics:
    rng = np.random.default_rng(seed)
    loadings, shared = rng.normal(size=(p, r)), rng.uniform(0.2, 0.7, p)
    loadings *= np.sqrt(shared / (loadings**2).sum(axis=1))[:, None]
    noise = rng.uniform(0.1, 0.5, p) * (1 - shared)
    a, b = rng.uniform(0, 0.95, p), rng.uniform(0.3, 0.98, r)
    if memory is not None:
        a[:], b[:] = memory, memory
    return FactorDynamics.of(loadings, b, a, noise, rows=300.0, spare=spare)


def readings(model: FactorDynamics) -> tuple[list[Ints], list[Floats]]:
    rng = np.random.default_rng(2)
    path = model.simulate(1, STEPS, rng)[0]
    streams = [np.sort(rng.choice(model.p, READ, replace=False)) for _ in range(STEPS)]
    return streams, [row[z] for row, z in zip(path, streams, strict=True)]


def furthest(model: FactorDynamics) -> float:
    """From a filter with the matrix of factors and own parts: the largest difference of all."""
    r, p = model.factors, model.p
    memory, variance = np.r_[model.b, model.a], np.r_[np.ones(r), model.own]
    covariance, mean = np.diag(variance + np.concatenate(model._mean_errors)), np.zeros(r + p)
    shows, moves = np.hstack([model.loadings, np.eye(p)]), np.diag((1 - memory**2) * variance)
    belief, worst = model.start(1), 0.0
    for z, values in zip(*readings(model), strict=True):
        belief, seen = model.observe(belief, z[None], values[None])
        h = shows[z]
        total = h @ covariance @ h.T + np.diag(model.noise[z])
        gain, error = covariance @ h.T @ np.linalg.inv(total), values - h @ mean
        own = np.diag((h * memory) @ gain)
        mean = memory * (mean + gain @ error)
        left = covariance - gain @ h @ covariance
        covariance = np.outer(memory, memory) * left + moves
        loadings, alone = model.unsure(belief.covariance)
        for ours, theirs in (
            (seen.innovation[0], error),
            (seen.covariance[0], total),
            (seen.precision[0], np.linalg.inv(total)),
            (seen.own_gain[0], own),
            (model.expected(belief)[0], shows @ mean),
            (loadings[0] @ loadings[0].T + np.diag(alone[0] - model.noise),
             shows @ covariance @ shows.T),
        ):  # fmt: skip
            worst = max(worst, float(np.abs(ours - theirs).max()))
    return worst


def test_with_columns_enough_it_is_the_filter_with_the_whole_matrix() -> None:
    assert furthest(a_model(30, 2, spare=2 * STEPS)) < 1e-12


def test_without_memory_of_own_parts_no_spare_column_is_needed() -> None:
    model = a_model(30, 2, spare=0)
    exact = FactorDynamics.of(
        model.loadings, model.b, np.zeros(30), model.noise, rows=300.0, spare=0
    )
    assert furthest(exact) < 1e-12
    assert furthest(model) > 1e-3


def test_few_columns_come_close_and_more_come_closer() -> None:
    found = [furthest(a_model(60, 3, spare)) for spare in (0, 8, 16)]
    assert found[0] > 4 * found[1] > 4 * found[2]
    assert found[1] < 0.01


def test_with_one_memory_for_all_it_is_the_state_space_model() -> None:
    model = a_model(20, 2, spare=2 * STEPS, memory=0.8)
    q = (1 - 0.8**2) * (model.loadings @ model.loadings.T + np.diag(model.own))
    r, away = np.diag(model.noise), 1 / (1 - 0.8)
    one = np.ones(20)
    dense = StateSpace(
        model.a, q, r, (q * away**2 + r) / 300, one, one, np.ones((20, 1))
    )  # fmt: skip
    np.testing.assert_allclose(model.mean_error, np.diag(dense.mean_error))
    belief, other = model.start(1), dense.start(1)
    for z, values in zip(*readings(model), strict=True):
        belief, seen = model.observe(belief, z[None], values[None])
        other, known = dense.observe(other, z[None], values[None])
        np.testing.assert_allclose(seen.innovation, known.innovation, atol=1e-12)
        np.testing.assert_allclose(seen.precision, known.precision, atol=1e-10)
        own = np.take_along_axis(known.gain, z[None, None], axis=1)[0, 0]
        np.testing.assert_allclose(seen.own_gain[0], 0.8 * own, atol=1e-12)
        np.testing.assert_allclose(model.expected(belief), other.mean, atol=1e-12)


def test_missing_and_held_values_are_no_readings() -> None:
    model = a_model(12, 2, spare=4)
    z, values = np.array([[1, 4, 7]]), np.array([[0.5, np.nan, -1.0]])
    ours, seen = model.observe(model.start(1), z, values)
    less, _ = model.observe(model.start(1), z[:, [0, 2]], values[:, [0, 2]])
    np.testing.assert_allclose(model.expected(ours), model.expected(less), atol=1e-14)
    assert seen.news.tolist() == [[True, False, True]]
    assert (seen.own_gain[0, 1], ours.unread[0, 4], ours.unread[0, 1]) == (0.0, 2, 1)
    held = FactorDynamics(**model.arrays() | {"period": np.full(12, 3.0)})
    after, _ = held.observe(held.start(1), z, np.zeros((1, 3)))
    assert not held.observe(after, z, np.zeros((1, 3)))[1].news.any()


@pytest.mark.parametrize("gap", [False, True])
def test_likelihood_of_rows_is_that_of_the_state_space_model(gap: bool) -> None:
    model = a_model(10, 2, spare=200, memory=0.7)
    q = (1 - 0.7**2) * (model.loadings @ model.loadings.T + np.diag(model.own))
    r, one = np.diag(model.noise), np.ones(10)
    error = (q / 0.3**2 + r) / 300
    dense = StateSpace(model.a, q, r, error, one, one, np.ones((10, 1)))
    rows = model.simulate(1, 60, np.random.default_rng(3))[0]
    if gap:
        rows[7, 2] = np.nan
    ours, theirs = model.innovations(rows), dense.innovations(rows)
    np.testing.assert_allclose(ours.log_likelihood, theirs.log_likelihood, atol=1e-4)
    np.testing.assert_allclose(ours.standardised, theirs.standardised, atol=1e-4)
