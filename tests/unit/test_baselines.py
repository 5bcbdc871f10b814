"""Competitors and bounds, against slow versions written from their equations."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from made import Form, Recorder, a_covariance, a_problem, assert_largest, made, paths_of
from scipy.stats import chi2

from causaldq.calibration import CalibrationSettings, average_run_length, run_lengths
from causaldq.errors import DataError
from causaldq.methods.base import Method, Problem, Truth, largest
from causaldq.methods.cusum import Cusum, best_streams
from causaldq.methods.full_observation import FullObservation
from causaldq.methods.local import LocalMethod, LocalState
from causaldq.methods.oracle_set import OracleSet
from causaldq.methods.profiles import PhaseOne, components, quadrature
from causaldq.methods.registry import index_methods
from causaldq.methods.round_robin import RoundRobin
from causaldq.methods.tras import sum_of_largest
from causaldq.methods.tssrp import log_sum
from causaldq.run import statistics, step
from causaldq.statistic import LocalStatistic, StatisticSettings

DEFAULTS = yaml.safe_load((Path(__file__).parents[2] / "config" / "defaults.yaml").read_text())
CALIBRATION = CalibrationSettings(
    arl0=50.0, nominal_level=0.95, paths=10, fresh_paths=10, horizon_factor=2.0, arl0_grid=[50.0]
)


def a_truth(n: int, p: int, k: int, seed: int, delta: float = 1.0) -> Truth:
    order = np.argsort(np.random.default_rng(seed).random((n, p)), axis=1)
    shifted = order < k
    return Truth(shifted, delta * shifted.astype(float))


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


def course(
    method: Method[Any], paths: np.ndarray, truth: Truth | None, seed: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Streams read and statistics, step by step."""
    rng = np.random.default_rng(seed)
    state = method.start(len(paths), truth, rng)
    read, values = [], []
    for t in range(paths.shape[1]):
        state, streams, value = step(method, state, paths[:, t], rng)
        read.append(streams)
        values.append(value)
    return read, values


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


# --- bounds ----------------------------------------------------------------------------


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
    covariance = a_covariance(P)
    truth = a_truth(N, P, 4, 1, delta=0.0)
    method = Cusum(a_problem(covariance, M))
    values = statistics(method, paths_of(covariance, N, 30, 1), truth, np.random.default_rng(0))
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


# --- phase I ---------------------------------------------------------------------------

STREAM_SHARES = np.array([[0.8, 0.5, -np.sqrt(0.11)], [0.3, 0.9, -np.sqrt(0.1)]])
"""Of either component, squares summing to one; the third stream goes against the others."""
VARIANCES = np.array([4.0, 1.5])


def a_grid(length: int) -> np.ndarray:
    """Unevenly spaced over [0, 1]."""
    return np.linspace(0.0, 1.0, length) ** 1.5


def some_profiles(n: int, grid: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Profiles (n, 3, L) of two known components, and the components (2, 3, L)."""
    shapes = np.sqrt(2) * np.stack([np.sin(np.pi * grid), np.sin(3 * np.pi * grid)])
    known = STREAM_SHARES[:, :, None] * shapes[:, None, :]
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((n, 2)) * np.sqrt(VARIANCES)
    mean = np.stack([grid, 1 - grid, grid**2])
    return mean + np.einsum("nc,cpl->npl", scores, known), known


def test_quadrature_integrates() -> None:
    grid = a_grid(400)
    assert quadrature(grid) @ np.sin(np.pi * grid) == pytest.approx(2 / np.pi, rel=1e-4)


def test_components_of_known_profiles_are_found() -> None:
    """3000 profiles: a variance has a relative standard error of 2.6%; four are allowed."""
    grid = a_grid(80)
    weights = quadrature(grid)
    profiles, known = some_profiles(3000, grid, 1)
    found = components(profiles - profiles.mean(axis=0), weights, 0.99)
    assert len(found.variances) == 2
    np.testing.assert_allclose(found.variances, VARIANCES, rtol=0.105)
    overlap = np.einsum("cpl,dpl,l->cd", found.functions, known, weights)
    np.testing.assert_allclose(np.abs(np.diag(overlap)), 1.0, atol=0.01)
    inner = np.einsum("cpl,dpl,l->cd", found.functions, found.functions, weights)
    np.testing.assert_allclose(inner, np.eye(2), atol=1e-9)


def test_two_stages_find_what_one_large_decomposition_finds() -> None:
    """With all variance kept, the components are those of all streams' curves put end to end."""
    grid = a_grid(12)
    weights = quadrature(grid)
    profiles = np.random.default_rng(2).standard_normal((60, 3, 12)).cumsum(axis=2)
    centred = profiles - profiles.mean(axis=0)
    found = components(centred, weights, 1 - 1e-12)
    stacked = (centred * np.sqrt(weights)).reshape(60, 36)
    expected = np.linalg.eigvalsh(stacked.T @ stacked / 59)[::-1]
    np.testing.assert_allclose(found.variances, expected[: len(found.variances)], rtol=1e-8)
    integrals = np.einsum("cpl,l->c", found.functions, weights)
    assert (integrals >= 0).all()


def test_a_streams_minor_component_is_left_out_however_large_the_stream() -> None:
    """A shape with 4% of stream 0's variance outweighs the whole of any other stream."""
    grid = a_grid(40)
    weights = quadrature(grid)
    main, minor = np.sin(np.pi * grid), np.sin(3 * np.pi * grid)
    rng = np.random.default_rng(4)
    profiles = np.array([10.0, 1.7, 1.7, 1.7])[:, None] * rng.standard_normal((2000, 4, 1)) * main
    profiles[:, 0] += 2.0 * rng.standard_normal((2000, 1)) * minor
    centred = profiles - profiles.mean(axis=0)
    for share, seen in ((0.95, False), (0.99, True)):
        found = components(centred, weights, share)
        overlap = np.abs(np.einsum("cl,l,l->c", found.functions[:, 0], minor, weights)).max()
        assert (overlap > 0.5) == seen


def test_scores_have_unit_variance_and_the_known_correlation() -> None:
    """A stream's score is a^2 s1 + b^2 s2, with a and b its shares of the components, and
    its sign is turned for the stream whose shares are negative.

    3000 profiles: the standard error of a correlation is below .018; .07 is four of them.
    """
    grid = a_grid(80)
    profiles, _ = some_profiles(3000, grid, 1)
    phase_one = PhaseOne.fit(profiles, grid, 0.99)
    share = STREAM_SHARES * np.abs(STREAM_SHARES)
    covariance = np.einsum("ci,cj,c->ij", share, share, VARIANCES)
    deviation = np.sqrt(np.diag(covariance))
    expected = covariance / np.outer(deviation, deviation)
    np.testing.assert_allclose(phase_one.correlation, expected, atol=0.07)
    scores = phase_one.scores(profiles)
    np.testing.assert_allclose(scores.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(scores.var(axis=0, ddof=1), 1.0, rtol=1e-9)
    np.testing.assert_allclose(np.corrcoef(scores, rowvar=False), phase_one.correlation, atol=1e-9)
    fresh, _ = some_profiles(3000, grid, 2)
    np.testing.assert_allclose(phase_one.scores(fresh).std(axis=0), 1.0, atol=0.08)
    assert (phase_one.scores(profiles + 1.0) > scores).all()


def test_a_profile_of_length_one_scores_its_standardised_value() -> None:
    rows = np.random.default_rng(0).standard_normal((50, 4)) @ a_covariance(4) + 3.0
    phase_one = PhaseOne.fit(rows[:, :, None], np.zeros(1), 0.95)
    standardised = (rows - rows.mean(axis=0)) / rows.std(axis=0, ddof=1)
    np.testing.assert_allclose(phase_one.scores(rows[:, :, None]), standardised, rtol=1e-9)
    known = PhaseOne.of_scalars(np.cov(rows, rowvar=False))
    np.testing.assert_allclose(known.correlation, phase_one.correlation, atol=1e-12)
    np.testing.assert_allclose(known.directions, phase_one.directions, rtol=1e-9)


def test_a_flat_profile_is_refused() -> None:
    profiles, _ = some_profiles(30, a_grid(10), 1)
    profiles[:, 1] = 2.0
    with pytest.raises(DataError, match="stream 1 "):
        PhaseOne.fit(profiles, a_grid(10), 0.95)
