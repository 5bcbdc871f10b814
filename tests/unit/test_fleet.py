"""A fleet gives the numbers of its monitors one by one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from causaldq import Fleet, Limit, Monitor, Problem, SensorRules
from causaldq.calibration import RunLength
from causaldq.errors import CausalDQError, ConfigError, DataError
from causaldq.methods.bayes_posterior import BayesPosterior, BayesPosteriorSettings
from causaldq.methods.tssrp import Tssrp
from causaldq.types import Floats

P, M, PLANTS = 9, 3, 7


def plant(seed: int, m: int = M, method: Any = BayesPosterior) -> Monitor:
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((P, 2 * P))
    covariance = mixing @ mixing.T
    deviation = np.sqrt(np.diag(covariance))
    return Monitor(
        method(Problem(covariance / np.outer(deviation, deviation), m)),
        name="bayes_posterior",
        names=[f"x{i}" for i in range(P)],
        mean=rng.normal(size=P),
        sd=rng.uniform(0.5, 2.0, P),
        limit=Limit(5.0 + seed, 200, RunLength(None, 1.0, None)),
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
        values, asked = rows(alone, step), fleet.next
        reading = fleet.update(values)
        for i, monitor in enumerate(alone):
            assert [monitor.names[j] for j in asked[i]] == monitor.next
            one = monitor.update(dict(zip(monitor.names, values[i], strict=True)))
            assert (one.alarm, one.statistic) == (reading.alarm[i], reading.statistic[i])
            assert [monitor.names[j] for j in asked[i][reading.missing[i]]] == one.missing
            assert [monitor.names[j] for j in asked[i][reading.aside[i]]] == one.aside
            assert fleet.contributions(i) == pytest.approx(one.contributions)
            alarms, odd = alarms + one.alarm, odd + bool(one.missing) + bool(one.aside)
    assert alarms > 30
    assert odd > 30
    for i, (monitor, other) in enumerate(zip(alone, fleet, strict=True)):
        assert (other.step, other.next) == (60, monitor.next)
        other.save(tmp_path / f"{i}.monitor")
        assert Monitor.load(tmp_path / f"{i}.monitor").identity == monitor.identity


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
    short = lambda problem: BayesPosterior(problem, BayesPosteriorSettings(levels=3))  # noqa: E731
    with pytest.raises(ConfigError, match="plant 1 differs"):
        Fleet([plant(0), plant(1, method=short)])
    with pytest.raises(ConfigError, match="takes no fleet"):
        Fleet([plant(0, method=Tssrp)])
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
