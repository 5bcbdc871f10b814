"""Rows of streams with memory give the factors and own dynamics behind them."""

import numpy as np

from causaldq.models.factor_dynamics import FactorDynamics
from causaldq.models.factors import fit_factors
from causaldq.models.fit_dynamics import fit_factor_dynamics
from causaldq.types import Floats

P, ROWS = 80, 2000


def rows_of(seed: int, steps: int = ROWS) -> tuple[FactorDynamics, Floats]:
    rng = np.random.default_rng(seed)
    loadings, shared = rng.normal(size=(P, 2)), rng.uniform(0.3, 0.6, P)
    loadings *= np.sqrt(shared / (loadings**2).sum(axis=1))[:, None]
    a, noise = rng.choice([0.0, 0.5, 0.9], P), rng.uniform(0.1, 0.4, P) * (1 - shared)
    truth = FactorDynamics.of(loadings, [0.95, 0.4], a, noise)
    return truth, truth.simulate(1, steps, rng)[0]


def test_it_recovers_the_parameters() -> None:
    truth, rows = rows_of(0)
    found = fit_factor_dynamics(rows)
    assert found.factors == 2
    np.testing.assert_allclose(found.b, truth.b, atol=0.05)
    for memory in (0.5, 0.9):
        assert abs(np.median(found.a[truth.a == memory]) - memory) < 0.06
    flat = truth.a == 0.0
    assert np.median(found.own[flat] * np.abs(found.a[flat])) < 0.02
    agree = np.abs(np.sum(found.loadings * truth.loadings, axis=0))
    lengths = np.linalg.norm(found.loadings, axis=0) * np.linalg.norm(truth.loadings, axis=0)
    assert (agree / lengths > 0.97).all()
    assert found.excess.max() < 2.0
    assert found.gap_factors.shape == (P, 32)


def test_memory_makes_later_rows_likelier_than_the_same_structure_without() -> None:
    _, rows = rows_of(1)
    first, later = rows[:1500], rows[1500:]
    found = fit_factor_dynamics(first, check=False)
    with_memory = found.innovations(later).log_likelihood
    without = fit_factors(first).matrix.log_likelihood(later)  # type: ignore[union-attr]
    batches = np.array([part.mean() for part in np.array_split(with_memory - without, 10)])
    assert batches.mean() > 4 * batches.std(ddof=1) / np.sqrt(10)


def test_rows_without_memory_are_found_to_have_none() -> None:
    rows = np.random.default_rng(2).normal(size=(1000, P))
    found = fit_factor_dynamics(rows, check=False)
    assert found.factors == 0
    assert np.mean(found.a == 0.0) > 0.8
