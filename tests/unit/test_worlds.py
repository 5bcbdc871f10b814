"""Worlds beyond the normal step shift, against closed forms and literal versions."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kurtosis

from causaldq import Problem, Shift, evaluate, simulate
from causaldq.errors import ConfigError
from causaldq.limits import true_graph
from causaldq.methods.base import Method, State
from causaldq.models.rows import estimate_covariance
from causaldq.models.streams import StreamModel
from causaldq.run import delays
from causaldq.types import Floats
from causaldq.worlds.changes import Change, group_orders
from causaldq.worlds.shifts import Cell, inject


@dataclass(frozen=True)
class Last(State):
    value: Floats


class ReadsFirst(Method[Last]):
    """Its statistic is the first stream's last value."""

    def start(self, n, truth, rng):  # type: ignore[no-untyped-def]
        return Last(np.zeros(n))

    def choose(self, state, rng):  # type: ignore[no-untyped-def]
        return np.zeros((len(state.value), 1), dtype=np.int64)

    def observe(self, state, streams, values, rng):  # type: ignore[no-untyped-def]
        return Last(values[:, 0])

    def statistic(self, state):  # type: ignore[no-untyped-def]
        return state.value


def first_alarms(changes: list[Floats | Change], paths: Floats, limit: float) -> list[list[int]]:
    method = ReadsFirst(Problem(np.eye(paths.shape[2]), 1))
    rng = np.random.default_rng(0)
    outcomes = delays(method, paths, 2, changes, [None] * len(changes), limit, rng)
    return [outcome.delay.tolist() for outcome in outcomes]


def test_a_ramp_reaches_a_limit_when_it_has_grown_so_far() -> None:
    mean = np.array([[1.0, 0.0], [2.0, 0.0]])
    slow = Change(mean, ramp=10)
    found = first_alarms([mean, slow, Change(mean)], np.zeros((2, 22, 2)), limit=0.55)
    assert found == [[1, 1], [6, 3], [1, 1]]  # .6 after six of ten steps, 2 * .3 after three


def test_a_spread_scales_what_would_have_been_read() -> None:
    paths = np.tile(np.linspace(0.0, 1.9, 20)[:, None], (1, 1, 2)).reshape(1, 20, 2)
    wide = Change(np.zeros((1, 2)), np.array([[3.0, 1.0]]))
    other = Change(np.zeros((1, 2)), np.array([[1.0, 3.0]]))
    # Values are .2, .3, ... from the change on; three times that passes 1 at the third.
    assert first_alarms([wide, other], paths, limit=1.0) == [[3], [10]]


@pytest.mark.parametrize("degree", [0.0, 3.0])
def test_heavy_tails_keep_the_covariance(degree: float) -> None:
    model = simulate(6, degree=degree, tails=8.0, seed=2)
    values = model.in_control(1, 400_000, np.random.default_rng(0))[0]
    np.testing.assert_allclose(np.cov(values, rowvar=False), model.covariance, atol=0.02)
    own = values @ (np.eye(6) - model.effects)  # the structural equations turned round
    # Excess kurtosis of Student's t is 6 / (freedom - 4).
    np.testing.assert_allclose(kurtosis(own), 1.5, atol=0.4)


def test_an_estimated_covariance_is_what_methods_know_and_not_what_values_have() -> None:
    known, model = simulate(8, degree=3), simulate(8, degree=3, covariance_rows=30)
    np.testing.assert_array_equal(model.effects, known.effects)
    np.testing.assert_allclose(np.diag(model.covariance), 1.0)
    assert np.abs(model.covariance - known.covariance).max() > 0.05
    rows = model.in_control(1, 100_000, np.random.default_rng(1))[0]
    np.testing.assert_allclose(estimate_covariance(rows).matrix, known.covariance, atol=0.02)


def test_a_law_survives_its_file_and_no_law_leaves_no_trace(tmp_path: Path) -> None:
    for name, model in (("plain", simulate(4)), ("law", simulate(4, tails=5.0))):
        model.save(tmp_path / name)
        again = StreamModel.load(tmp_path / name)
        assert (again.law is None) == (model.law is None)
        draws = [m.in_control(2, 3, np.random.default_rng(0)) for m in (model, again)]
        np.testing.assert_array_equal(*draws)
    assert b"law.own" not in (tmp_path / "plain").read_bytes()


def test_groups_are_a_stream_and_its_closest() -> None:
    model = simulate(9, degree=3, seed=4)
    size = np.abs(model.covariance)
    mask = Shift(1.0, streams=3, together=True).shifted(model, 200, np.random.default_rng(0)) != 0
    groups = {frozenset(np.argsort(-size[i])[:3].tolist()) for i in range(9)}
    assert {frozenset(np.flatnonzero(row).tolist()) for row in mask} == groups
    np.testing.assert_array_equal(group_orders(model.covariance)[:, 0], np.arange(9))


def test_an_injected_cell_moves_means_or_deviations() -> None:
    model = simulate(7, degree=2)
    sets = inject(
        model, k=2, order=np.arange(7), protocols=["fair", "paper"], cases=["case_b"],
        propagate=False, together=True, replications=5, in_control_steps=3, horizon=4,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    cell = Cell(case="case_b", sigma=0.0, delta=0.5)
    slow = sets.change_of("fair", cell, "mean", 8)
    assert slow.ramp == 8
    assert slow.spread is None
    np.testing.assert_array_equal(np.sort(np.abs(slow.mean), axis=1)[:, -3:], [[0, 0.5, 0.5]] * 5)
    wide = sets.change_of("fair", cell, "deviation", 1)
    assert not wide.mean.any()
    np.testing.assert_array_equal(wide.spread, np.where(sets.shifted["fair"], 1.5, 1.0))
    assert sets.shifted["paper"][:, 0].all()
    assert (sets.shifted["paper"].sum(axis=1) == 2).all()


def test_shifts_of_all_kinds_side_by_side() -> None:
    shifts = [Shift(2.0), Shift(2.0, ramp=30), Shift(0.0, spread=4.0), Shift(2.0, together=True)]
    table = evaluate(["bayes_posterior"], simulate(6, degree=0), 3, shifts, arl0=40, paths=40)
    sudden, slow, wide, _ = table.delay
    assert sudden < slow
    assert wide < 100


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Shift(ramp=0),
        lambda: Shift(spread=0.0),
        lambda: simulate(5, tails=2.0),
        lambda: simulate(5, covariance_rows=3),
    ],
)
def test_what_cannot_be_is_refused(wrong) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ConfigError, match="give"):
        wrong()


def test_random_signs_are_signs_and_both_come() -> None:
    model = simulate(5, degree=0)
    signs = Shift(streams=3, signs="random").shifted(model, 200, np.random.default_rng(3))
    assert ((signs != 0).sum(axis=1) == 3).all()
    assert sorted(set(signs.ravel())) == [-1.0, 0.0, 1.0]
    assert abs(signs.sum()) < 5 * np.sqrt(600)


def test_the_true_graph_has_the_edges_of_the_effects() -> None:
    model = simulate(6, degree=2, seed=1)
    found = true_graph(model)
    assert found is not None
    assert found.tolist() == [(model.effects != 0).tolist()]
    assert true_graph(simulate(6, degree=0)) is None


def test_a_table_is_of_two_hundred_replications() -> None:
    streams = simulate(4, degree=0)
    table = evaluate(["greedy"], streams, 2, [Shift()], arl0=10, paths=20, before=5, horizon=5)
    early = 200 * table["early"].iloc[0]
    assert 0 < early < 200
    assert early == pytest.approx(round(early), abs=1e-6)
