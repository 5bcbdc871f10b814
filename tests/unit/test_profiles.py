"""Phase I of profiles: their components and scores are those that are known."""

import numpy as np
import pytest
from made import a_covariance

from causaldq.errors import DataError
from causaldq.methods.profiles import PhaseOne, components, quadrature

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
