"""Bounds know what no method can, and are what theory says of them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import CALIBRATION, Form, a_covariance, a_problem, a_truth, made, paths_of

from causaldq.calibration import average_run_length, run_lengths
from causaldq.methods.base import Problem, Truth, largest
from causaldq.methods.cusum import Cusum, best_streams
from causaldq.methods.full_observation import FullObservation
from causaldq.methods.local import LocalMethod, LocalState
from causaldq.methods.oracle_set import OracleSet
from causaldq.methods.tssrp import log_sum
from causaldq.run import statistics, step
from causaldq.statistic import LocalStatistic, StatisticSettings


@pytest.mark.parametrize("form", ["normalised", "raw"])
@pytest.mark.parametrize("independent", [True, False])
def test_full_observation_is_the_local_statistic_of_all_streams(
    form: Form, independent: bool
) -> None:
    p, n, steps = 5, 4, 20
    covariance = np.diag([1.0, 0.5, 2.0, 1.5, 0.8]) if independent else a_covariance(p)
    problem = a_problem(covariance, 2, form=form)
    paths = paths_of(covariance, n, steps, 1)
    values = statistics(FullObservation(problem), paths, None, np.random.default_rng(0))
    local = LocalStatistic(covariance, problem.statistic)
    evidence = local.start(n)
    for t in range(steps):
        evidence = local.update(evidence, np.tile(np.arange(p), (n, 1)), paths[:, t])
        expected = local.contributions(evidence).sum(axis=1)
        np.testing.assert_allclose(values[:, t], expected, rtol=1e-6)


def siegmund(drift: float, limit: float) -> float:
    """Average run length of a CUSUM of unit-variance steps (Siegmund 1985, section 2.6).

    1.166 corrects for the overshoot at both ends, twice 0.583.
    """
    corrected = limit + 1.166
    return float((np.exp(-2 * drift * corrected) + 2 * drift * corrected - 1) / (2 * drift**2))


def test_cusum_has_the_run_lengths_of_siegmund() -> None:
    """All streams read, so the log likelihood ratio is N(-/+ d^2 / 2, d^2) with d^2 the
    squared distance of the means; divided by d it is the standard CUSUM of drift -/+ d/2.

    4000 paths: a relative standard error of 1.6% in control and below 1% after the change.
    Four of them, and 1% for the approximation, come to 7.5% and 5%: a false failure in
    fewer than 1 of 10,000 seeds each.
    """
    p, n, steps, d, standard_limit = 4, 4000, 1600, 1.0, 3.5
    covariance = a_covariance(p)
    direction = np.array([1.0, -0.5, 0.3, 2.0])
    mean = direction * d / np.sqrt(direction @ np.linalg.solve(covariance, direction))
    truth = Truth(np.ones((n, p), dtype=bool), np.tile(mean, (n, 1)))
    method, rng = Cusum(a_problem(covariance, p)), np.random.default_rng(7)
    factor = np.linalg.cholesky(covariance)

    state = method.start(n, truth, rng)
    before = np.empty((n, steps))
    for t in range(steps):
        values = rng.standard_normal((n, p)) @ factor.T
        state, _, before[:, t] = step(method, state, values, rng)
    arl = average_run_length(*run_lengths(before, d * standard_limit))
    assert arl == pytest.approx(siegmund(-d / 2, standard_limit), rel=0.075)

    shifted = rng.standard_normal((n, 60, p)) @ factor.T + mean
    after = statistics(method, shifted, truth, rng)
    lengths, censored = run_lengths(after, d * standard_limit)
    assert not censored.any()
    assert lengths.mean() == pytest.approx(siegmund(d / 2, standard_limit), rel=0.05)


def test_cusum_without_a_shift_never_alarms() -> None:
    covariance = a_covariance(8)
    truth = a_truth(6, 8, 4, 1, delta=0.0)
    method = Cusum(a_problem(covariance, 3))
    values = statistics(method, paths_of(covariance, 6, 30, 1), truth, np.random.default_rng(0))
    assert not (values > method.published_limit(lambda: values, CALIBRATION)).any()
    assert not (values > 0.0).any()


class FixedSet(LocalMethod):
    """The oracle by the letter: the local statistic of streams that never change."""

    def __init__(self, problem: Problem, streams: np.ndarray) -> None:
        super().__init__(problem)
        self.streams = streams

    def choose(self, state: LocalState, rng: np.random.Generator) -> np.ndarray:
        return self.streams


@pytest.mark.parametrize("form", ["normalised", "raw"])
@pytest.mark.parametrize("ridge", [1e-6, 0.1])
def test_the_oracle_is_the_local_statistic_of_its_set(form: Any, ridge: float) -> None:
    p, m, n, steps = 7, 3, 5, 12
    covariance = a_covariance(p)
    problem = replace(
        a_problem(covariance, m), statistic=StatisticSettings(decay=0.1, form=form, ridge=ridge)
    )
    oracle, rng = OracleSet(problem), np.random.default_rng(1)
    state = oracle.start(n, a_truth(n, p, 2, 3), rng)
    literal = FixedSet(problem, state.streams)
    expected = literal.start(n, None, rng)
    paths = paths_of(covariance, n, steps, 2)
    for t in range(steps):
        state, _, value = step(oracle, state, paths[:, t], rng)
        expected, _, literal_value = step(literal, expected, paths[:, t], rng)
        np.testing.assert_allclose(value, literal_value, rtol=1e-9)


@given(
    rows=st.lists(st.lists(st.integers(0, 4), min_size=5, max_size=5), min_size=1, max_size=6),
    m=st.integers(1, 5),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_largest_are_those_of_a_sort(rows: list[list[int]], m: int, seed: int) -> None:
    scores = np.array(rows, dtype=float)
    order = np.random.default_rng(seed).random(scores.shape)
    for row, places in enumerate(largest(scores, m, order)):
        ranked = sorted(range(5), key=lambda i, row=row: (-scores[row, i], order[row, i]))
        assert places.tolist() == sorted(ranked[:m])


def test_log_sum_is_numpys() -> None:
    rng = np.random.default_rng(0)
    first, second = 10 ** rng.uniform(-3, 3, (2, 1000)) * rng.choice([-1.0, 1.0], (2, 1000))
    np.testing.assert_allclose(
        log_sum(first, second), np.logaddexp(first, second), atol=1e-15, rtol=1e-15
    )


@pytest.mark.parametrize("name", ["cusum", "oracle_set"])
def test_a_bound_needs_the_truth(name: str) -> None:
    with pytest.raises(ValueError, match="truth"):
        made(name, a_problem(np.eye(4), 2)).start(3, None, np.random.default_rng(0))


@pytest.mark.parametrize("k", [2, 3])
def test_cusum_reads_all_shifted_streams_and_others_at_random(k: int) -> None:
    n, p, m = 400, 6, 3
    truth = a_truth(n, p, k, 1)
    streams = best_streams(truth, a_covariance(p), m, np.random.default_rng(0))
    assert (np.take_along_axis(truth.shifted, streams, axis=1).sum(axis=1) == k).all()
    watched = np.zeros((n, p), dtype=bool)
    np.put_along_axis(watched, streams, True, axis=1)
    assert (watched & ~truth.shifted).any(axis=0).all() == (k < m)


def test_cusum_picks_the_most_informative_of_too_many_shifted_streams() -> None:
    n, p, k, m = 20, 7, 5, 3
    covariance = a_covariance(p)
    rng = np.random.default_rng(3)
    shifted = a_truth(n, p, k, 1).shifted
    truth = Truth(shifted, rng.standard_normal((n, p)))  # noise moves all means a little
    found = best_streams(truth, covariance, m, rng)
    for row in range(n):
        chosen: list[int] = []
        for _ in range(m):
            free = [i for i in range(p) if shifted[row, i] and i not in chosen]
            chosen.append(
                max(free, key=lambda i: information(truth.mean[row], covariance, [*chosen, i]))
            )
        assert found[row].tolist() == sorted(chosen)


def information(mean: np.ndarray, covariance: np.ndarray, streams: list[int]) -> float:
    block = covariance[np.ix_(streams, streams)]
    return float(mean[streams] @ np.linalg.inv(block) @ mean[streams])
