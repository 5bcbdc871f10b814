"""Structured covariances give what their matrices give, and never become one where p is large."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from causaldq import BlockCovariance, FactorCovariance, Monitor, Problem, method_names
from causaldq.covariance import DENSE_MOST, Structured, correlation_of, groups_of, ridged
from causaldq.errors import CausalDQError, ConfigError, DataError
from causaldq.methods import information
from causaldq.methods.cds import Cds
from causaldq.methods.registry import named_method
from causaldq.models.factors import chosen_factors, fit_factors, fit_groups
from causaldq.models.rows import estimate_covariance
from causaldq.models.streams import StreamModel
from causaldq.run import step
from causaldq.types import Floats

RNG = np.random.default_rng


def few_factors(p: int, r: int, seed: int = 0) -> FactorCovariance:
    """Variances are one."""
    loadings = RNG(seed).standard_normal((p, r))
    shared = RNG(seed + 1).uniform(0.1, 0.8, p)
    loadings *= np.sqrt(shared / (loadings**2).sum(axis=1))[:, None]
    return FactorCovariance(loadings, 1 - shared)


def groups(p: int, count: int, seed: int = 0) -> BlockCovariance:
    group = np.concatenate([np.arange(count), RNG(seed).integers(count, size=p - count)])
    size = int(np.bincount(group).max())
    mixing = RNG(seed).standard_normal((count, size, 2 * size))
    return BlockCovariance(group, mixing @ mixing.swapaxes(1, 2) / (2 * size))


STRUCTURES = [few_factors(12, 2), few_factors(30, 5, 3), groups(12, 4), groups(30, 12, 5)]


@pytest.mark.parametrize("structure", STRUCTURES)
def test_every_operation_is_that_of_the_matrix(structure: Structured) -> None:
    matrix, p = structure.dense, len(structure)
    streams = np.array([RNG(i).permutation(p)[:4] for i in range(3)])
    values = RNG(9).standard_normal((3, 4))
    assert np.allclose(structure.variance, np.diag(matrix))
    assert np.allclose(structure.blocks(streams), matrix[streams[:, :, None], streams[:, None]])
    assert np.allclose(np.asarray(ridged(structure, 0.1)), ridged(matrix, 0.1))
    deviation = np.sqrt(np.diag(matrix))
    scaled = correlation_of(structure, deviation)
    assert np.allclose(np.asarray(scaled), correlation_of(matrix, deviation))
    mean, variance = structure.given(streams, values)
    for row, read in enumerate(streams):
        weights = np.linalg.solve(matrix[np.ix_(read, read)], matrix[read])
        left = matrix - matrix[:, read] @ weights
        assert np.allclose(mean[row], values[row] @ weights)
        assert np.allclose(variance[row], np.diag(left))
    again = type(structure)(**structure.parts())
    assert np.array_equal(again.dense, matrix)


def test_draws_and_likelihood_are_those_of_the_normal_law() -> None:
    for structure in STRUCTURES[::2]:
        drawn = structure.draw((20_000,), RNG(1))
        error = 5 * np.abs(structure.dense).max() / np.sqrt(len(drawn))
        assert np.abs(drawn.T @ drawn / len(drawn) - structure.dense).max() < error
    rows = RNG(2).standard_normal((7, 12))
    one = few_factors(12, 2)
    squares = np.einsum("np,pq,nq->n", rows, np.linalg.inv(one.dense), rows)
    logs = np.linalg.slogdet(2 * np.pi * one.dense)[1]
    assert one.log_likelihood(rows) == pytest.approx(-(logs + squares.mean()) / 2)


def test_impossible_parts_are_refused() -> None:
    with pytest.raises(ConfigError, match="shapes"):
        FactorCovariance(np.ones((3, 1)), np.ones(2))
    with pytest.raises(ConfigError, match="positive"):
        FactorCovariance(np.ones((2, 1)), np.array([1.0, 0.0]))
    with pytest.raises(ConfigError, match="matrices"):
        BlockCovariance(np.array([0, 0, 1]), np.ones((2, 1, 1)))
    assert groups_of(np.eye(3, k=2)).tolist() == [0, 1, 0]


# --- sensors -----------------------------------------------------------------------------------


def brute_force(matrix: Floats, weights: Floats, chosen: list[int]) -> float:
    """sum_r w_r (S_Z^-1)_rr."""
    inverse = np.linalg.inv(matrix[np.ix_(chosen, chosen)])
    return float(weights[chosen] @ np.diag(inverse))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_short_cut_picks_what_plain_greedy_picks(structure: Structured) -> None:
    p = len(structure)
    weights = RNG(4).exponential(size=p)
    chosen: list[int] = []
    for _ in range(5):
        left = [i for i in range(p) if i not in chosen]
        chosen.append(max(left, key=lambda i: brute_force(structure.dense, weights, [*chosen, i])))
    found = information._by_structure(structure, weights[None], 5, np.ones((1, p)))
    assert found[0].tolist() == chosen


@pytest.mark.parametrize("m", [3, 12, 25])
@pytest.mark.parametrize("structure", [few_factors(60, 4), groups(60, 9)])
def test_the_short_cut_is_the_matrix_way_in_rounds_and_ties(structure: Structured, m: int) -> None:
    weights = np.stack([RNG(5).exponential(size=60), np.ones(60), np.arange(60) % 2.0])
    noise = 1.0 + information.TIE * RNG(6).random((3, 60))
    plain = information.picked_in_order(structure.dense, weights, m, noise=noise)
    assert np.array_equal(information._by_structure(structure, weights, m, noise), plain)
    alone = FactorCovariance(np.zeros((60, 1)), np.ones(60))  # all equal: the first ones
    none = np.ones((3, 60))
    assert information._by_structure(alone, none, m, none).tolist() == [list(range(m))] * 3


def test_what_a_set_tells_is_not_submodular() -> None:
    """So that gains of earlier rounds would be no bounds, and lazy greedy no greedy."""
    pair, weights = np.array([[1.0, 0.9], [0.9, 1.0]]), np.ones(2)
    alone = [brute_force(pair, weights, [i]) for i in (0, 1)]
    assert brute_force(pair, weights, [0, 1]) > sum(alone)
    three = few_factors(6, 1).dense
    gains = [
        brute_force(three, np.ones(6), [*z, 5]) - brute_force(three, np.ones(6), list(z))
        for z in combinations(range(5), 2)
    ]
    assert max(gains) > brute_force(three, np.ones(6), [5])


# --- methods -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", method_names())
def test_methods_say_the_same_with_either_form(name: str) -> None:
    structure, kind = few_factors(15, 2), named_method(name)
    values = structure.draw((6, 3), RNG(7))
    found: list[list[Any]] = []
    for covariance in (structure, structure.dense):
        chain = np.eye(15, k=1, dtype=bool)[None]
        method, rng = kind(Problem(covariance, 4, graphs=chain)), RNG(8)
        state, seen = method.start(3, None, rng), []
        for row in values:
            state, streams, statistic = step(method, state, row, rng)
            seen.append((streams.tolist(), statistic))
        found.append(seen)
    for (streams, statistic), (others, other) in zip(*found, strict=True):
        assert streams == others
        assert np.allclose(statistic, other)


MANY = DENSE_MOST + 100
WORK = (
    "bayes_posterior", "tssrp", "tssrp_cov", "tras", "cds", "eps_glr", "round_robin", "random",
    "greedy", "cmab",
)  # fmt: skip


@pytest.mark.parametrize("name", WORK)
def test_methods_for_many_streams_make_no_matrix(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FactorCovariance, "_matrix", None)
    structure = few_factors(MANY, 3)
    method, rng = named_method(name)(Problem(structure, 20)), RNG(0)
    state = method.start(2, None, rng)
    for row in structure.draw((3, 2), rng):
        state, streams, statistic = step(method, state, row, rng)
    assert streams.shape == (2, 20)
    assert np.isfinite(statistic).all()


@pytest.mark.parametrize("name", ["asmp", "causal_sr", "causal_sr_no_graph", "innovation_filter"])
def test_other_methods_say_what_to_do(name: str) -> None:
    with pytest.raises(ConfigError, match=r"covariance=\"factor\""):
        named_method(name)(Problem(few_factors(MANY, 1), 5))


def test_a_large_matrix_is_refused_before_it_is_copied() -> None:
    large = np.broadcast_to(1.0, (MANY, MANY))
    with pytest.raises(ConfigError, match="at most 2,000: give a FactorCovariance"):
        Problem(large, 5)


def test_cds_infers_as_it_does_from_the_matrix() -> None:
    structure = few_factors(9, 2)
    streams, scores = np.array([[1, 4, 7]]), np.array([[0.3, -1.2, 0.8]])
    either = [Cds(Problem(c, 3))._inferred(streams, scores) for c in (structure, structure.dense)]
    assert np.allclose(either[0], either[1], atol=1e-12)


# --- fits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "n"), [(40, 1500), (600, 400)])
def test_the_factors_of_rows_are_found(p: int, n: int) -> None:
    """More streams than rows, too, where noise has components of its own."""
    truth = few_factors(p, 3, 2)
    rows = truth.draw((n,), RNG(3))
    rows = (rows - rows.mean(0)) / rows.std(0)
    assert chosen_factors(rows) == 3
    found = fit_factors(rows, 3).matrix
    assert isinstance(found, FactorCovariance)
    off = ~np.eye(p, dtype=bool)
    error = np.abs(found.dense - truth.dense)[off].mean()
    sample = np.abs(np.corrcoef(rows.T) - truth.dense)[off].mean()
    assert error < sample
    assert np.allclose(found.variance, 1.0)
    fresh = truth.draw((300,), RNG(4))
    nothing = FactorCovariance(np.zeros((p, 1)), np.ones(p))
    best, worst = (one.log_likelihood(fresh) for one in (truth, nothing))
    assert found.log_likelihood(fresh) > best - 0.1 * (best - worst)


def test_independent_streams_have_no_factor() -> None:
    assert chosen_factors(RNG(1).standard_normal((600, 300))) == 0
    with pytest.raises(DataError, match="give 0 to 5"):
        fit_factors(RNG(1).standard_normal((600, 10)), 9)


def test_groups_are_estimated_as_if_there_were_no_others() -> None:
    rows = RNG(2).standard_normal((300, 7))
    found = fit_groups(rows, np.array([0, 1, 0, 1, 1, 2, 0])).matrix
    assert isinstance(found, BlockCovariance)
    expected = estimate_covariance(rows[:, [1, 3, 4]]).matrix
    assert np.allclose(found.matrix_of(1), np.asarray(expected))


def test_a_monitor_of_factors_is_kept_whole(tmp_path: Any) -> None:
    truth = few_factors(30, 2)
    rows = truth.draw((400,), RNG(5))
    monitor = Monitor.fit(rows, 5, arl0=40, covariance="factor", paths=20, progress=False)
    assert "factor, 2 in common" in monitor.summary()
    fresh = truth.draw((60,), RNG(6))
    for row in fresh[:30]:
        monitor.update(dict(zip(monitor.names, row, strict=True)))
    monitor.save(tmp_path / "it.monitor")
    again = Monitor.load(tmp_path / "it.monitor")
    assert again.identity == monitor.identity
    for row in fresh[30:] + 3.0 * (np.arange(30) == 4):
        values = dict(zip(monitor.names, row, strict=True))
        reading = monitor.update(values)
        assert again.update(values).statistic == reading.statistic
    assert reading.alarm


def test_a_fit_takes_an_edge_list() -> None:
    rows, edges = RNG(7).standard_normal((200, 6)), [("a", "b"), ("b", "c"), ("e", "f")]
    given: dict[str, Any] = {"names": list("abcdef"), "arl0": 20, "paths": 10, "progress": False}
    monitor = Monitor.fit(rows, 2, covariance="block", graph=edges, **given)
    covariance = monitor.method.problem.covariance
    assert isinstance(covariance, BlockCovariance)
    assert covariance.group.tolist() == [0, 0, 0, 1, 2, 2]
    with pytest.raises(CausalDQError, match="links 'x'"):
        Monitor.fit(rows, 2, graph=[("a", "x")], **given)
    with pytest.raises(CausalDQError, match="needs a graph"):
        Monitor.fit(rows, 2, covariance="block", **given)
    with pytest.raises(CausalDQError, match="cycle"):
        Monitor.fit(rows, 2, method="causal_sr", graph=[(0, 1), (1, 0)], **given)


def test_streams_of_a_structure_are_drawn_from_it() -> None:
    structure = few_factors(MANY, 2)
    nothing = np.broadcast_to(0.0, (MANY, MANY))
    streams = StreamModel(tuple(map(str, range(MANY))), np.empty((0, MANY)), structure, nothing)
    assert streams.in_control(2, 3, RNG(0)).shape == (2, 3, MANY)


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, -1.0])
def test_groups_have_finite_covariances_with_a_positive_diagonal(value: float) -> None:
    matrices = np.tile(np.eye(2), (2, 1, 1))
    BlockCovariance(np.array([0, 0, 1, 1]), matrices)
    matrices[1, 0, 0] = value
    with pytest.raises(ConfigError, match="positive diagonal"):
        BlockCovariance(np.array([0, 0, 1, 1]), matrices)


def test_off_the_diagonal_covariances_of_groups_are_finite_too() -> None:
    matrices = np.tile(np.eye(2), (2, 1, 1))
    matrices[0, 0, 1] = matrices[0, 1, 0] = np.nan
    with pytest.raises(ConfigError, match="must be finite"):
        BlockCovariance(np.array([0, 0, 1, 1]), matrices)
