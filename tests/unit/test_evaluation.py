"""Run lengths, limits, intervals and delays, against hand calculation and known laws."""

from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, wilcoxon
from scipy.stats import t as student

from causaldq.calibration import (
    average_run_length,
    limit_at_most,
    limit_for,
    measured_run_length,
    run_lengths,
)
from causaldq.estimates import among_best, compare, estimate, holm
from causaldq.methods.base import Method, Problem, State, Truth
from causaldq.methods.local import LocalMethod, LocalState
from causaldq.methods.oracle_set import OracleSet
from causaldq.pipeline.evaluation.aggregate import delay_matrix
from causaldq.run import delays, statistics
from causaldq.statistic import StatisticSettings

SEEDS = st.integers(0, 2**32 - 1)

# --- run lengths -----------------------------------------------------------------------

PATHS = np.array(
    [
        [1.0, 4.0, 2.0, 6.0],
        [3.0, 3.0, 3.0, 3.0],
        [5.0, 0.0, 0.0, 0.0],
    ]
)


@pytest.mark.parametrize(
    ("limit", "lengths", "censored", "average"),
    [
        (0.5, [1, 1, 1], [False, False, False], 1.0),
        (2.0, [2, 1, 1], [False, False, False], 4 / 3),
        (3.0, [2, 4, 1], [False, True, False], 7 / 2),  # the limit itself is no alarm
        (4.5, [4, 4, 1], [False, True, False], 9 / 2),
        (5.0, [4, 4, 4], [False, True, True], 12.0),
        (6.0, [4, 4, 4], [True, True, True], np.inf),
    ],
)
def test_run_lengths_by_hand(
    limit: float, lengths: list[int], censored: list[bool], average: float
) -> None:
    found, unfinished = run_lengths(PATHS, limit)
    assert found.tolist() == lengths
    assert unfinished.tolist() == censored
    assert average_run_length(found, unfinished) == pytest.approx(average)


@pytest.mark.parametrize(
    ("arl0", "limit"), [(1.2, 1.0), (1.4, 3.0), (3.5, 3.0), (3.6, 4.0), (5.0, 5.0), (13.0, 6.0)]
)
def test_limits_by_hand(arl0: float, limit: float) -> None:
    """Run lengths just below: 1 under 1, 4/3 from 1, 7/2 from 3, 9/2 from 4, 12 from 5."""
    assert limit_for(PATHS, arl0) == limit


def slow_average(paths: list[list[int]], limit: float) -> float:
    time = alarms = 0
    for path in paths:
        for value in path:
            time += 1
            if value > limit:
                alarms += 1
                break
    return time / alarms if alarms else float("inf")


@given(
    paths=st.integers(1, 6).flatmap(
        lambda steps: st.lists(
            st.lists(st.integers(0, 9), min_size=steps, max_size=steps), min_size=1, max_size=6
        )
    ),
    arl0=st.floats(1.01, 12),
)
def test_the_limit_is_the_smallest_that_will_do(paths: list[list[int]], arl0: float) -> None:
    values = np.array(paths, float)
    for limit in (-1, 0, 3, 8.5):
        assert average_run_length(*run_lengths(values, limit)) == slow_average(paths, limit)
    found = limit_for(values, arl0)
    assert found == min(v for path in paths for v in path if slow_average(paths, v) >= arl0)


def test_limit_of_independent_normal_statistics() -> None:
    """The run length is geometric: ARL0 = 1 / P(Z > limit).

    4000 paths give the run length a relative standard error of 1.6% and the limit one of
    .0065; 4 of either are allowed, a false failure in 1 of 8,000 seeds.
    """
    values = np.random.default_rng(1).standard_normal((4000, 250))
    assert limit_for(values, 50.0) == pytest.approx(norm.ppf(1 - 1 / 50), abs=0.026)
    average = average_run_length(*run_lengths(values, 2.0))
    assert average == pytest.approx(1 / norm.sf(2.0), rel=0.065)


def test_the_run_length_is_unbiased_under_heavy_censoring() -> None:
    """Exponential run lengths of mean 100, watched for 60 steps: 55% end without an alarm.

    200 estimates from 500 paths each: a standard error of .5%, and 0.4% of bias from the
    ratio; 2.5% is allowed. The plain mean of the observed times would be 45.
    """
    rng = np.random.default_rng(2)
    found, plain = [], []
    for _ in range(200):
        lengths = rng.exponential(100.0, 500)
        censored = lengths > 60
        seen = np.where(censored, 60.0, lengths)
        found.append(average_run_length(seen, censored))
        plain.append(seen.mean())
    assert np.mean(found) == pytest.approx(100.0, rel=0.025)
    assert np.mean(plain) < 50


def test_the_interval_of_a_run_length_covers_it() -> None:
    """400 experiments on 80 paths of 60 steps with a known run length of 50.

    The interval of 95% covers 94% in long runs; 90% is 3.4 standard errors below, 98.5%
    3.8 above, a false failure in 1 of 2,000 seeds.
    """
    rng = np.random.default_rng(3)
    limit = norm.ppf(1 - 1 / 50)
    covered, narrower = 0, 0
    for _ in range(400):
        values = rng.standard_normal((80, 60))
        found = measured_run_length(values, limit, 0.95, 200, rng)
        assert found.value is not None
        assert found.high is not None
        assert found.low <= found.value <= found.high
        covered += found.low <= 50 <= found.high
        half = measured_run_length(values, limit, 0.5, 200, rng)
        narrower += half.high is not None and half.high - half.low < found.high - found.low
    assert 0.90 <= covered / 400 <= 0.985
    assert narrower == 400


def test_no_alarm_at_all_bounds_the_run_length_from_below() -> None:
    """Without an alarm in time t, the run length a has exp(-t / a) = .05 at its 95% bound."""
    found = measured_run_length(np.zeros((10, 30)), 1.0, 0.95, 100, np.random.default_rng(0))
    assert found.value is None
    assert found.high is None
    assert np.exp(-300 / found.low) == pytest.approx(0.05, rel=0.01)


@pytest.mark.parametrize("confidence", [0.5, 0.99])
def test_that_bound_has_the_confidence_asked_for(confidence: float) -> None:
    found = measured_run_length(np.zeros((10, 30)), 1.0, confidence, 100, np.random.default_rng(0))
    assert np.exp(-300 / found.low) == pytest.approx(1 - confidence, rel=0.05)


def test_a_single_alarm_leaves_the_run_length_unbounded() -> None:
    """A resample misses the only alarm once in e: no upper end can be given."""
    values = np.zeros((20, 10))
    values[3, 4] = 2.0
    found = measured_run_length(values, 1.0, 0.95, 500, np.random.default_rng(0))
    assert found.value == 195.0
    assert found.high is None
    assert 0 < found.low < 195


# --- means, errors, intervals ----------------------------------------------------------

NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "mean", "se", "freedom"),
    [
        # replications 3, 5: variance 2 over 2; seeds 2, 6: variance 8 over 2; 25 over 1 + 16
        pytest.param([[1.0, 3.0], [5.0, 7.0]], 4.0, np.sqrt(1 + 4), 25 / 17, id="two_seeds"),
        # replications 3, 7: 8 over 2; seeds 1, 6: 12.5 over 2
        pytest.param(
            [[1.0, NAN], [5.0, 7.0]],
            13 / 3,
            np.sqrt(4 + 6.25),
            10.25**2 / (4**2 + 6.25**2),
            id="false_alarm",
        ),
        # replications 2, 4, 6, none: 4 over 3
        pytest.param([[2.0, 4.0, NAN, 6.0]], 4.0, np.sqrt(4 / 3), 2.0, id="one_seed"),
        pytest.param([[6.0, 6.0], [6.0, 6.0]], 6.0, 0.0, np.inf, id="constant"),
    ],
)
def test_estimates_by_hand(
    values: list[list[float]], mean: float, se: float, freedom: float
) -> None:
    found = estimate(np.array(values), 0.95, 200.0)
    assert found.mean == pytest.approx(mean)
    assert found.se == pytest.approx(se)
    assert found.freedom == pytest.approx(freedom)
    half = student.ppf(0.975, freedom) * se / mean
    assert found.low == pytest.approx(max(mean / np.exp(half), 1.0))
    assert found.high == pytest.approx(min(mean * np.exp(half), 200.0))


def test_nothing_but_false_alarms_gives_no_estimate() -> None:
    found = estimate(np.full((2, 3), NAN), 0.95, 200.0)
    assert np.isnan([found.mean, found.se, found.freedom, found.low, found.high]).all()


def test_one_run_does_not_tell_its_error() -> None:
    found = estimate(np.array([[7.0, NAN]]), 0.95, 200.0)
    assert found.mean == 7.0
    assert np.isnan(found.se)
    assert (found.low, found.high) == (1.0, 200.0)


def test_one_seed_has_the_textbook_interval() -> None:
    """400 delays: the logarithm's interval is that of the mean, to the square of its width."""
    values = np.random.default_rng(1).exponential(20.0, (1, 400))
    found = estimate(values, 0.95, 1000.0)
    error = values.std(ddof=1) / 20
    assert found.se == pytest.approx(error)
    assert found.low == pytest.approx(values.mean() - 1.96 * error, abs=0.15 * error)
    assert found.high == pytest.approx(values.mean() + 1.96 * error, abs=0.15 * error)


def test_seeds_that_agree_are_not_more_replications() -> None:
    """Five copies of one seed say no more than the one."""
    one = np.random.default_rng(1).exponential(20.0, (1, 200))
    assert estimate(np.tile(one, (5, 1)), 0.95, 1000.0) == estimate(one, 0.95, 1000.0)


def two_way(rng: np.random.Generator, seeds: int, replications: int, spread: float) -> np.ndarray:
    """Delays of mean 20 with replication and residual effects of deviation 6, seeds' as given."""
    return np.asarray(
        20
        + spread * rng.standard_normal((seeds, 1))
        + 6 * rng.standard_normal((1, replications))
        + 6 * rng.standard_normal((seeds, replications))
    )


@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("spread", [0.0, 2.0, 6.0])
def test_the_interval_covers_the_mean(seeds: int, spread: float) -> None:
    """1000 experiments with 60 replications: seeds alike, differing somewhat, and as much as
    replications do. Long runs cover 92 to 97%; 89.5% is 3 standard errors below, a false failure
    in 1 of 1,000 seeds.

    Taking the runs for independent would cover 83% at best. Resampling three
    seeds and the replications, a bootstrap, covers 70% in the last case.
    """
    rng = np.random.default_rng(4)
    covered, naive = 0, 0
    errors, means = [], []
    for _ in range(1000):
        values = two_way(rng, seeds, 60, spread)
        found = estimate(values, 0.95, 200.0)
        covered += found.low <= 20 <= found.high
        errors.append(found.se**2)
        means.append(found.mean)
        wrong = 1.96 * values.std() / np.sqrt(values.size)
        naive += abs(found.mean - 20) < wrong
    assert 0.895 <= covered / 1000 <= 0.99
    assert naive / 1000 < 0.87  # 3 standard errors above
    residual = 36 / 60 / seeds
    true = spread**2 / seeds + 36 / 60 + residual
    assert np.var(means) == pytest.approx(true, rel=0.2)  # 4 standard errors
    # The seeds' part holds the residual again.
    assert np.mean(errors) == pytest.approx(true + residual, rel=0.15)


# --- comparisons -----------------------------------------------------------------------


def test_holm_by_hand() -> None:
    """.005 < .05/4 and .01 < .05/3, but .03 > .05/2, which also spares .04."""
    assert holm([0.01, 0.04, 0.03, 0.005], 0.05) == [True, False, False, True]
    assert holm([0.01, 0.02, 0.03], 0.05) == [True, True, True]
    assert holm([0.2, 0.01], 0.05) == [False, True]
    assert holm([], 0.05) == []


@given(p_values=st.lists(st.floats(0, 1), min_size=1, max_size=5), level=st.floats(0.01, 0.3))
def test_holm_is_the_closure_of_bonferroni(p_values: list[float], level: float) -> None:
    """A hypothesis falls if every intersection that holds it falls to Bonferroni."""
    n = len(p_values)
    subsets = [s for size in range(1, n + 1) for s in combinations(range(n), size)]
    fallen = {s for s in subsets if min(p_values[i] for i in s) <= level / len(s)}
    expected = [all(s in fallen for s in subsets if i in s) for i in range(n)]
    assert holm(p_values, level) == expected


def exact_signed_rank(differences: list[float]) -> float:
    """Two-sided p value by going through all signs that equal methods could give."""
    ordered = sorted(abs(d) for d in differences)
    ranks = [ordered.index(abs(d)) + 1 for d in differences]
    seen = abs(sum(rank if d > 0 else -rank for rank, d in zip(ranks, differences, strict=True)))
    sums = [abs(sum(signed)) for signed in product(*((rank, -rank) for rank in ranks))]
    return sum(value >= seen for value in sums) / len(sums)


def test_the_paired_test_ranks_differences() -> None:
    rng = np.random.default_rng(0)
    shared = rng.exponential(10, 14)
    better, worse = shared + rng.normal(0, 1, 14), shared + 0.7 + rng.normal(0, 1, 14)
    exact = exact_signed_rank(list(better - worse))
    found = compare(better[None], worse[None])
    # The normal approximation is good to about .01 with 14 pairs.
    assert found.p_value == pytest.approx(exact, abs=0.015)
    assert found.first_is_shorter
    assert not compare(worse[None], better[None]).first_is_shorter
    # a false alarm of either drops the pair
    holed = worse.copy()
    holed[[2, 5]] = NAN
    kept = ~np.isnan(holed)
    dropped = compare(better[kept][None], worse[kept][None])
    assert compare(better[None], holed[None]) == dropped
    # seeds are averaged first
    seeds = np.stack([better - 1, better + 1])
    assert compare(seeds, worse[None]).p_value == pytest.approx(found.p_value)


@pytest.mark.parametrize("size", [1, 3, 15, 200])
def test_the_paired_test_is_the_usual_one_with_ties_and_zeros(size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(20):
        one, other = rng.integers(0, 6, (2, 1, size)).astype(float)
        if (one != other).any():
            usual = wilcoxon(
                (one - other)[0], zero_method="pratt", correction=False, method="asymptotic"
            )
            assert compare(one, other).p_value == pytest.approx(usual.pvalue, rel=1e-12)


def test_one_run_in_a_hundred_that_never_ends_does_not_hide_a_difference() -> None:
    rng = np.random.default_rng(3)
    fast = rng.integers(2, 5, 100).astype(float)
    slow = fast + rng.integers(1, 4, 100)
    slow[0] = 200.0
    assert among_best({"fast": fast[None], "slow": slow[None]}, 0.05) == {"fast"}


def test_equal_delays_cannot_be_told_apart() -> None:
    same = np.array([[1.0, 2.0]])
    assert compare(same, same).p_value == 1.0
    assert compare(np.array([[NAN, 1.0]]), np.array([[2.0, NAN]])).p_value == 1.0


def test_who_is_among_the_best() -> None:
    """Pairing tells a method 1 step slower from the best although runs differ by 30."""
    rng = np.random.default_rng(1)
    shared = rng.exponential(30, 100)
    found = among_best(
        {
            "best": (shared + rng.normal(0, 1, 100))[None],
            "equal": (shared + 0.05 + rng.normal(0, 1, 100))[None],
            "slower": (shared + 1.0 + rng.normal(0, 1, 100))[None],
            "noisy": (shared[::-1] + 1.0)[None],
            "broken": np.full((1, 100), NAN),
        },
        0.05,
    )
    assert found == {"best", "equal", "noisy"}
    assert among_best({"broken": np.full((1, 3), NAN)}, 0.05) == set()
    assert among_best({"only": np.ones((1, 3))}, 0.05) == {"only"}


@pytest.mark.parametrize("methods", [2, 4])
def test_equal_methods_are_all_among_the_best(methods: int) -> None:
    """But for the level: one that is no slower may be left out once in 20 tables.

    800 tables, a standard error of .8%; 4 of them are allowed.
    """
    rng = np.random.default_rng(8)
    left_out = 0
    for _ in range(800):
        shared = rng.exponential(20, (1, 60))
        values = {str(i): shared + 5 * rng.standard_normal((1, 60)) for i in range(methods)}
        left_out += len(among_best(values, 0.05)) < methods
    assert left_out / 800 <= 0.05 + 4 * 0.008


def test_delays_are_arranged_by_seed_and_replication() -> None:
    table = pd.DataFrame(
        {
            "training_seed": [2, 1, 1, 2],
            "replication": [0, 1, 0, 1],
            "delay": [5, 0, 3, 7],
            "false_alarm": [0, 1, 0, 0],
        }
    )
    assert np.array_equal(delay_matrix(table), [[3.0, NAN], [5.0, 7.0]], equal_nan=True)


# --- delays ----------------------------------------------------------------------------


class Steady(LocalMethod):
    """Reads the largest Lambda_i + Y_i / 10; of equals, the lower index. No randomness."""

    def choose(self, state: LocalState, rng: np.random.Generator) -> np.ndarray:
        scores = state.contributions + 0.1 * state.unobserved
        return np.sort(np.argsort(-scores, axis=1, kind="stable")[:, : self.problem.m], axis=1)


def slow_delay(
    method: Method[State],
    path: np.ndarray,
    change: int,
    mean: np.ndarray,
    truth: Truth | None,
    limit: float,
) -> tuple[bool, int, bool]:
    """One replication by itself, from its first step: false alarm, delay, censored."""
    shifted = path.copy()
    for t in range(change, len(path)):
        shifted[t] += mean
    values = statistics(method, shifted[None], truth, np.random.default_rng(0))[0]
    for t, value in enumerate(values):
        if value > limit:
            return (True, 0, False) if t < change else (False, t - change + 1, False)
    return False, len(path) - change, True


@pytest.fixture(scope="module")
def a_problem() -> Callable[[int], Problem]:
    def make(m: int) -> Problem:
        place = np.arange(6)
        covariance = 0.5 ** np.abs(place[:, None] - place)
        statistic = StatisticSettings(decay=0.1, form="normalised", ridge=1e-6)
        return Problem(covariance, m, statistic)

    return make


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("change", [0, 12])
def test_delays_are_those_of_single_runs(
    a_problem: Callable[[int], Problem], bound: bool, change: int
) -> None:
    """Four shifts on one past (or on their own pasts, for a bound) and every kind of end."""
    n, horizon, limit, k = 25, 15, 9.0, 2
    rng = np.random.default_rng(5)
    method: Method[State] = OracleSet(a_problem(k)) if bound else Steady(a_problem(k))  # type: ignore[assignment]
    paths = rng.standard_normal((n, change + horizon, 6))
    masks = [np.argsort(rng.random((n, 6)), axis=1) < k for _ in range(4)]
    means = [
        delta * mask + 0.1 * rng.standard_normal((n, 6))
        for delta, mask in zip([0.0, 0.7, 1.5, 6.0], masks, strict=True)
    ]
    truths = [Truth(mask, mean) if bound else None for mask, mean in zip(masks, means, strict=True)]
    found = delays(method, paths, change, means, truths, limit, np.random.default_rng(6))
    assert len(found) == 4
    for outcome, mean, truth in zip(found, means, truths, strict=True):
        for row in range(n):
            own = truth.take(np.array([row])) if truth is not None else None
            expected = slow_delay(method, paths[row], change, mean[row], own, limit)
            got = (outcome.false_alarm[row], outcome.delay[row], outcome.censored[row])
            assert got == expected
    assert any(outcome.censored.any() for outcome in found)
    assert any(outcome.delay.max() > 1 for outcome in found)
    assert any(outcome.false_alarm.any() for outcome in found) == (change > 0)
    if not bound:
        # one past: the same replications alarm before the change
        for outcome in found[1:]:
            assert np.array_equal(outcome.false_alarm, found[0].false_alarm)


@pytest.mark.parametrize("arl0", [5.0, 20.0, 40.0])
def test_paths_that_stop_give_the_limit_of_whole_ones(
    a_problem: Callable[[int], Problem], arl0: float
) -> None:
    method = Steady(a_problem(2))
    paths = np.random.default_rng(3).standard_normal((60, 160, 6))

    def simulated(ceiling: Callable[[np.ndarray], float] | None) -> np.ndarray:
        return statistics(method, paths, None, np.random.default_rng(0), ceiling)

    whole = simulated(None)
    limit = limit_for(whole, arl0)
    stopped = simulated(lambda so_far: limit_at_most(so_far, arl0))
    assert limit_for(stopped, arl0) == limit
    steps = np.isfinite(stopped).sum()
    assert steps < 0.6 * whole.size
    np.testing.assert_allclose(stopped[np.isfinite(stopped)], whole[np.isfinite(stopped)])
    # a smaller run length is served as well: its limit is below
    assert limit_for(stopped, arl0 / 2) == limit_for(whole, arl0 / 2)
    # and with a limit that is known, run lengths at it are those of whole paths
    known = simulated(lambda _: limit)
    assert np.isfinite(known).sum() <= steps
    for found, expected in zip(run_lengths(known, limit), run_lengths(whole, limit), strict=True):
        assert np.array_equal(found, expected)


@given(
    paths=st.lists(st.lists(st.integers(0, 9), min_size=12, max_size=12), min_size=1, max_size=8),
    arl0=st.floats(1, 12),
    seen=st.integers(1, 12),
)
def test_no_limit_comes_out_above_its_bound(paths: list[list[int]], arl0: float, seen: int) -> None:
    """Whatever comes after what was seen."""
    whole = np.array(paths, dtype=float)
    assert limit_for(whole, arl0) <= limit_at_most(whole[:, :seen], arl0)


def test_limits_at_both_ends(a_problem: Callable[[int], Problem]) -> None:
    method = Steady(a_problem(2))
    paths = np.random.default_rng(0).standard_normal((5, 10, 6))
    means: list[np.ndarray] = [np.zeros((5, 6))]
    rng = np.random.default_rng(1)
    (never,) = delays(method, paths, 4, means, [None], np.inf, rng)
    assert never.censored.all()
    assert (never.delay == 6).all()
    (always,) = delays(method, paths, 4, means, [None], -np.inf, rng)
    assert always.false_alarm.all()
    assert (always.delay == 0).all()
    assert not always.censored.any()
    (at_once,) = delays(method, paths, 0, means, [None], -np.inf, rng)
    assert (at_once.delay == 1).all()


def test_an_alarm_is_above_the_limit_not_at_it(a_problem: Callable[[int], Problem]) -> None:
    method = Steady(a_problem(2))
    paths = np.random.default_rng(0).standard_normal((1, 1, 6))
    value = statistics(method, paths, None, np.random.default_rng(0))[0, 0]
    for limit, censored in ((value, True), (np.nextafter(value, 0), False)):
        (outcome,) = delays(
            method, paths, 0, [np.zeros((1, 6))], [None], limit, np.random.default_rng(0)
        )
        assert outcome.censored[0] == censored


def test_truths_come_for_all_alternatives_or_none(a_problem: Callable[[int], Problem]) -> None:
    method = OracleSet(a_problem(2))
    mask = np.ones((1, 6), dtype=bool)
    means: list[np.ndarray] = [np.zeros((1, 6))] * 2
    with pytest.raises(ValueError, match="truth"):
        delays(
            method,
            np.zeros((1, 3, 6)),
            1,
            means,
            [Truth(mask, means[0]), None],
            1.0,
            np.random.default_rng(0),
        )
