"""The filter on factors and own dynamics against the one on a matrix; monitors of many streams."""

from pathlib import Path

import numpy as np
import pytest

from causaldq.errors import DataError
from causaldq.many_streams import FactorFilter, LargeMonitor
from causaldq.methods.base import Problem
from causaldq.methods.innovation_filter import InnovationFilter
from causaldq.models.factor_dynamics import FactorDynamics
from causaldq.models.state_space import StateSpace

STEPS, P, M, MEMORY = 40, 20, 5, 0.8


def a_plant(p: int = P, spare: int = 2 * STEPS) -> FactorDynamics:
    rng = np.random.default_rng(1)
    loadings, shared = rng.normal(size=(p, 2)), rng.uniform(0.2, 0.7, p)
    loadings *= np.sqrt(shared / (loadings**2).sum(axis=1))[:, None]
    noise = rng.uniform(0.1, 0.5, p) * (1 - shared)
    memory = np.full(p, MEMORY)
    return FactorDynamics.of(loadings, [MEMORY, MEMORY], memory, noise, rows=300, spare=spare)


def test_with_one_memory_for_all_sensors_and_statistics_are_those_of_the_matrix() -> None:
    plant = a_plant()
    q = (1 - MEMORY**2) * (plant.loadings @ plant.loadings.T + np.diag(plant.own))
    r, one = np.diag(plant.noise), np.ones(P)
    error = (q / (1 - MEMORY) ** 2 + r) / 300
    dense = StateSpace(plant.a, q, r, error, one, one, np.ones((P, 1)))
    ours = FactorFilter(Problem(plant.covariance, M), None, plant)
    theirs = InnovationFilter(Problem(dense.covariance, M, dynamics=dense))
    paths = plant.simulate(3, STEPS, np.random.default_rng(2))
    paths[:, STEPS // 2 :, 4] += 2.0
    rngs = np.random.default_rng(3), np.random.default_rng(3)
    a, b = ours.start(3, None, rngs[0]), theirs.start(3, None, rngs[1])
    for row in paths.swapaxes(0, 1):
        streams, others = ours.choose(a, rngs[0]), theirs.choose(b, rngs[1])
        assert (streams == others).all()
        values = np.take_along_axis(row, streams, axis=1)
        a = ours.observe(a, streams, values, rngs[0])
        b = theirs.observe(b, streams, values, rngs[1])
        np.testing.assert_allclose(ours.statistic(a), theirs.statistic(b), atol=1e-8)
        np.testing.assert_allclose(ours.kinds(a), theirs.kinds(b), atol=1e-8)
        np.testing.assert_allclose(ours.worth(a), theirs.worth(b), atol=1e-8)


def test_more_streams_than_a_matrix_allows_are_watched_and_kept_in_a_file(tmp_path: Path) -> None:
    plant = a_plant(2200, spare=8)
    rows = plant.simulate(1, 400, np.random.default_rng(4))[0]
    monitor = LargeMonitor.fit(
        rows[:300], sensors=60, arl0=100, names=[f"s{i}" for i in range(2200)]
    )
    assert "few common factors" in monitor.summary()
    for row in rows[300:305]:
        monitor.update(dict(zip(monitor.names, row, strict=True)))
    monitor.save(tmp_path / "one.monitor")
    again = LargeMonitor.load(tmp_path / "one.monitor")
    assert again.next == monitor.next
    for row in rows[305:310]:
        shown = dict(zip(monitor.names, row, strict=True))
        assert again.update(shown).statistic == monitor.update(shown).statistic


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(DataError, match="give at least 100"):
        LargeMonitor.fit(np.random.default_rng(0).normal(size=(50, 30)), 3)
