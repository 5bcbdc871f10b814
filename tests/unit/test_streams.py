"""Graphs, structural models and shifts, against matrix algebra and literal simulation."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from causaldq.learn.environment import draw_episodes
from causaldq.learn.settings import ShiftPlan
from causaldq.models.streams import StreamModel
from causaldq.seeds import generator
from causaldq.setting import Case, Protocol
from causaldq.worlds.shifts import InjectedSet, direction, inject, pattern, shifted_streams
from causaldq.worlds.simulation import SimulationSource, random_weights, simulate, standardise

SEEDS = st.integers(0, 2**32 - 1)


def a_source(p: int, degree: float = 3.0, rows: int = 50) -> SimulationSource:
    return SimulationSource(
        kind="simulation",
        p=p,
        expected_degree=degree,
        weight_low=0.5,
        weight_high=1.0,
        rows=rows,
    )


def an_order(weights: np.ndarray) -> list[int]:
    """Causes first, found by walking up from every stream."""
    order: list[int] = []

    def visit(j: int) -> None:
        for i in np.flatnonzero(weights[:, j]):
            visit(int(i))
        if j not in order:
            order.append(j)

    for j in range(len(weights)):
        visit(j)
    return order


def sum_over_paths(effects: np.ndarray, start: int, end: int) -> float:
    """Products of the effects along every directed path, added up."""
    if start == end:
        return 1.0
    return sum(
        float(effects[start, j]) * sum_over_paths(effects, int(j), end)
        for j in np.flatnonzero(effects[start])
    )


def a_model(p: int, seed: int, degree: float = 3.0) -> StreamModel:
    return simulate(a_source(p, degree), np.random.default_rng(seed))


# --- graphs ----------------------------------------------------------------------------


@given(p=st.integers(2, 12), degree=st.floats(0.1, 20), seed=SEEDS)
def test_a_random_graph_has_no_cycle(p: int, degree: float, seed: int) -> None:
    weights = random_weights(a_source(p, degree), np.random.default_rng(seed))
    present = (weights != 0).astype(int)
    # no walk of p edges: an acyclic graph's matrix is nilpotent
    assert not np.linalg.matrix_power(present, p).any()
    sizes = np.abs(weights[weights != 0])
    assert ((sizes >= 0.5) & (sizes <= 1.0)).all()


def test_edges_are_as_many_as_expected_and_fall_anywhere() -> None:
    """20 streams of degree 6: 60 edges, either way between any two streams.

    2000 graphs. Edges: 4 standard errors, a false failure in 1 of 16,000 seeds. Pairs and
    signs: 5 standard errors for the worst of 380, 1 in 4,600.
    """
    p, n = 20, 2000
    rng = np.random.default_rng(1)
    graphs = np.stack([random_weights(a_source(p, 6.0), rng) for _ in range(n)])
    edges = (graphs != 0).sum(axis=(1, 2))
    share = 6 / 19
    assert edges.mean() == pytest.approx(60, abs=4 * np.sqrt(190 * share * (1 - share) / n))
    each_way = (graphs != 0).mean(axis=0)[~np.eye(p, dtype=bool)]
    assert np.abs(each_way - share / 2).max() < 5 * np.sqrt(share / 2 * (1 - share / 2) / n)
    positive = (graphs > 0).sum() / (graphs != 0).sum()
    assert positive == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(60 * n))


def test_a_degree_beyond_reach_links_every_pair() -> None:
    weights = random_weights(a_source(6, 50.0), np.random.default_rng(0))
    assert ((weights != 0) | (weights != 0).T)[~np.eye(6, dtype=bool)].all()
    assert (weights != 0).sum() == 15


# --- the standardised model ------------------------------------------------------------


@given(p=st.integers(2, 10), degree=st.floats(0.5, 9), seed=SEEDS)
def test_covariance_is_that_of_the_structural_equations(p: int, degree: float, seed: int) -> None:
    weights = random_weights(a_source(p, degree), np.random.default_rng(seed))
    effects, own, covariance = standardise(weights)
    np.testing.assert_allclose(np.diag(covariance), 1.0, rtol=1e-12)
    # x = B'x + D e, so cov x = (I - B')^-1 D D (I - B)^-1
    inverse = np.linalg.inv(np.eye(p) - effects.T)
    np.testing.assert_allclose(covariance, inverse @ np.diag(own**2) @ inverse.T, atol=1e-10)
    # a stream's equation is scaled as a whole: edges and own term alike
    np.testing.assert_allclose(effects, weights * own, atol=1e-12)
    assert ((own > 0) & (own <= 1)).all()


def test_covariance_is_that_of_a_literal_simulation() -> None:
    """Each stream is drawn from its parents and divided by its own standard deviation.

    400,000 rows: a covariance has a standard error of at most .0023; 5 of them for the
    worst of 21 fail falsely in 1 of 80,000 seeds.
    """
    p, n = 7, 400_000
    rng = np.random.default_rng(2)
    weights = random_weights(a_source(p, 4.0), rng)
    values = np.zeros((n, p))
    for j in an_order(weights):
        raw = rng.standard_normal(n)
        for i in range(p):
            if weights[i, j]:
                raw = raw + weights[i, j] * values[:, i]
        values[:, j] = raw / raw.std()
    _, _, covariance = standardise(weights)
    np.testing.assert_allclose(np.cov(values, rowvar=False), covariance, atol=0.012)


def test_a_cycle_is_refused() -> None:
    weights = np.zeros((3, 3))
    weights[0, 1] = weights[1, 2] = weights[2, 0] = 1.0
    with pytest.raises(ValueError, match="cycle"):
        standardise(weights)


@given(p=st.integers(2, 6), degree=st.floats(0.5, 5), seed=SEEDS)
def test_total_effects_add_up_all_paths(p: int, degree: float, seed: int) -> None:
    model = a_model(p, seed, degree)
    expected = [[sum_over_paths(model.effects, i, j) for j in range(p)] for i in range(p)]
    np.testing.assert_allclose(model.total_effects(), expected, atol=1e-12)


def test_in_control_values_have_the_covariance_and_no_memory() -> None:
    """120,000 rows: standard errors of .0041 and .0029, 5 allowed for the worst of 10 + 16."""
    model = a_model(4, 3)
    values = model.in_control(1200, 100, np.random.default_rng(4))
    assert values.shape == (1200, 100, 4)
    flat = values.reshape(-1, 4)
    np.testing.assert_allclose(flat.mean(axis=0), 0.0, atol=0.0145)
    np.testing.assert_allclose(np.cov(flat, rowvar=False), model.covariance, atol=0.0205)
    lagged = np.einsum("nti,ntj->ij", values[:, 1:], values[:, :-1]) / (1200 * 99)
    np.testing.assert_allclose(lagged, 0.0, atol=0.0145)


def test_a_model_survives_its_file(tmp_path: Path) -> None:
    model = a_model(5, 1)
    model.save(tmp_path / "streams.npz")
    again = StreamModel.load(tmp_path / "streams.npz")
    assert again.names == model.names == ("x1", "x2", "x3", "x4", "x5")
    assert model.rows.shape == (50, 5)
    for name in ("rows", "covariance", "effects"):
        assert np.array_equal(getattr(again, name), getattr(model, name))


# --- where shifts fall -----------------------------------------------------------------


def test_the_paper_shifts_the_first_streams() -> None:
    mask = shifted_streams("paper", 3, 2, np.arange(5), np.random.default_rng(0))
    assert mask.tolist() == [[True, True, False, False, False]] * 3


def test_fair_places_are_uniform_over_all_sets() -> None:
    """Chi-square over the 15 pairs of 6 streams, refused below 1 in 10,000."""
    mask = shifted_streams("fair", 30_000, 2, np.arange(6), np.random.default_rng(1))
    assert (mask.sum(axis=1) == 2).all()
    counts = [int((mask[:, i] & mask[:, j]).sum()) for i, j in combinations(range(6), 2)]
    assert chisquare(counts).pvalue > 1e-4


@given(
    st.integers(1, 9).flatmap(
        lambda p: st.lists(st.lists(st.booleans(), min_size=p, max_size=p), min_size=1, max_size=4)
    )
)
def test_patterns_of_both_cases(rows: list[list[bool]]) -> None:
    mask = np.array(rows)
    assert pattern("case_a", mask).tolist() == [[1.0 if on else 0.0 for on in row] for row in rows]
    expected = []
    for row in rows:
        sign, signs = 1.0, []
        for on in row:
            signs.append(sign if on else 0.0)
            sign = -sign if on else sign
        expected.append(signs)
    assert pattern("case_b", mask).tolist() == expected


@given(
    p=st.integers(2, 7), k=st.integers(1, 7), seed=SEEDS, case=st.sampled_from(["case_a", "case_b"])
)
def test_a_propagated_shift_is_pushed_through_the_equations(
    p: int, k: int, seed: int, case: Case
) -> None:
    """Run the equations twice, with and without the shift of the own terms."""
    rng = np.random.default_rng(seed)
    weights = random_weights(a_source(p, 4.0), rng)
    effects, own, covariance = standardise(weights)
    model = StreamModel(tuple("abcdefg"[:p]), np.zeros((1, p)), covariance, effects)
    signs = pattern(case, shifted_streams("fair", 5, min(k, p), np.arange(p), rng))
    noise = rng.standard_normal((5, p))
    before, after = np.zeros((5, p)), np.zeros((5, p))
    for j in an_order(weights):
        before[:, j] = before @ effects[:, j] + own[j] * noise[:, j]
        after[:, j] = after @ effects[:, j] + own[j] * noise[:, j] + signs[:, j]
    moved = direction(signs, model, propagate=True)
    np.testing.assert_allclose(moved, after - before, atol=1e-10)
    assert np.array_equal(direction(signs, model, propagate=False), signs)


# --- injected sets ---------------------------------------------------------------------


def an_injected_set(model: StreamModel, seed: int, n: int = 4, k: int = 2) -> InjectedSet:
    return inject(
        model,
        k=k,
        order=np.arange(model.p),
        protocols=["paper", "fair"],
        cases=["case_a", "case_b"],
        propagate=False,
        replications=n,
        in_control_steps=5,
        horizon=7,
        rng=np.random.default_rng(seed),
    )


def test_noise_is_one_standard_normal_draw_a_stream_and_replication() -> None:
    """Kolmogorov-Smirnov on 6000 draws, refused below 1 in 10,000."""
    model = a_model(6, 1)
    sets = an_injected_set(model, 2, n=1000)
    assert sets.paths["fair"].shape == (1000, 12, 6)
    assert sets.paths["paper"] is sets.paths["fair"]
    assert sets.change == 5
    noise = sets.mean("paper", "case_a", 0.0, 1.0)
    assert noise.shape == (1000, 6)
    assert kstest(noise.ravel(), "norm").pvalue > 1e-4
    assert len(np.unique(noise)) == noise.size
    # the same draws in every cell, so that cells are compared on the same replications
    protocols: list[Protocol] = ["paper", "fair"]
    cases: list[Case] = ["case_a", "case_b"]
    for protocol in protocols:
        for case in cases:
            moved = sets.mean(protocol, case, 2.0, 0.5) - 0.5 * noise
            signs = np.where(np.abs(moved) > 1e-9, np.sign(moved), 0.0)
            np.testing.assert_allclose(moved, 2.0 * signs, atol=1e-9)
            assert np.array_equal(signs != 0, sets.shifted[protocol])
            assert ((signs == -1).sum(axis=1) == (case == "case_b")).all()


def test_an_injected_set_survives_its_file(tmp_path: Path) -> None:
    sets = an_injected_set(a_model(5, 1), 2)
    sets.save(tmp_path / "set.npz")
    again = InjectedSet.load(tmp_path / "set.npz")
    assert again.change == sets.change
    assert np.array_equal(again.paths["paper"], sets.paths["paper"])
    assert np.array_equal(again.paths["fair"], sets.paths["fair"])
    assert again.shifted.keys() == sets.shifted.keys()
    assert again.directions.keys() == sets.directions.keys()
    for protocol, case in sets.directions:
        assert np.array_equal(
            again.mean(protocol, case, 1.5, 0.5), sets.mean(protocol, case, 1.5, 0.5)
        )


def test_training_episodes_shift_from_their_change_on() -> None:
    """Values so small that the mean is all there is."""
    p, n, steps = 5, 300, 12
    still = StreamModel(tuple("abcde"), np.zeros((1, p)), 1e-24 * np.eye(p), 0.5 * np.eye(p, k=1))
    plan = ShiftPlan(
        protocol="fair",
        places="first",
        seed=1,
        k=2,
        cases=["case_a", "case_b"],
        delta=1.5,
        sigmas=[0.0],
        propagate=False,
        latest_change=8,
    )
    episodes = draw_episodes(still, plan, n, steps, np.random.default_rng(0))
    assert set(episodes.change.tolist()) == set(range(9))
    downward = 0
    for row in range(n):
        for t in range(steps):
            expected = 1.5 * episodes.shifted[row] if t >= episodes.change[row] else np.zeros(p)
            np.testing.assert_allclose(np.abs(episodes.values[row, t]), expected, atol=1e-9)
        after = episodes.values[row, episodes.change[row] :]
        assert (np.ptp(after, axis=0) < 1e-9).all()
        assert after[0][episodes.shifted[row]][0] > 0
        downward += int((after[0] < -1).any())
    # either case with even chances: 150 of 300, give or take 4 standard errors of 8.7
    assert abs(downward - 150) < 35


# --- random numbers --------------------------------------------------------------------


def test_equal_generators_give_equal_draws_and_nothing_else_is_touched() -> None:
    before = np.random.get_state()[1].copy()  # type: ignore[index]
    first, second = a_model(8, 5), a_model(8, 5)
    assert np.array_equal(first.covariance, second.covariance)
    assert np.array_equal(first.rows, second.rows)
    assert not np.array_equal(first.rows, a_model(8, 6).rows)
    one, two = an_injected_set(first, 7), an_injected_set(first, 7)
    assert np.array_equal(one.paths["fair"], two.paths["fair"])
    assert np.array_equal(one.noise, two.noise)
    assert np.array_equal(one.shifted["fair"], two.shifted["fair"])
    rng = np.random.default_rng(1)
    assert not np.array_equal(first.in_control(2, 3, rng), first.in_control(2, 3, rng))
    assert np.array_equal(before, np.random.get_state()[1])  # type: ignore[index]


def test_places_do_not_depend_on_which_cases_are_asked_for() -> None:
    model = a_model(6, 1)
    both = an_injected_set(model, 3)
    alone = inject(
        model,
        k=2,
        order=np.arange(6),
        protocols=["fair"],
        cases=["case_b"],
        propagate=True,
        replications=4,
        in_control_steps=5,
        horizon=7,
        rng=np.random.default_rng(3),
    )
    assert np.array_equal(alone.paths["fair"], both.paths["fair"])
    assert np.array_equal(alone.noise, both.noise)
    assert np.array_equal(alone.shifted["fair"], both.shifted["fair"])


def test_generators_are_named() -> None:
    """Equal purposes agree; other purposes and seeds do not, and are uncorrelated.

    10,000 draws each: a correlation has a standard error of .01; 4 of them are allowed.
    """
    draws = {
        (seed, *purpose): generator(seed, *purpose).standard_normal(10_000)
        for seed, *purpose in [(1, "a", 1), (1, "a", 2), (1, "b", 1), (2, "a", 1), (1, "a")]
    }
    assert np.array_equal(generator(1, "a", 1).standard_normal(10_000), draws[1, "a", 1])
    correlations = np.corrcoef(list(draws.values()))
    assert np.abs(correlations - np.eye(len(draws))).max() < 0.04
