"""What is odd about numbers, against closed forms and numbers made by hand."""

import numpy as np
import pytest

from causaldq.models.rows import memory
from causaldq.tables import oddities
from causaldq.tables.cells import is_date
from causaldq.types import Floats


def steady(n: int) -> Floats:
    """(n,), mean 0 and standard deviation 1 in either half, no memory."""
    half = np.random.default_rng(0).standard_normal((2, n // 2))
    half -= half.mean(1, keepdims=True)
    half /= half.std(1, keepdims=True)
    return half.ravel()


@pytest.mark.parametrize(("n", "least"), [(100, 0.8), (64, 1.0), (1000, 0.5)])
def test_drift_is_told_beyond_four_standard_errors_and_half_a_deviation(
    n: int, least: float
) -> None:
    """Of independent rows the halves' means differ by 2 / sqrt(n) deviations."""
    values = steady(n)
    assert memory(values[:, None])[0] == 1
    second = np.arange(n) >= n // 2
    assert oddities.drift(values + (least - 0.01) * second) == 0
    assert oddities.drift(values + (least + 0.01) * second) == pytest.approx(least + 0.01)
    assert oddities.drift(values - (least + 0.01) * second) == pytest.approx(-least - 0.01)


def test_of_rows_with_memory_fewer_count() -> None:
    values = np.repeat(steady(200), 5)
    values += 0.6 * (np.arange(1000) >= 500)
    assert oddities.drift(values) == 0
    assert oddities.drift(values[::5]) == pytest.approx(0.6)


def test_what_is_too_short_does_not_drift() -> None:
    values = steady(20) + 9 * (np.arange(20) >= 10)
    assert oddities.drift(values) == pytest.approx(9)
    assert oddities.drift(values[:19]) == 0


def test_the_spread_of_a_normal_variable_is_its_deviation() -> None:
    values = 3 + 2 * np.random.default_rng(1).standard_normal(100_001)
    assert oddities.spread(values) == pytest.approx(2, rel=0.02)
    assert oddities.spread(np.array([])) == 0


def test_spikes_are_far_and_rare() -> None:
    values = np.tile([-1.0, 0.0, 1.0], 333)  # the median is 0, the robust deviation 1.4826
    values[7], values[9], values[11] = 11.8, 11.9, np.nan
    assert np.flatnonzero(oddities.spikes(values)).tolist() == [9]
    assert np.flatnonzero(oddities.spikes(values, 7.9)).tolist() == [7, 9]
    values[100:108] = 50
    assert oddities.spikes(values).sum() == 9
    values[100:109] = 50
    assert oddities.spikes(values).sum() == 0
    assert oddities.spikes(np.array([1.0, 1, 1, 1, 9])).sum() == 0


@pytest.mark.parametrize(
    ("code", "is_one"),
    [(-9999, True), (999, True), (-999.25, True), (32767, True), (99, False), (9990, False)],
)
def test_codes_are_far_repeated_and_look_like_it(code: float, is_one: bool) -> None:
    values = np.tile([-1.0, 1.0], 50)
    values[[3, 8]] = code
    assert oddities.codes(values) == ([code] if is_one else [])
    values[3] = 0
    assert oddities.codes(values) == []
    assert oddities.codes(np.full(50, float(code))) == []


def test_autocorrelation_skips_gaps() -> None:
    values = np.tile([1.0, 1, -1, -1], 50)
    expected = np.corrcoef(values[:-1], values[1:])[0, 1]
    assert oddities.autocorrelation(values) == pytest.approx(expected)
    values[100] = np.nan
    assert oddities.autocorrelation(values) == pytest.approx(expected, abs=0.02)
    assert oddities.autocorrelation(values[:10]) == 0
    assert oddities.autocorrelation(np.ones(50)) == 0


def test_runs_and_repeats_by_hand() -> None:
    values = np.array([1.0, 2, 2, 2, np.nan, np.nan, 3, 3])
    assert oddities.longest_run(values) == (1, 3)
    assert oddities.repeats(values) == 3 / 4
    assert oddities.repeats(np.array([1.0])) == 0
    assert oddities.usual_share(np.array([1.0, 2, 2, 5])) == 0.5


@pytest.mark.parametrize(
    ("values", "one_way", "clock"),
    [
        (np.arange(10.0), True, True),
        (np.arange(9.0), False, True),
        (-np.arange(50.0), True, True),
        (np.repeat(np.arange(10.0), 5), True, False),
        (np.zeros(50), False, False),
        (np.append(np.arange(40.0), [3, 4]), True, True),
        (np.tile(np.arange(5.0), 10), False, False),
        (np.append(np.nan, np.arange(20.0)), True, True),
    ],
)
def test_what_goes_one_way(values: Floats, one_way: bool, clock: bool) -> None:
    assert oddities.goes_one_way(values) == one_way
    assert oddities.is_clock(values) == clock


def test_steps_may_differ_by_a_twentieth() -> None:
    times = np.cumsum([0, 1, 1, 1, 1, 1.04, 0.96, 1.06, 0.94, 0, -1, 3])
    back, other = oddities.uneven(times)
    assert np.flatnonzero(back).tolist() == [8, 9]
    assert np.flatnonzero(other).tolist() == [6, 7, 10]
    assert oddities.usual_step(times) == pytest.approx(1)
    assert oddities.usual_step(times[:1]) == 1


def test_streams_that_are_the_same_up_to_scale() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.standard_normal((2, 1000))
    near = first + 0.02 * second  # the correlation is 1 - 0.0002
    rows = np.column_stack([first, second, 32 - 1.8 * first, near])
    assert oddities.alike(rows) == [(0, 2)]
    assert oddities.alike(rows, 3e-4) == [(0, 2), (0, 3), (2, 3)]


@pytest.mark.parametrize("cell", [None, "", 3.0, "12", "1.5", ["2024-01-01"], "yesterday"])
def test_what_is_no_date(cell: object) -> None:
    assert not is_date(cell)
    assert is_date("2024-01-01")
