"""The local statistic, against Bayes' rule, closed forms and its null law."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import a_covariance
from scipy.stats import chi2, kstest, multivariate_normal

from causaldq.statistic import (
    Evidence,
    LocalStatistic,
    StatisticSettings,
    inverse_positive,
    posterior,
    solve_positive,
)

SEEDS = st.integers(0, 2**32 - 1)
NORMALISED = StatisticSettings(decay=0.1, form="normalised", ridge=1e-10)
RAW = StatisticSettings(decay=0.1, form="raw", ridge=1e-10)


def some_readings(
    n: int, p: int, m: int, steps: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Streams read (steps, n, m), in no order, and values (steps, n, m) of any size."""
    rng = np.random.default_rng(seed)
    streams = np.argsort(rng.random((steps, n, p)), axis=2)[:, :, :m]
    return streams, 2.0 * rng.standard_normal((steps, n, m)) + 0.5, rng


def flat(_: np.ndarray) -> float:
    return 0.0


def run(local: LocalStatistic, streams: np.ndarray, values: np.ndarray) -> Evidence:
    evidence = local.start(streams.shape[1])
    for read, seen in zip(streams, values, strict=True):
        evidence = local.update(evidence, read, seen)
    return evidence


def sum_of_squares_form(
    covariance: np.ndarray, streams: np.ndarray, values: np.ndarray, decay: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """h, J and K of one replication from the whole history, with full selection matrices."""
    p, steps = len(covariance), len(streams)
    h, j, k = np.zeros(p), np.zeros((p, p)), np.zeros((p, p))
    for t in range(steps):
        selection = np.zeros((streams.shape[1], p))
        for row, stream in enumerate(streams[t]):
            selection[row, stream] = 1.0
        precision = np.linalg.inv(selection @ covariance @ selection.T)
        age = steps - 1 - t
        h += (1 - decay) ** age * selection.T @ precision @ values[t]
        j += (1 - decay) ** age * selection.T @ precision @ selection
        k += (1 - decay) ** (2 * age) * selection.T @ precision @ selection
    return h, j, k


# --- Bayes -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_raw_form_is_the_posterior_under_fading_memory(seed: int) -> None:
    """The log density is evaluated, never expanded: its curvature is the precision.

    p(mu | 1..n) is p(mu | 1..n-1)^(1 - lambda) p(x_n | mu), as the paper prints, from a
    flat start. A quadratic's differences are exact.
    """
    p, m, steps = 4, 2, 9
    covariance = a_covariance(p, seed)
    streams, values, _ = some_readings(1, p, m, steps, seed)
    assert len(np.unique(streams)) == p

    def next_density(
        before: Callable[[np.ndarray], float], read: np.ndarray, seen: np.ndarray
    ) -> Callable[[np.ndarray], float]:
        law = multivariate_normal(np.zeros(m), covariance[np.ix_(read, read)])
        return lambda mean: (1 - RAW.decay) * before(mean) + float(law.logpdf(seen - mean[read]))

    log_density: Callable[[np.ndarray], float] = flat
    for t in range(steps):
        log_density = next_density(log_density, streams[t, 0], values[t, 0])
    unit = np.eye(p)
    middle = log_density(np.zeros(p))
    slope = [(log_density(unit[i]) - log_density(-unit[i])) / 2 for i in range(p)]
    precision = np.array(
        [
            [
                log_density(unit[i])
                + log_density(unit[j])
                - log_density(unit[i] + unit[j])
                - middle
                for j in range(p)
            ]
            for i in range(p)
        ]
    )
    mean = np.linalg.inv(precision) @ slope

    local = LocalStatistic(covariance, RAW)
    evidence = run(local, streams, values)
    np.testing.assert_allclose(evidence.j[0], precision, atol=1e-9)
    np.testing.assert_allclose(local.mean(evidence)[0], mean, rtol=1e-6)
    contributions = local.contributions(evidence)[0]
    np.testing.assert_allclose(contributions, mean * (precision @ mean), rtol=1e-6, atol=1e-9)
    assert contributions.sum() == pytest.approx(mean @ precision @ mean, rel=1e-7)


@given(p=st.integers(2, 5), data=st.data(), seed=SEEDS)
def test_contributions_add_up_to_the_quadratic_form(p: int, data: st.DataObject, seed: int) -> None:
    m = data.draw(st.integers(1, p))
    covariance = a_covariance(p, seed % 1000)
    # every stream is read, in the end by all sensors in turn
    streams, values, _ = some_readings(3, p, m, 12, seed)
    streams[-p:, :, :] = (np.arange(p)[:, None, None] + np.arange(m)) % p
    for settings, of_k in ((NORMALISED, True), (RAW, False)):
        local = LocalStatistic(covariance, settings)
        contributions = local.contributions(run(local, streams, values))
        for row in range(3):
            h, j, k = sum_of_squares_form(covariance, streams[:, row], values[:, row], 0.1)
            expected = h @ np.linalg.inv(k if of_k else j) @ h
            assert contributions[row].sum() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("settings", [NORMALISED, RAW])
def test_independent_streams_have_a_closed_form(settings: StatisticSettings) -> None:
    """A fading sum of each stream's own readings, squared, over its fading weight."""
    p, m, n, steps = 5, 2, 6, 15
    variances = np.array([1.0, 0.25, 4.0, 2.0, 0.5])
    streams, values, _ = some_readings(n, p, m, steps, 4)
    local = LocalStatistic(np.diag(variances), settings)
    evidence = run(local, streams, values)
    contributions, means = local.contributions(evidence), local.mean(evidence)
    keep = 1 - settings.decay
    for row in range(n):
        for i in range(p):
            ages = [steps - 1 - t for t in range(steps) if i in streams[t, row]]
            seen = [float(values[t, row][streams[t, row] == i][0]) for t in range(steps)
                    if i in streams[t, row]]  # fmt: skip
            total = sum(keep**age * x for age, x in zip(ages, seen, strict=True))
            power = 2 if settings.form == "normalised" else 1
            weight = sum(keep ** (power * age) for age in ages)
            expected = total**2 / variances[i] / weight if ages else 0.0
            assert contributions[row, i] == pytest.approx(expected, rel=1e-6)
            average = total / sum(keep**age for age in ages) if ages else 0.0
            assert means[row, i] == pytest.approx(average, rel=1e-6)


@pytest.mark.parametrize("settings", [NORMALISED, RAW])
def test_the_short_cut_for_independent_streams_changes_nothing(settings: StatisticSettings) -> None:
    p, m = 6, 3
    covariance = np.diag([1.0, 0.25, 4.0, 2.0, 0.5, 1.0])
    barely_dependent = covariance.copy()
    barely_dependent[0, 1] = barely_dependent[1, 0] = 1e-300
    streams, values, _ = some_readings(5, p, m, 10, 6)
    short, long = LocalStatistic(covariance, settings), LocalStatistic(barely_dependent, settings)
    assert short.independent
    assert not long.independent
    fast, dense = run(short, streams, values), run(long, streams, values)
    assert fast.j.shape == (5, p)
    assert dense.j.shape == (5, p, p)
    np.testing.assert_allclose(short.contributions(fast), long.contributions(dense), rtol=1e-9)
    np.testing.assert_allclose(short.mean(fast), long.mean(dense), rtol=1e-9)


# --- published form --------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 2, 7, 60])
def test_with_all_streams_read_it_is_the_mewma(steps: int) -> None:
    """T^2 of Lowry, Woodall, Champ and Rigdon (1992), with the exact covariance of z_n."""
    p, n, lam = 4, 3, 0.1
    covariance = a_covariance(p, 1)
    values = np.random.default_rng(2).standard_normal((steps, n, p)) + 0.3
    local = LocalStatistic(covariance, NORMALISED)
    everything = np.tile(np.arange(p), (steps, n, 1))
    total = local.contributions(run(local, everything, values)).sum(axis=1)
    for row in range(n):
        z = np.zeros(p)
        for t in range(steps):
            z = lam * values[t, row] + (1 - lam) * z
        spread = lam / (2 - lam) * (1 - (1 - lam) ** (2 * steps)) * covariance
        assert total[row] == pytest.approx(z @ np.linalg.inv(spread) @ z, rel=1e-7)


# --- null law --------------------------------------------------------------------------


def in_control_statistic(
    covariance: np.ndarray, m: int, n: int, steps: int, settings: StatisticSettings, seed: int
) -> np.ndarray:
    """Summed over all streams after random sensors have read in-control values."""
    p = len(covariance)
    rng = np.random.default_rng(seed)
    factor = np.linalg.cholesky(covariance)
    local = LocalStatistic(covariance, settings)
    evidence = local.start(n)
    for _ in range(steps):
        streams = np.argsort(rng.random((n, p)), axis=1)[:, :m]
        values = rng.standard_normal((n, p)) @ factor.T
        evidence = local.update(evidence, streams, np.take_along_axis(values, streams, axis=1))
    return np.asarray(local.contributions(evidence).sum(axis=1))


def test_normalised_null_law_is_chi_square() -> None:
    """Correlated streams, half of them read at random, each row its own sensors.

    20,000 replications; mean, variance and three tails within 4 standard errors, a false
    failure in 1 of 3,000 seeds together; Kolmogorov-Smirnov refused below 1 in 10,000.
    A stream is missed throughout by fewer than 1 row in 10^9.
    """
    p, n = 6, 20_000
    found = in_control_statistic(a_covariance(p, 3), 3, n, 35, NORMALISED, 4)
    assert found.mean() == pytest.approx(p, abs=4 * np.sqrt(2 * p / n))
    assert found.var() == pytest.approx(2 * p, abs=4 * np.sqrt((8 * p**2 + 48 * p) / n))
    for level in (0.1, 0.05, 0.01):
        share = (found > chi2.ppf(1 - level, p)).mean()
        assert share == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / n))
    assert kstest(found, chi2(p).cdf).pvalue > 1e-4


def test_normalised_null_law_counts_the_observed_directions_only() -> None:
    """One reading of 2 among 6 streams: 2 degrees of freedom. Refused below 1 in 10,000."""
    found = in_control_statistic(a_covariance(6, 3), 2, 5000, 1, NORMALISED, 5)
    assert kstest(found, chi2(2).cdf).pvalue > 1e-4


@pytest.mark.parametrize("dense", [True, False])
def test_raw_null_law_is_a_shrunken_chi_square(dense: bool) -> None:
    """All streams read until the law is stationary: chi-square over 2 - lambda.

    Kolmogorov-Smirnov on 10,000 replications, refused below 1 in 10,000. It tells the law
    from the plain chi-square, whose scale differs by 1.9.
    """
    p = 3
    covariance = a_covariance(p, 2) if dense else np.diag([1.0, 2.0, 0.5])
    found = in_control_statistic(covariance, p, 10_000, 90, RAW, 6)
    assert kstest(found * (2 - RAW.decay), chi2(p).cdf).pvalue > 1e-4
    assert kstest(found, chi2(p).cdf).pvalue < 1e-9


# --- properties ------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [NORMALISED, RAW])
@pytest.mark.parametrize("dense", [True, False])
def test_a_stream_never_read_contributes_nothing(settings: StatisticSettings, dense: bool) -> None:
    p, unread = 5, 3
    covariance = a_covariance(p, 1) if dense else np.eye(p)
    streams, values, _ = some_readings(4, p - 1, 2, 10, 2)
    streams[streams == unread] = p - 1
    local = LocalStatistic(covariance, settings)
    evidence = run(local, streams, values)
    assert (local.contributions(evidence)[:, unread] == 0.0).all()
    assert (local.mean(evidence)[:, unread] == 0.0).all()
    assert (local.contributions(local.start(2)) == 0.0).all()


@given(
    seed=SEEDS,
    units=st.lists(st.floats(0.2, 5.0), min_size=5, max_size=5),
    form=st.sampled_from([NORMALISED, RAW]),
)
def test_units_of_measurement_do_not_matter(
    seed: int, units: list[float], form: StatisticSettings
) -> None:
    """Contributions stay, means change with the unit, when streams are measured otherwise."""
    scale = np.array(units)
    covariance = a_covariance(5, seed % 1000)
    streams, values, _ = some_readings(2, 5, 2, 14, seed)
    streams[-5:] = (np.arange(5)[:, None, None] + np.arange(2)) % 5
    local = LocalStatistic(covariance, form)
    other = LocalStatistic(covariance * np.outer(scale, scale), form)
    here, there = run(local, streams, values), run(other, streams, values * scale[streams])
    np.testing.assert_allclose(
        other.contributions(there), local.contributions(here), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(other.mean(there), local.mean(here) * scale, rtol=1e-4, atol=1e-5)


@given(seed=SEEDS, form=st.sampled_from([NORMALISED, RAW]))
def test_the_order_of_streams_and_of_sensors_does_not_matter(
    seed: int, form: StatisticSettings
) -> None:
    covariance = a_covariance(5, seed % 1000)
    streams, values, rng = some_readings(2, 5, 3, 10, seed)
    renamed = rng.permutation(5)
    local = LocalStatistic(covariance, form)
    other = LocalStatistic(covariance[np.ix_(np.argsort(renamed), np.argsort(renamed))], form)
    expected = local.contributions(run(local, streams, values))
    swapped = run(other, renamed[streams][:, :, ::-1], values[:, :, ::-1])
    np.testing.assert_allclose(
        other.contributions(swapped)[:, renamed], expected, rtol=1e-5, atol=1e-6
    )


def test_rows_are_taken_and_the_past_is_left_alone() -> None:
    streams, values, _ = some_readings(4, 5, 2, 6, 1)
    local = LocalStatistic(a_covariance(5, 1), NORMALISED)
    evidence = run(local, streams, values)
    kept = evidence.h.copy()
    rows = np.array([2, 2, 0])
    taken = local.contributions(evidence.take(rows))
    np.testing.assert_allclose(taken, local.contributions(evidence)[rows], rtol=1e-12)
    local.update(evidence, streams[0], values[0])
    assert np.array_equal(evidence.h, kept)


# --- linear algebra --------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 3, 40])
def test_positive_definite_systems_are_solved_and_left_as_they_were(p: int) -> None:
    """As numpy's general routines would, on either side of the size from which it matters."""
    matrices = np.stack([a_covariance(p, seed) for seed in range(4)])
    h = np.random.default_rng(p).standard_normal((4, p))
    kept, kept_h = matrices.copy(), h.copy()
    inverses = np.linalg.inv(matrices + 0.5 * np.eye(p))
    expected = (inverses @ h[:, :, None])[:, :, 0]
    close = {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(solve_positive(matrices, 0.5, h), expected, **close)
    solution, diagonal = posterior(matrices, 0.5, h)
    np.testing.assert_allclose(solution, expected, **close)
    np.testing.assert_allclose(diagonal, np.diagonal(inverses, axis1=1, axis2=2), **close)
    np.testing.assert_allclose(inverse_positive(matrices), np.linalg.inv(matrices), **close)
    assert np.array_equal(matrices, kept)
    assert np.array_equal(h, kept_h)


def test_an_indefinite_system_is_refused() -> None:
    matrices = np.diag([1.0, -1.0] * 10)[None]
    for attempt in (
        lambda: solve_positive(matrices, 0.0, np.ones((1, 20))),
        lambda: posterior(matrices, 0.0, np.ones((1, 20))),
        lambda: inverse_positive(matrices),
    ):
        with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
            attempt()


@pytest.mark.parametrize("dense", [True, False])
def test_without_the_mean_the_contributions_are_the_same(dense: bool) -> None:
    covariance = a_covariance(5, 1) if dense else np.diag([1.0, 2.0, 0.5, 1.0, 3.0])
    streams, values, _ = some_readings(4, 5, 2, 8, 3)
    with_mean = LocalStatistic(covariance, NORMALISED)
    without = LocalStatistic(covariance, NORMALISED, with_mean=False)
    evidence, lighter = run(with_mean, streams, values), run(without, streams, values)
    assert np.array_equal(with_mean.contributions(evidence), without.contributions(lighter))
    assert lighter.take(np.array([1, 1])).j.size == 0
    with pytest.raises(ValueError, match="without the mean"):
        without.mean(lighter)


def test_evidence_of_other_streams_is_put_in_its_place() -> None:
    """Replications that have read different streams, together and each by itself."""
    covariance = a_covariance(8, 2)
    local = LocalStatistic(covariance, NORMALISED)
    rng = np.random.default_rng(0)
    left = np.tile([[4, 1], [6, 4]], (3, 1, 1)).transpose(1, 0, 2)
    right = np.tile([[7, 0], [2, 7], [7, 5]], (2, 1, 1)).transpose(1, 0, 2)
    one = run(local, left, rng.standard_normal(left.shape))
    other = run(local, right, rng.standard_normal(right.shape))
    mixed = one.put(np.array([2, 0]), other)
    assert one.known.tolist() == [1, 4, 6]
    assert mixed.known.tolist() == [0, 1, 2, 4, 5, 6, 7]
    for read in (local.contributions, local.mean):
        np.testing.assert_allclose(read(mixed)[[2, 0]], read(other), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(read(mixed)[1], read(one)[1], rtol=1e-9, atol=1e-12)
    begun = one.put(np.array([1]), local.start(1))
    assert not local.contributions(begun)[1].any()
    np.testing.assert_array_equal(local.contributions(begun)[0], local.contributions(one)[0])
    again = local.update(begun, np.array([[4, 1], [3, 0], [6, 4]]), np.ones((3, 2)))
    alone = local.update(local.start(1), np.array([[3, 0]]), np.ones((1, 2)))
    np.testing.assert_allclose(
        local.contributions(again)[1], local.contributions(alone)[0], rtol=1e-9, atol=1e-12
    )
