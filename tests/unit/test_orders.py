"""Graphs drawn from their posterior, against all orders of a few streams written out."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from made import DEFAULTS

from causaldq.discovery.graph import Graph, is_acyclic
from causaldq.discovery.orders import _sampled_places, draw_graphs, parent_scores
from causaldq.discovery.settings import DiscoverySettings, OrderSettings, UncertaintySettings
from causaldq.discovery.uncertainty import possible_graphs
from causaldq.models.streams import StreamModel
from causaldq.types import Floats


def order_settings(**changed: Any) -> OrderSettings:
    base = {"candidates": 3, "max_parents": 3, "chains": 1, "burn_in": 20, "spacing": 2}
    return OrderSettings.model_validate(base | changed)


def some_rows(n: int, seed: int) -> Floats:
    """0 -> 2 <- 1 and 2 -> 3, with effects of .3: far from certain in few rows."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, 4))
    rows[:, 2] += 0.3 * rows[:, 0] + 0.3 * rows[:, 1]
    rows[:, 3] += 0.3 * rows[:, 2]
    return rows


def slow_score(rows: Floats, stream: int, parents: list[int]) -> float:
    """By least squares on the rows."""
    n, p = rows.shape
    centred = rows - rows.mean(axis=0)
    left = centred[:, stream]
    if parents:
        fitted, *_ = np.linalg.lstsq(centred[:, parents], left, rcond=None)
        left = left - centred[:, parents] @ fitted
    share = (left**2).sum() / (centred[:, stream] ** 2).sum()
    ways = np.prod([(p - 1 - i) / (i + 1) for i in range(len(parents))])
    return float(-n / 2 * np.log(share) - len(parents) / 2 * np.log(n) - np.log(ways))


def test_scores_are_those_of_least_squares() -> None:
    rows = some_rows(60, 1) * [1.0, 3.0, 0.5, 2.0]
    found = parent_scores(np.cov(rows, rowvar=False), 60, order_settings())
    assert found.scores.shape == (4, 8)
    for j in range(4):
        assert sorted(found.candidates[j]) == [i for i in range(4) if i != j]
        for row, among in enumerate(found.sets):
            parents = found.candidates[j][among].tolist()
            assert found.scores[j, row] == pytest.approx(slow_score(rows, j, parents), abs=1e-8)


def test_candidates_hold_the_parents_where_not_all_fit() -> None:
    rng = np.random.default_rng(2)
    p = 15
    rows = rng.standard_normal((400, p))
    rows[:, 9] += rows[:, [2, 5, 11]].sum(axis=1)
    covariance = np.cov(rows, rowvar=False)
    found = parent_scores(covariance, 400, order_settings(candidates=5, max_parents=4))
    assert found.candidates.shape == (p, 5)
    assert {2, 5, 11} <= set(found.candidates[9])
    for j in range(p):
        assert j not in found.candidates[j]
        assert len(set(found.candidates[j])) == 5
    best = found.sets[found.scores[9].argmax()]
    assert set(found.candidates[9][best]) == {2, 5, 11}


def test_graphs_come_as_often_as_their_posterior_says() -> None:
    """1,500 graphs against the exact law: all 24 orders, all parent sets of each.

    Graphs two sweeps apart are close to independent; an edge's share then has a standard
    error of at most .013, and .05 leaves room for what dependence there is.
    """
    rows = some_rows(60, 3)
    chance = np.zeros((4, 4))
    total = 0.0
    for order in permutations(range(4)):
        weight, edges = 1.0, np.zeros((4, 4))
        for place, j in enumerate(order):
            before = list(order[:place])
            sets = [[b for i, b in enumerate(before) if code >> i & 1]
                    for code in range(2**place)]  # fmt: skip
            weights = np.exp([slow_score(rows, j, parents) for parents in sets])
            weight *= weights.sum()
            for parents, w in zip(sets, weights / weights.sum(), strict=True):
                edges[parents, j] += w
        chance += weight * edges
        total += weight
    chance /= total
    assert ((chance > 0.1) & (chance < 0.9)).sum() >= 4
    rng = np.random.default_rng(5)
    drawn = draw_graphs(np.cov(rows, rowvar=False), 60, 1500, order_settings(), rng)
    assert drawn.mean(axis=0) == pytest.approx(chance, abs=0.05)


def test_enough_rows_settle_what_can_be_settled() -> None:
    rows = some_rows(5000, 7)
    rng = np.random.default_rng(1)
    drawn = draw_graphs(np.cov(rows, rowvar=False), 5000, 20, order_settings(), rng)
    truth = np.zeros((4, 4), dtype=bool)
    truth[[0, 1, 2], [2, 2, 3]] = True
    assert np.array_equal(drawn.mean(axis=0) > 0.5, truth)
    assert all(is_acyclic(graph) for graph in drawn)


def test_a_direction_that_no_row_settles_stays_open() -> None:
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((2000, 3))
    rows[:, 1] += rows[:, 0]
    drawn = draw_graphs(
        np.cov(rows, rowvar=False), 2000, 300,
        order_settings(candidates=2, max_parents=2), rng,
    )  # fmt: skip
    forwards = drawn[:, 0, 1].mean()
    assert forwards + drawn[:, 1, 0].mean() == 1.0
    # A half, with a standard error of .03 and some dependence.
    assert forwards == pytest.approx(0.5, abs=0.15)


def test_order_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="max_parents 4 exceeds candidates 3"):
        order_settings(max_parents=4)


# --- possible graphs ---------------------------------------------------------------------------


def uncertainty(by: str, graphs: int = 6) -> UncertaintySettings:
    orders = order_settings(candidates=4, burn_in=10).model_dump()
    return UncertaintySettings.model_validate({"by": by, "graphs": graphs, "orders": orders})


def discovery(algorithm: str) -> DiscoverySettings:
    return DiscoverySettings.model_validate(DEFAULTS["discovery"] | {"algorithm": algorithm})


@pytest.mark.parametrize("by", ["orders", "extensions", "bootstrap"])
def test_possible_graphs_are_acyclic_and_about_right(
    chain_model: Callable[[int], StreamModel], by: str
) -> None:
    model = chain_model(5)
    factor = np.linalg.cholesky(model.covariance)
    rows = np.random.default_rng(1).standard_normal((400, 5)) @ factor.T
    graphs = possible_graphs(
        replace(model, rows=rows), discovery("pc"), uncertainty(by), np.random.default_rng(2)
    )
    assert graphs.dtype == bool
    assert graphs.shape[1:] == (5, 5)
    assert 1 <= len(graphs) <= 6
    assert all(is_acyclic(graph) for graph in graphs)
    linked = (graphs | graphs.transpose(0, 2, 1)).mean(axis=0)
    truth = Graph.from_effects(model.effects).directed
    assert np.array_equal(linked > 0.5, truth | truth.T)
    # The direction of a chain shows in no covariance: several are possible.
    assert len(Counter(graph.tobytes() for graph in graphs)) > 1


@pytest.mark.parametrize("by", ["orders", "extensions", "bootstrap"])
def test_a_known_graph_is_not_uncertain(chain_model: Callable[[int], StreamModel], by: str) -> None:
    model = chain_model(5)
    rng = np.random.default_rng(2)
    graphs = possible_graphs(model, discovery("ground_truth"), uncertainty(by), rng)
    assert np.array_equal(graphs, (model.effects != 0)[None])


def test_orders_are_sampled_so_many_sweeps_apart_after_the_first_ones() -> None:
    """Two first sweeps and one in five end where one and one in one have come after six."""
    scores = parent_scores(np.eye(4), 50, order_settings())
    for seed in range(10):
        often, seldom = (
            list(
                _sampled_places(
                    scores, count, order_settings(**changed), np.random.default_rng(seed)
                )
            )
            for count, changed in (
                (11, {"burn_in": 1, "spacing": 1}),
                (2, {"burn_in": 2, "spacing": 5}),
            )
        )
        assert [place.tolist() for place in seldom] == [often[5].tolist(), often[10].tolist()]
