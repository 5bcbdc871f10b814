"""A fleet gives the numbers of its monitors one by one."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from causaldq import Fleet, Limit, Monitor, Problem, SensorRules
from causaldq.calibration import RunLength
from causaldq.errors import CausalDQError, ConfigError, DataError
from causaldq.many_streams import FactorFilter, LargeMonitor
from causaldq.methods.bayes_posterior import BayesPosterior, BayesPosteriorSettings
from causaldq.methods.registry import method_class
from causaldq.models.factor_dynamics import FactorDynamics
from causaldq.models.state_space import StateSpace
from causaldq.types import Floats

P, M, PLANTS = 9, 3, 7


def plant(
    seed: int, m: int = M, name: str = "bayes_posterior", method: Any = None, limit: float = 5.0
) -> Monitor:
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((P, 2 * P))
    covariance = mixing @ mixing.T
    deviation = np.sqrt(np.diag(covariance))
    covariance /= np.outer(deviation, deviation)
    model = StateSpace.independent(covariance, 500.0)
    return Monitor(
        (method or method_class(name))(Problem(covariance, m, dynamics=model)),
        name=name,
        names=[f"x{i}" for i in range(P)],
        mean=rng.normal(size=P),
        sd=rng.uniform(0.5, 2.0, P),
        limit=Limit(limit + seed, 200, RunLength(None, 1.0, None)),
        seed=seed,
    )


def rows(monitors: list[Monitor], step: int) -> Floats:
    """With gaps, single outliers, and a shift from step 30 on."""
    rng = np.random.default_rng(step)
    values = rng.standard_normal((len(monitors), P))
    values[:, 2] += 3.0 * (step > 30)
    values[rng.random(values.shape) < 0.02] = 40.0
    values = np.stack([m.mean + m.sd * row for m, row in zip(monitors, values, strict=True)])
    values[rng.random(values.shape) < 0.04] = np.nan
    return values


def assert_equal_row(fleet: Fleet, alone: list[Monitor], values: Floats) -> tuple[int, int, int]:
    """A row in fleet and monitors; how many alarmed, missed or put aside something, and failed."""
    asked, alarms, odd, faults = fleet.next, 0, 0, 0
    reading = fleet.update(values)
    for i, monitor in enumerate(alone):
        assert [monitor.names[j] for j in asked[i]] == monitor.next
        one = monitor.update(dict(zip(monitor.names, values[i], strict=True)))
        assert (one.alarm, one.statistic) == (reading.alarm[i], reading.statistic[i])
        assert bool(one.fault) == reading.fault[i]
        assert [monitor.names[j] for j in asked[i][reading.missing[i]]] == one.missing
        assert [monitor.names[j] for j in asked[i][reading.aside[i]]] == one.aside
        assert fleet.contributions(i) == pytest.approx(one.contributions)
        alarms, faults = alarms + one.alarm, faults + bool(one.fault)
        odd += bool(one.missing) + bool(one.aside)
    return alarms, odd, faults


@pytest.mark.parametrize("workers", [1, 2])
def test_a_fleet_is_its_monitors_one_by_one(
    workers: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("causaldq.fleet.BATCH", 3)
    alone = [plant(seed) for seed in range(PLANTS)]
    fleet = Fleet([plant(seed) for seed in range(PLANTS)], workers=workers)
    alarms = odd = 0
    for step in range(60):
        if step == 45:  # in the middle of an alarm, with sensors that rest
            fleet.save(tmp_path / "all.fleet")
            fleet = Fleet.load(tmp_path / "all.fleet", workers=workers)
        found = assert_equal_row(fleet, alone, rows(alone, step))
        alarms, odd = alarms + found[0], odd + found[1]
    assert alarms > 30
    assert odd > 30
    for i, (monitor, other) in enumerate(zip(alone, fleet, strict=True)):
        assert (other.step, other.next) == (60, monitor.next)
        other.save(tmp_path / f"{i}.monitor")
        assert Monitor.load(tmp_path / f"{i}.monitor").identity == monitor.identity


KINDS = ["tssrp", "bayes_posterior", "bayes_posterior", "innovation_filter", "greedy", "tssrp"]


class Failing:
    """A statistic that is no number the fifth time it is asked for."""

    def __init__(self, monitor: Monitor) -> None:
        self.statistic, self.asked = monitor.method.statistic, 0

    def __call__(self, state: Any) -> Floats:
        self.asked += 1
        return np.array([np.nan]) if self.asked == 5 else self.statistic(state)


@pytest.mark.parametrize("workers", [1, 2])
def test_monitors_of_any_method_make_a_fleet(
    workers: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    alone, members = (
        [plant(seed, name=name, limit=2.0) for seed, name in enumerate(KINDS)] for _ in range(2)
    )
    for one in (alone[0], members[0]):
        monkeypatch.setattr(one.method, "statistic", Failing(one))
    fleet = Fleet(members, workers=workers)
    assert [len(batch.monitors) for batch in fleet._batches] == [1, 2, 3]
    counts = np.zeros(3, int)
    for step in range(60):
        if step == 45:  # in the middle of alarms, with sensors that rest
            fleet.save(tmp_path / "all.fleet")
            fleet = Fleet.load(tmp_path / "all.fleet", workers=workers)
        counts += assert_equal_row(fleet, alone, rows(alone, step))
    assert (counts > [30, 30, 0]).all()
    assert counts[2] == 1
    for monitor, other in zip(alone, fleet, strict=True):
        assert (other.step, other.next, other.identity) == (60, monitor.next, monitor.identity)


def test_settings_of_each_plants_own_make_a_fleet() -> None:
    def short(problem: Problem) -> BayesPosterior:
        return BayesPosterior(problem, BayesPosteriorSettings(levels=3))

    alone, members = ([plant(0), plant(1, method=short)] for _ in range(2))
    fleet = Fleet(members)
    for step in range(40):
        assert_equal_row(fleet, alone, rows(alone, step))


def test_a_fleet_with_a_method_of_ones_own_is_read_with_what_makes_it(tmp_path: Path) -> None:
    class Own(method_class("tssrp")):  # type: ignore[misc]
        pass

    Fleet([plant(seed, name="own", method=Own) for seed in range(2)]).save(tmp_path / "own.fleet")
    with pytest.raises(ConfigError, match=r"own\.fleet: the method 'own' is not one of ours"):
        Fleet.load(tmp_path / "own.fleet")
    fleet = Fleet.load(tmp_path / "own.fleet", method=Own)
    assert all(type(one.method) is Own for one in fleet)


def large(seed: int) -> LargeMonitor:
    rng = np.random.default_rng(seed)
    model = FactorDynamics.of(np.full((P, 1 + seed), 0.5), [0.9] * (1 + seed), [0.5] * P, [0.1] * P)
    return LargeMonitor(
        FactorFilter(Problem(model.covariance, M), None, model),
        name="factor_filter",
        names=[f"x{i}" for i in range(P)],
        mean=rng.normal(size=P),
        sd=rng.uniform(0.5, 2.0, P),
        limit=Limit(2.0, 200, RunLength(None, 1.0, None)),
        seed=seed,
    )


def test_large_monitors_make_a_fleet(tmp_path: Path) -> None:
    alone, fleet = [large(0), large(1)], Fleet([large(0), large(1)])
    for step in range(30):
        if step == 15:
            fleet.save(tmp_path / "all.fleet")
            fleet = Fleet.load(tmp_path / "all.fleet", monitor=LargeMonitor)
        assert_equal_row(fleet, alone, rows(list(alone), step))


def test_a_plant_that_fails_begins_anew_without_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fleet, values = Fleet([plant(seed) for seed in range(3)]), rows([plant(0)] * 3, 0)
    values = np.where(np.isfinite(values), values, 0.0)
    fleet.update(values)
    batch = fleet._batches[0]
    monkeypatch.setattr(batch.method, "statistic", lambda _: np.array([1.0, np.nan, 2.0]))
    reading = fleet.update(values)
    assert reading.fault.tolist() == [False, True, False]
    assert batch.state.time.tolist() == [2, 0, 2]
    assert not reading.alarm[1]


def test_monitors_that_cannot_go_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="without monitors"):
        Fleet([])
    with pytest.raises(ConfigError, match="plant 1 differs"):
        Fleet([plant(0), plant(1, m=2)])
    with pytest.raises(ConfigError, match="plant 1 differs"):
        Fleet([plant(0), large(1)])
    ruled = plant(0)
    ruled.use(SensorRules(always=["x1"]))
    with pytest.raises(ConfigError, match="rules"):
        Fleet([ruled])
    fleet = Fleet([plant(0)])
    with pytest.raises(DataError, match=r"give \(1, 3\) or \(1, 9\)"):
        fleet.update([[1.0, 2.0]])
    with pytest.raises(IndexError, match="no plant 1"):
        fleet[1]
    (tmp_path / "no.fleet").write_bytes(b"nothing")
    with pytest.raises(CausalDQError, match=r"no\.fleet"):
        Fleet.load(tmp_path / "no.fleet")


@pytest.mark.parametrize("method", ["bayes_posterior", "random"])
def test_rows_with_names_are_read_by_them(method: str) -> None:
    """As arrays they would be values of whatever stream stands at their place."""
    fleets = [Fleet([plant(seed, name=method) for seed in range(2)]) for _ in range(4)]
    names = [list(one.names) for one in fleets[0]]
    rng = np.random.default_rng(0)
    for _ in range(30):
        values = rng.normal(size=(2, fleets[0].p))
        named = [pd.Series(row, index=n)[n[::-1]] for row, n in zip(values, names, strict=True)]
        expected = fleets[0].update(values)
        for fleet, given in zip(
            fleets[1:], (named, [row.to_dict() for row in named], pd.DataFrame(named)), strict=True
        ):
            found = fleet.update(given)  # type: ignore[arg-type]
            np.testing.assert_array_equal(found.statistic, expected.statistic)
            np.testing.assert_array_equal(fleet.next, fleets[0].next)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ("abc", "no numbers"),
        ([["a"] * 9] * 2, "no numbers"),
        ([[1.0], [2.0, 3.0]], "no numbers"),
        (np.ones((2, 9), dtype=bool), "they are bool"),
        (np.ones((2, 9)) * 1j, "they are complex128"),
        ([{"nothing": 1.0}] * 2, "no stream 'nothing'"),
        ([{}], "1 rows for 2 plants"),
    ],
)
def test_values_that_are_no_rows_are_refused(values: Any, words: str) -> None:
    fleet = Fleet([plant(seed) for seed in range(2)])
    with pytest.raises(DataError, match=words):
        fleet.update(values)


def test_masked_values_are_missing() -> None:
    fleet = Fleet([plant(seed) for seed in range(2)])
    assert fleet.update(np.ma.array(np.zeros((2, fleet.p)), mask=True)).missing.all()  # type: ignore[arg-type]


def test_a_fleet_is_made_of_monitors_each_its_own() -> None:
    one = plant(0)
    with pytest.raises(ConfigError, match="plant 1 is a monitor that the fleet has already"):
        Fleet([one, one])
    with pytest.raises(ConfigError, match="plant 0 is a int"):
        Fleet([1])  # type: ignore[list-item]
    with pytest.raises(ConfigError, match="monitors are a Monitor; give a list"):
        Fleet(one)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="workers is"):
        Fleet([one], workers=1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["bayes_posterior", "random"])
@pytest.mark.parametrize(
    "twin", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_a_copy_of_a_fleet_goes_on_by_itself(method: str, twin: Any) -> None:
    alone = [plant(seed, name=method) for seed in range(2)]
    fleet = Fleet([plant(seed, name=method) for seed in range(2)], workers=2)
    for step in range(5):
        assert_equal_row(fleet, alone, rows(alone, step))
    other = twin(fleet)
    others = copy.deepcopy(alone)
    for step in range(5, 10):
        assert_equal_row(other, others, rows(others, step))
    for step in range(5, 10):
        assert_equal_row(fleet, alone, rows(alone, step))


@pytest.mark.parametrize("method", ["bayes_posterior", "random"])
def test_one_plant_of_a_fleet_is_reset(method: str) -> None:
    alone = [plant(seed, name=method) for seed in range(3)]
    fleet = Fleet([plant(seed, name=method) for seed in range(3)])
    for step in range(30):
        if step == 15:
            fleet.reset(1)
            alone[1].reset()
        assert_equal_row(fleet, alone, rows(alone, step))
