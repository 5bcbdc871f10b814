"""Scales, covariances and bootstrap paths, against what is known of made-up streams."""

import importlib.metadata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

from causaldq.errors import DataError
from causaldq.models.rows import (
    block_bootstrap,
    block_indices,
    block_length,
    estimate_covariance,
    fit_scale,
    ledoit_wolf,
    memory,
    resample,
    varying,
)
from causaldq.pipeline.sources.tep import in_control_rows, read_classic


def autoregression(phi: list[float], n: int, seed: int) -> np.ndarray:
    """(n, p), independent first-order autoregressions of unit variance."""
    shocks = np.random.default_rng(seed).standard_normal((n + 500, len(phi)))
    columns = [
        lfilter([np.sqrt(1 - value**2)], [1, -value], shocks[:, i]) for i, value in enumerate(phi)
    ]
    return np.stack(columns, axis=1)[500:]


# --- scale -------------------------------------------------------------------------------------


def test_the_scale_makes_in_control_rows_standard() -> None:
    rows = np.random.default_rng(1).normal([3, -1e6, 1e-9], [2, 10, 1e-10], size=(200, 3))
    scale = fit_scale(rows, ["a", "b", "c"])
    z = scale.apply(rows)
    np.testing.assert_allclose(z.mean(0), 0, atol=1e-9)
    np.testing.assert_allclose(z.std(0, ddof=1), 1)
    # Other rows are measured by the same yardstick, whatever their shape.
    shifted = scale.apply(np.broadcast_to(scale.mean + 2 * scale.sd, (4, 5, 3)))
    np.testing.assert_allclose(shifted, 2)


def test_streams_without_a_scale() -> None:
    rows = np.array([[1.0, 5, 0], [2, 5, 0], [3, 5, 0]])
    assert varying(rows).tolist() == [True, False, False]
    with pytest.raises(DataError, match="b does not vary in the 3 in-control rows"):
        fit_scale(rows, ["a", "b", "c"])
    with pytest.raises(DataError, match="1 in-control rows are too few"):
        fit_scale(rows[:1], ["a", "b", "c"])


# --- covariance --------------------------------------------------------------------------------


def test_many_rows_keep_the_sample_correlation() -> None:
    rng = np.random.default_rng(2)
    rows = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=20)
    found = estimate_covariance(rows)
    assert (found.estimator, found.shrinkage) == ("sample", 0.0)
    by_hand = (rows - rows.mean(0)) / rows.std(0)
    np.testing.assert_allclose(found.matrix, by_hand.T @ by_hand / 20)


def test_few_rows_shrink_it_and_it_is_nearer_the_truth() -> None:
    """30 streams, 40 rows: the sample's inverse is useless, the shrunken one is not."""
    p = 30
    truth = 0.5 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    rng = np.random.default_rng(3)
    rows = rng.multivariate_normal(np.zeros(p), truth, size=40)
    rows = (rows - rows.mean(0)) / rows.std(0, ddof=1)
    found = estimate_covariance(rows)
    assert found.estimator == "ledoit_wolf"
    assert 0 < found.shrinkage < 1
    np.testing.assert_allclose(np.diag(found.matrix), 1)
    # Ledoit and Wolf (2004), Lemma 3.2 to 3.4, written out.
    n, sample = 40, rows.T @ rows / 40
    mu = np.trace(sample) / p
    distance = ((sample - mu * np.eye(p)) ** 2).sum()
    error = sum(((np.outer(row, row) - sample) ** 2).sum() for row in rows) / n**2
    assert found.shrinkage == pytest.approx(min(error / distance, 1))
    sample_correlation = np.corrcoef(rows, rowvar=False)
    np.testing.assert_allclose(
        found.matrix[0, 1] / sample_correlation[0, 1], 1 - found.shrinkage, rtol=0.02
    )

    def loss(matrix: np.ndarray) -> float:
        return float(np.linalg.norm(np.linalg.inv(matrix) - np.linalg.inv(truth)))

    assert loss(found.matrix) < 0.2 * loss(sample_correlation)


@pytest.mark.parametrize(("rows", "expected"), [(49, "ledoit_wolf"), (50, "sample")])
def test_where_the_estimators_meet(rows: int, expected: str) -> None:
    values = np.random.default_rng(4).standard_normal((rows, 5))
    assert estimate_covariance(values).estimator == expected


# --- more rows ---------------------------------------------------------------------------------


@given(
    rows=st.integers(1, 30),
    n=st.integers(1, 5),
    steps=st.integers(1, 40),
    share=st.floats(0, 1),
    seed=st.integers(0, 99),
)
def test_blocks_are_runs_of_consecutive_rows(
    rows: int, n: int, steps: int, share: float, seed: int
) -> None:
    block = 1 + int(share * (rows - 1))
    indices = block_indices(rows, n, steps, block, np.random.default_rng(seed))
    assert indices.shape == (n, steps)
    for path in indices:
        for step in range(1, steps):
            if step % block:
                assert path[step] == (path[step - 1] + 1) % rows
        assert all(0 <= index < rows for index in path)


def test_every_row_is_as_likely_at_every_step() -> None:
    indices = block_indices(10, 40_000, 7, 4, np.random.default_rng(1))
    for step in range(7):
        counts = np.bincount(indices[:, step], minlength=10)
        assert np.abs(counts / 4000 - 1).max() < 0.08


@pytest.mark.parametrize("block", [0, 11])
def test_blocks_longer_than_the_rows_are_refused(block: int) -> None:
    with pytest.raises(DataError, match="give 1 to 10"):
        block_indices(10, 1, 5, block, np.random.default_rng(1))


def test_blocks_keep_autocorrelation_and_single_rows_lose_it() -> None:
    rows = autoregression([0.9, 0.0], 4000, 5)
    rng = np.random.default_rng(6)
    own = (rows[1:] * rows[:-1]).mean(0) / (rows**2).mean(0)

    def lag_one(paths: np.ndarray) -> np.ndarray:
        return np.asarray((paths[:, 1:] * paths[:, :-1]).mean((0, 1)) / (paths**2).mean((0, 1)))

    paths = block_bootstrap(rows, 300, 200, 40, rng)
    assert paths.shape == (300, 200, 2)
    # One pair in forty straddles a seam and has no correlation.
    assert lag_one(paths)[0] == pytest.approx(own[0] * (1 - 1 / 40), abs=0.01)
    assert abs(lag_one(paths)[1]) < 0.03
    assert np.abs(lag_one(resample(rows, 300, 200, rng))).max() < 0.02
    np.testing.assert_allclose(paths.mean((0, 1)), rows.mean(0), atol=0.05)
    np.testing.assert_allclose(np.cov(paths.reshape(-1, 2).T), np.cov(rows.T), atol=0.05)


def test_streams_stay_together() -> None:
    rows = np.arange(12.0).reshape(6, 2)
    rng = np.random.default_rng(7)
    for paths in (resample(rows, 5, 9, rng), block_bootstrap(rows, 5, 9, 2, rng)):
        np.testing.assert_array_equal(paths[..., 1], paths[..., 0] + 1)


def test_memory_is_that_of_the_process() -> None:
    """An autoregression has 1 + 2 (|phi| + |phi|^2 + ...) = (1 + |phi|) / (1 - |phi|)."""
    phi = [0.0, 0.5, 0.8, -0.5]
    found = memory(autoregression(phi, 200_000, 8))
    np.testing.assert_allclose(found, [(1 + abs(v)) / (1 - abs(v)) for v in phi], rtol=0.03)


def test_memory_by_hand() -> None:
    """1, -1, 1, ...: |rho_k| = 1 - k/20, which is noise, below 2/sqrt(20) = .447, from lag 12."""
    rows = np.tile([[1.0], [-1.0]], (10, 1))
    assert memory(rows)[0] == pytest.approx(1 + 2 * sum(1 - lag / 20 for lag in range(1, 12)))


def test_blocks_are_as_long_as_memory_asks_for_and_not_longer_than_a_tenth() -> None:
    assert block_length(autoregression([0.5, 0.8], 20_000, 9)) == pytest.approx(3 * 9, abs=4)
    assert block_length(autoregression([0.99], 200, 10)) == 20
    assert block_length(autoregression([-0.5], 20_000, 11)) == pytest.approx(3 * 3, abs=1)
    assert block_length(autoregression([0.0], 2000, 12)) <= 4
    assert block_length(np.array([[1.0], [2.0], [4.0]])) == 1


def test_blocks_for_the_tennessee_eastman_process() -> None:
    try:
        package = importlib.metadata.distribution("bibmon")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("bibmon, which carries the classic files, is not installed")
    path = Path(str(package.locate_file("bibmon/tennessee_eastman/d00.dat")))
    rows = in_control_rows(read_classic({"d00.dat": path}), "train")
    scale = fit_scale(rows, [str(i) for i in range(50)])
    z = scale.apply(rows)
    assert block_length(z) == 50
    assert estimate_covariance(z).estimator == "sample"
    # The faulty runs leave the in-control scale; the in-control test run does not.
    paths = block_bootstrap(z, 50, 100, block_length(z), np.random.default_rng(1))
    assert abs(paths.mean()) < 0.05


def test_a_shrunk_covariance_does_not_depend_on_the_origin() -> None:
    rows = np.random.default_rng(5).standard_normal((40, 6))
    (there, much), (here, as_much) = ledoit_wolf(rows + np.arange(6)), ledoit_wolf(rows)
    np.testing.assert_allclose(there, here, atol=1e-10)
    assert much == pytest.approx(as_much)
