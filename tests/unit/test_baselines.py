"""Competitors and bounds, against slow versions written from their equations."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made import (
    CALIBRATION,
    DEFAULTS,
    Recorder,
    a_covariance,
    a_problem,
    a_truth,
    assert_largest,
    course,
    made,
    paths_of,
)
from scipy.stats import chi2

from causaldq.calibration import average_run_length, run_lengths
from causaldq.methods.base import Method, Truth
from causaldq.methods.registry import index_methods
from causaldq.methods.round_robin import RoundRobin
from causaldq.methods.tras import sum_of_largest
from causaldq.run import statistics, step


class Still(np.random.Generator):
    """Hands out no randomness, so that a row's course does not hang on its neighbours."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def random(self, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        return np.zeros(size)

    def standard_normal(self, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        return np.zeros(size)


# --- recursions ------------------------------------------------------------------------


@pytest.mark.parametrize("summed", [None, 1, 4])
def test_tssrp_follows_its_recursion(summed: int | None) -> None:
    p, m, n, steps, shift = 6, 2, 4, 40, 0.8
    covariance = a_covariance(p)
    problem = a_problem(covariance, m)
    method = made("tssrp", problem, shift=shift, summed_streams=summed)
    rng = np.random.default_rng(1)
    paths = paths_of(covariance, n, steps, 2)
    state = method.start(n, None, rng)
    rise = [[float(np.exp(value)) for value in row] for row in state.upward]
    fall = [[float(np.exp(value)) for value in row] for row in state.downward]
    for t in range(steps):
        before = [
            [a + b for a, b in zip(*pair, strict=True)] for pair in zip(rise, fall, strict=True)
        ]
        state, streams, value = step(method, state, paths[:, t], rng)
        for row in range(n):
            assert_largest(before[row], streams[row])
            for i in range(p):
                rise[row][i] += 1.0
                fall[row][i] += 1.0
                if i in streams[row]:
                    x = float(paths[row, t, i]) / float(covariance[i, i]) ** 0.5
                    rise[row][i] *= float(np.exp(shift * x - shift**2 / 2))
                    fall[row][i] *= float(np.exp(-shift * x - shift**2 / 2))
            logs = [float(np.log(a + b)) for a, b in zip(rise[row], fall[row], strict=True)]
            expected = sum(sorted(logs)[-(summed or m) :])
            assert value[row] == pytest.approx(expected, rel=1e-9)


def test_tssrp_starts_from_the_stationary_law_of_its_statistic() -> None:
    """Against a long run of the recursion itself, for a shift small enough to diffuse.

    40,000 chains: the ratio of two upper deciles, the widest, has a standard error of 2.2%;
    10% leaves three of them and 3% for the distance to the diffusion.
    """
    shift, n = 0.2, 40_000
    method = made("tssrp", a_problem(np.eye(2), 1), shift=shift)
    rng = np.random.default_rng(3)
    drawn = np.exp(method.start(n, None, rng).upward[:, 0])
    chain = np.zeros(n)
    for _ in range(800):
        chain = (chain + 1) * np.exp(shift * rng.standard_normal(n) - shift**2 / 2)
    for share in (0.1, 0.5, 0.9):
        assert np.quantile(drawn, share) == pytest.approx(np.quantile(chain, share), rel=0.1)


def slow_cusums(up: list[float], down: list[float], scores: dict[int, float], shift: float) -> None:
    for i, z in scores.items():
        up[i] = max(0.0, up[i] + shift * z - shift * shift / 2)
        down[i] = max(0.0, down[i] - shift * z - shift * shift / 2)


@pytest.mark.parametrize("summed", [None, 1, 5])
def test_tras_follows_its_recursion(summed: int | None) -> None:
    p, m, n, steps, shift, credit = 6, 2, 4, 40, 1.2, 0.07
    covariance = a_covariance(p)
    changed = {"shift": shift, "compensation": credit, "summed_streams": summed}
    method = made("tras", a_problem(covariance, m), **changed)
    rng = np.random.default_rng(1)
    paths = paths_of(covariance, n, steps, 2)
    state = method.start(n, None, rng)
    up = [[0.0] * p for _ in range(n)]
    down = [[0.0] * p for _ in range(n)]
    for t in range(steps):
        before = [
            [max(a, b) for a, b in zip(*pair, strict=True)] for pair in zip(up, down, strict=True)
        ]
        state, streams, value = step(method, state, paths[:, t], rng)
        for row in range(n):
            assert_largest(before[row], streams[row])
            read = {
                int(i): float(paths[row, t, i]) / float(covariance[i, i]) ** 0.5
                for i in streams[row]
            }
            slow_cusums(up[row], down[row], read, shift)
            for i in set(range(p)) - set(read):
                up[row][i] += credit
                down[row][i] += credit
            larger = sorted(max(a, b) for a, b in zip(up[row], down[row], strict=True))
            assert value[row] == pytest.approx(sum(larger[-(summed or m) :]), abs=1e-9)


def slow_cholesky(matrix: np.ndarray) -> list[list[float]]:
    p = len(matrix)
    lower = [[0.0] * p for _ in range(p)]
    for i in range(p):
        for j in range(i + 1):
            rest = float(matrix[i, j]) - sum(lower[i][k] * lower[j][k] for k in range(j))
            lower[i][j] = rest**0.5 if i == j else rest / lower[j][j]
    return lower


def test_asmp_follows_its_recursion() -> None:
    p, m, n, steps, shift = 6, 2, 4, 40, 1.1
    covariance = a_covariance(p)
    deviation = [float(covariance[i, i]) ** 0.5 for i in range(p)]
    correlation = np.array(
        [[covariance[i, j] / deviation[i] / deviation[j] for j in range(p)] for i in range(p)]
    )
    lower, inverse = slow_cholesky(correlation), np.linalg.inv(correlation)
    method = made("asmp", a_problem(covariance, m), shift=shift)
    rng = Recorder(1)
    paths = paths_of(covariance, n, steps, 2)
    state = method.start(n, None, rng)
    up = [[0.0] * p for _ in range(n)]
    down = [[0.0] * p for _ in range(n)]
    for t in range(steps):
        before = [
            [max(a, b) for a, b in zip(*pair, strict=True)] for pair in zip(up, down, strict=True)
        ]
        state, streams, value = step(method, state, paths[:, t], rng)
        assert len(rng.normals) == t + 1
        for row in range(n):
            assert_largest(before[row], streams[row])
            normal = rng.normals[t][row]
            scores = {
                i: float(paths[row, t, i]) / deviation[i]
                if i in streams[row]
                else sum(lower[i][k] * float(normal[k]) for k in range(p))
                for i in range(p)
            }
            slow_cusums(up[row], down[row], scores, shift)
            larger = [max(a, b) for a, b in zip(up[row], down[row], strict=True)]
            square = sum(
                larger[i] * float(inverse[i, j]) * larger[j] for i in range(p) for j in range(p)
            )
            assert value[row] == pytest.approx(square**0.5, abs=1e-6)


@pytest.mark.parametrize("independent", [True, False])
def test_cmab_follows_its_definition(independent: bool) -> None:
    """The posterior is rebuilt at every step from the whole history."""
    p, m, n, steps, decay = 5, 2, 12, 25, 0.03
    covariance = np.diag([1.0, 0.5, 2.0, 1.5, 0.8]) if independent else a_covariance(p)
    problem = a_problem(covariance, m)
    ridge = problem.statistic.ridge
    method, rng = made("cmab", problem, decay=decay), np.random.default_rng(1)
    paths = paths_of(covariance, n, steps, 2)
    state = method.start(n, None, rng)
    history: list[list[tuple[list[int], list[float]]]] = [[] for _ in range(n)]
    for t in range(steps):
        state, streams, value = step(method, state, paths[:, t], rng)
        for row in range(n):
            if t > 0:
                _, mean, spread = slow_posterior(history[row], covariance, decay, ridge)
                gamma = 2 * np.log((1 - (1 - decay) ** t) / decay**2)
                bound = [abs(mean[i]) + (gamma * spread[i, i]) ** 0.5 for i in range(p)]
                assert_largest_within(bound, streams[row], 1e-5)
            read = [int(i) for i in streams[row]]
            history[row].append((read, [float(paths[row, t, i]) for i in read]))
            precision, mean, _ = slow_posterior(history[row], covariance, decay, ridge)
            assert value[row] == pytest.approx(mean @ precision @ mean, rel=1e-5)


def slow_posterior(
    history: list[tuple[list[int], list[float]]], covariance: np.ndarray, decay: float, ridge: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    p = len(covariance)
    precision, h = np.zeros((p, p)), np.zeros(p)
    for age, (read, values) in enumerate(reversed(history)):
        inverse = np.linalg.inv(covariance[np.ix_(read, read)])
        for a, i in enumerate(read):
            for b, j in enumerate(read):
                precision[i, j] += (1 - decay) ** age * inverse[a, b]
                h[i] += (1 - decay) ** age * inverse[a, b] * values[b]
    spread = np.linalg.inv(precision + ridge * np.eye(p))
    return precision, spread @ h, spread


def assert_largest_within(index: list[float], chosen: np.ndarray, tolerance: float) -> None:
    rest = [value for i, value in enumerate(index) if i not in set(chosen.tolist())]
    assert min(index[i] for i in chosen) >= max(rest) * (1 - tolerance)


@pytest.mark.parametrize("independent", [True, False])
def test_cmab_reads_every_stream_before_any_twice(independent: bool) -> None:
    p, m, n = 9, 3, 20
    covariance = np.eye(p) if independent else a_covariance(p)
    method, rng = made("cmab", a_problem(covariance, m)), np.random.default_rng(0)
    paths = paths_of(covariance, n, 3, 1)
    state = method.start(n, None, rng)
    seen = []
    for t in range(3):
        state, streams, _ = step(method, state, paths[:, t], rng)
        seen.append(streams)
    assert (np.sort(np.concatenate(seen, axis=1), axis=1) == np.arange(p)).all()


def test_round_robin_visits_streams_in_turn() -> None:
    p, m, n, steps = 7, 3, 50, 14
    method, rng = RoundRobin(a_problem(np.eye(p), m)), np.random.default_rng(0)
    state = method.start(n, None, rng)
    seen = []
    for _ in range(steps):
        state, streams, _ = step(method, state, np.zeros((n, p)), rng)
        seen.append(streams)
    turn = np.concatenate(seen, axis=1)
    assert (np.diff(turn, axis=1) % p == 1).all()
    assert len(set(turn[:, 0])) > 1


def test_sum_of_largest() -> None:
    values = np.array([[3.0, -1.0, 2.0], [0.0, 5.0, 5.0]])
    assert sum_of_largest(values, 2).tolist() == [5.0, 10.0]
    assert sum_of_largest(values, 9).tolist() == [4.0, 10.0]


# --- what holds for every method -------------------------------------------------------

P, M, N, STEPS = 8, 3, 6, 12


def a_method(name: str, independent: bool) -> tuple[Method[Any], np.ndarray, Truth | None]:
    covariance = np.diag(np.linspace(0.5, 2.0, P)) if independent else a_covariance(P)
    method = made(name, a_problem(covariance, M))
    return method, covariance, a_truth(N, P, 4, 5) if method.is_bound else None


@pytest.mark.parametrize("independent", [True, False])
@pytest.mark.parametrize("name", index_methods())
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), garbage=st.sampled_from([np.nan, np.inf, -1e30]))
def test_unread_values_change_nothing(
    name: str, independent: bool, seed: int, garbage: float
) -> None:
    method, covariance, truth = a_method(name, independent)
    paths = paths_of(covariance, N, STEPS, seed)
    read, values = course(method, paths, truth, seed)
    spoilt = np.full_like(paths, garbage)
    for t, streams in enumerate(read):
        known = np.take_along_axis(paths[:, t], streams, axis=1)
        np.put_along_axis(spoilt[:, t], streams, known, axis=1)
    read_again, values_again = course(method, spoilt, truth, seed)
    assert np.array_equal(read, read_again)
    assert np.array_equal(values, values_again)
    assert np.isfinite(values).all()


@pytest.mark.parametrize("independent", [True, False])
@pytest.mark.parametrize("name", index_methods())
def test_streams_are_distinct_and_exist(name: str, independent: bool) -> None:
    method, covariance, truth = a_method(name, independent)
    read, _ = course(method, paths_of(covariance, N, STEPS, 1), truth, 1)
    count = P if name == "full_observation" else M
    for streams in read:
        assert streams.shape == (N, count)
        assert streams.min() >= 0
        assert streams.max() < P
        assert (np.diff(np.sort(streams, axis=1), axis=1) > 0).all()


@pytest.mark.parametrize("independent", [True, False])
@pytest.mark.parametrize("name", index_methods())
def test_rows_do_not_depend_on_each_other(name: str, independent: bool) -> None:
    """Dropping and repeating replications leaves the course of the others as it was."""
    method, covariance, truth = a_method(name, independent)
    paths = paths_of(covariance, N, 2 * STEPS, 3)
    rng = np.random.default_rng(4)
    state = method.start(N, truth, rng)
    for t in range(STEPS):
        state, _, _ = step(method, state, paths[:, t], rng)
    rows, still = np.array([4, 0, 0, 2]), Still()
    taken = state.take(rows)
    assert np.array_equal(method.statistic(taken), method.statistic(state)[rows])
    for t in range(STEPS, 2 * STEPS):
        state, streams, value = step(method, state, paths[:, t], still)
        taken, taken_streams, taken_value = step(method, taken, paths[rows, t], still)
        assert np.array_equal(taken_streams, streams[rows])
        np.testing.assert_allclose(taken_value, value[rows], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", index_methods())
def test_a_published_limit_is_a_number(name: str) -> None:
    method, covariance, truth = a_method(name, independent=False)
    noise = np.random.default_rng(0).standard_normal((N, 200, P))
    paths = noise @ np.linalg.cholesky(covariance).T
    in_control = statistics(method, paths, truth, np.random.default_rng(1))
    limit = method.published_limit(lambda: in_control, CALIBRATION)
    if method.publishes_run_length:
        assert name not in ("asmp", "cmab", "greedy")
        assert average_run_length(*run_lengths(in_control, limit)) >= CALIBRATION.arl0
        below = np.nextafter(limit, -np.inf)
        assert average_run_length(*run_lengths(in_control, below)) < CALIBRATION.arl0
    elif name == "asmp":
        level = DEFAULTS["baselines"]["asmp"]["limit_level"]
        assert (in_control <= limit).mean() == pytest.approx(level, abs=1 / in_control.size)
    else:
        assert limit == pytest.approx(chi2.ppf(CALIBRATION.nominal_level, P))
