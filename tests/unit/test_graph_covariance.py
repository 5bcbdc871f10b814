"""The covariance of a sparse graph: what its matrix gives, row by row too, and what rows tell."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from causaldq import FactorCovariance, GraphCovariance, Monitor, Problem, simulate
from causaldq.covariance import DENSE_MOST, correlation_of, ridged
from causaldq.errors import ConfigError
from causaldq.methods import information
from causaldq.methods.information import picked_in_order
from causaldq.methods.registry import named_method
from causaldq.models import graph_covariance
from causaldq.models.factors import fit_factors
from causaldq.models.graphs import (
    _correlates,
    _forward,
    chosen_parents,
    chosen_structure,
    fit_graph,
)
from causaldq.models.rows import fit_scale
from causaldq.run import step
from causaldq.types import Floats

RNG = np.random.default_rng
CHAIN = DENSE_MOST + 100


def some_graph(p: int, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Edges, weights and own variances; what begins at a stream reaches others undiminished."""
    rng = RNG(seed)
    order = rng.permutation(p)
    edges = [(order[j], order[i]) for i in range(p) for j in range(i) if rng.random() < 3 / p]
    return np.array(edges), rng.uniform(0.6, 1.2, len(edges)), rng.uniform(0.5, 2.0, p)


def matrix_of(edges: Floats, weights: Floats, own: Floats) -> Floats:
    """By the inverse of I - B."""
    slopes = np.zeros((len(own), len(own)))
    slopes[edges[:, 1], edges[:, 0]] = weights
    total = np.linalg.inv(np.eye(len(own)) - slopes)
    return np.asarray((total * own) @ total.T)


def chain() -> GraphCovariance:
    """Variances one, correlations 0.5 to the power of the distance; too many for a matrix."""
    places = np.arange(CHAIN)
    own = np.where(places, 0.75, 1.0)
    return GraphCovariance.of_graph(
        np.stack([places[:-1], places[1:]], axis=1), np.full(CHAIN - 1, 0.5), own
    )


@pytest.mark.parametrize("most", [DENSE_MOST, 10])
def test_every_operation_is_that_of_the_matrix(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a matrix, and as what is never made one."""
    graph, p = some_graph(25), 25
    structure, matrix = GraphCovariance.of_graph(*graph), matrix_of(*graph)
    assert np.allclose(structure.dense, matrix)
    assert np.allclose(np.asarray(ridged(structure, 0.1)), ridged(matrix, 0.1))
    deviation = np.sqrt(np.diag(matrix))
    scaled = correlation_of(structure, deviation)
    assert np.allclose(np.asarray(scaled), correlation_of(matrix, deviation))
    again = GraphCovariance(**structure.parts())
    assert np.array_equal(again.dense, structure.dense)
    monkeypatch.setattr(graph_covariance, "DENSE_MOST", most)
    structure, matrix = structure.ridged(0.05), np.asarray(ridged(matrix, 0.05))
    streams = np.array([RNG(i).permutation(p)[:4] for i in range(3)])
    values = RNG(9).standard_normal((3, 4))
    assert np.allclose(structure.variance, np.diag(matrix))
    assert np.allclose(structure.blocks(streams), matrix[streams[:, :, None], streams[:, None]])
    mean, variance = structure.given(streams, values)
    for row, read in enumerate(streams):
        weights = np.linalg.solve(matrix[np.ix_(read, read)], matrix[read])
        assert np.allclose(mean[row], values[row] @ weights)
        assert np.allclose(variance[row], np.diag(matrix - matrix[:, read] @ weights))


def test_draws_are_of_the_normal_law() -> None:
    structure = GraphCovariance.of_graph(*some_graph(12, 1)).ridged(0.3)
    drawn = structure.draw((4, 5000), RNG(1)).reshape(-1, 12)
    error = 5 * structure.variance.max() / np.sqrt(len(drawn))
    assert np.abs(drawn.T @ drawn / len(drawn) - structure.dense).max() < error


def test_impossible_graphs_and_parts_are_refused() -> None:
    with pytest.raises(ConfigError, match="cycle"):
        GraphCovariance.of_graph([[0, 1], [1, 2], [2, 0]], np.ones(3), np.ones(3))
    with pytest.raises(ConfigError, match="positive variance of its own"):
        GraphCovariance.of_graph([[0, 1]], [1.0], [1.0, 0.0])
    parts = GraphCovariance.of_graph([[0, 1]], [1.0], [1.0, 1.0]).parts()
    with pytest.raises(ConfigError, match="give shapes"):
        GraphCovariance(**{**parts, "own": np.ones(3)})
    with pytest.raises(ConfigError, match="finite"):
        GraphCovariance(**{**parts, "reach": parts["reach"] * np.nan})


def test_independent_streams_are_known_as_such() -> None:
    assert GraphCovariance.of_graph(np.empty((0, 2)), [], np.ones(4)).is_diagonal
    assert not GraphCovariance.of_graph([[0, 1]], [0.5], np.ones(4)).is_diagonal


def test_what_dies_out_along_a_path_is_dropped() -> None:
    structure = chain()
    assert len(structure.reach) < 12 * CHAIN
    middle, places = CHAIN // 2, np.arange(CHAIN)
    expected = 0.5 ** np.abs(places - middle)
    assert np.abs(structure.rows_of(np.array([middle]))[0] - expected).max() < 2e-3
    with pytest.raises(ConfigError, match="at most 2,000"):
        np.asarray(structure)
    with pytest.raises(ConfigError, match="at most 2,000"):
        structure[0]


@pytest.mark.parametrize(("n", "m"), [(1, 8), (1, 20), (3, 20)])
def test_sensors_are_those_of_plain_greedy(n: int, m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    structure = GraphCovariance.of_graph(*some_graph(40, 2))
    weights, matrix = RNG(n).random((n, 40)), structure.dense.copy()
    fresh = GraphCovariance(**structure.parts())
    monkeypatch.setattr(graph_covariance, "DENSE_MOST", 10)
    monkeypatch.setattr(information, "FEW", 10)
    assert np.array_equal(picked_in_order(fresh, weights, m), picked_in_order(matrix, weights, m))


def test_methods_watch_many_streams_without_a_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GraphCovariance, "_matrix", None)
    structure, rng = chain(), RNG(0)
    for name in ("bayes_posterior", "cds", "greedy"):
        method = named_method(name)(Problem(structure, 20))
        state = method.start(2, None, rng)
        for row in structure.draw((2, 2), rng):
            state, streams, statistic = step(method, state, row, rng)
        assert streams.shape == (2, 20)
        assert np.isfinite(statistic).all()
    with pytest.raises(ConfigError, match="at most 2,000"):
        named_method("asmp")(Problem(structure, 20))


# --- fits --------------------------------------------------------------------------------------


def divergence(truth: Floats, found: Floats) -> float:
    """Of the normal law found from the true one."""
    product = np.linalg.solve(found, truth)
    return float(np.trace(product) - len(truth) - np.linalg.slogdet(product)[1]) / 2


def standardised(rows: Floats) -> Floats:
    return fit_scale(rows, [str(i) for i in range(rows.shape[1])]).apply(rows)


def test_streams_of_a_graph_are_told_by_it() -> None:
    streams = simulate(150, degree=3, rows=1000, seed=5)
    rows, truth = standardised(streams.rows), np.asarray(streams.covariance)
    choice = chosen_structure(rows)
    found: Any = choice(rows).matrix
    assert isinstance(found, GraphCovariance)
    assert np.allclose(found.variance, 1.0)
    common = np.asarray(fit_factors(rows).matrix)
    sample = np.corrcoef(rows, rowvar=False)
    left = divergence(truth, found.dense)
    assert left < divergence(truth, common) / 3
    assert left < divergence(truth, sample)


def test_streams_of_factors_are_told_by_factors() -> None:
    loadings = 0.7 * RNG(3).choice([-1.0, 1.0], (60, 2)) * np.sqrt(0.5)
    own = 1.0 - (loadings**2).sum(axis=1)
    rows = standardised(FactorCovariance(loadings, own).draw((800,), RNG(4)))
    assert isinstance(chosen_structure(rows)(rows).matrix, FactorCovariance)


def test_independent_streams_follow_from_none() -> None:
    rows = standardised(RNG(6).standard_normal((600, 80)))
    assert (chosen_parents(rows) >= 0).sum() <= 2
    assert np.abs(np.asarray(fit_graph(rows).matrix) - np.eye(80)).mean() < 1e-3


def test_a_monitor_of_a_graph_is_kept_whole(tmp_path: Any) -> None:
    streams = simulate(20, degree=2, rows=300, seed=6)
    monitor = Monitor.fit(streams.rows, 4, arl0=30, covariance="graph", paths=10, progress=False)
    assert "covariance: graph" in monitor.summary()
    fresh = streams.in_control(1, 20, RNG(6))[0]
    for row in fresh[:10]:
        monitor.update(dict(zip(monitor.names, row, strict=True)))
    monitor.save(tmp_path / "it.monitor")
    again = Monitor.load(tmp_path / "it.monitor")
    assert again.identity == monitor.identity
    for row in fresh[10:]:
        values = dict(zip(monitor.names, row, strict=True))
        assert again.update(values).statistic == monitor.update(values).statistic


def test_a_fit_to_many_streams_tells_a_chain_by_a_graph() -> None:
    rows = chain().draw((200,), RNG(8))
    monitor = Monitor.fit(rows, 5, arl0=10, paths=5, progress=False)
    found = monitor.method.problem.covariance
    assert isinstance(found, GraphCovariance)
    near = found.rows_of(np.arange(100))[np.arange(99), np.arange(1, 100)]
    assert abs(near.mean() - 0.5) < 0.05


def test_few_streams_are_all_tried_on_each_other() -> None:
    rows = standardised(RNG(9).standard_normal((200, 4)))
    near, size = _correlates(rows, np.arange(4))
    for i in range(4):
        assert sorted(near[i]) == [j for j in range(4) if j != i]
        for j, found in zip(near[i], size[i], strict=True):
            assert found == pytest.approx(abs(np.mean(rows[:, i] * rows[:, j])), abs=1e-5)


def test_effects_are_small_beside_the_stream_they_act_on() -> None:
    """An effect of a stream on itself, and those of others in the units of both streams."""
    deviation = np.array([1.0, 100.0, 100.0])
    effects = csr_array([[1.0, 0.5e-5, 2e-5], [0.05, 1.0, 2e-3], [0.2, 0.5e-3, 1.0]])
    kept = graph_covariance._without_small(effects, deviation).toarray() != 0
    assert kept.tolist() == [[True, False, True], [False, True, True], [True, False, True]]


def test_what_is_left_below_the_least_variance_is_not_explained_further() -> None:
    """y = x + .0001 z: with x in, z would explain a hundred-millionth of y, and all that is left.

    Of twice the variance that z needs to count, it does.
    """
    for effect, expected in ((1e-4, [True, False]), (1e-2, [True, True])):
        products = np.array([[1, 0, 1], [0, 1, effect], [1, effect, 1 + effect**2]])
        allowed = np.ones((1, 2), dtype=bool)
        taken, _, _ = _forward(products[None], allowed, penalty=20.0, n=1000)
        assert taken[0].tolist() == expected
