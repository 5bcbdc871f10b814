"""A monitor fitted with a model of memory: choice, limits, what is said of a broken promise."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from causaldq import Monitor, example_plant
from causaldq.__main__ import app
from causaldq.calibration import average_run_length, run_lengths
from causaldq.errors import ConfigError, DataError, FallsShort
from causaldq.limits import known_from
from causaldq.memory_limits import bounding_limit, count_alarms
from causaldq.methods.base import Problem
from causaldq.methods.innovation_filter import InnovationFilter
from causaldq.models.state_space import StateSpace
from causaldq.run import statistics
from causaldq.types import Floats


def a_plant(p: int, a: float) -> StateSpace:
    plain = StateSpace.independent(np.eye(p), rows=1e12)
    return replace(plain, a=np.full(p, a), q=(1 - a**2) * 0.9 * np.eye(p), r=0.1 * np.eye(p))


def a_monitor(rows: Floats, **changed: object) -> Monitor:
    asked = {"sensors": 2, "arl0": 40.0, "method": "innovation_filter", "progress": False}
    return Monitor.fit(rows, **{**asked, **changed})  # type: ignore[arg-type]


def test_rows_with_memory_get_its_model_and_the_bound() -> None:
    rows = a_plant(4, 0.8).simulate(1, 400, np.random.default_rng(1))[0]
    monitor = a_monitor(rows)
    assert monitor.limit.value == pytest.approx(np.log(40.0))
    summary = monitor.summary()
    assert "model: state space" in summary
    assert "log likelihood of a later row" in summary
    assert "needs no calibration" in summary
    assert "40 asked" in summary


def test_with_most_streams_read_the_limit_is_simulated() -> None:
    rows = a_plant(3, 0.8).simulate(1, 150, np.random.default_rng(1))[0]
    monitor = a_monitor(rows, arl0=20.0, model="state_space", paths=16)
    assert monitor.limit.value < np.log(20.0)
    assert "by simulation of fit and run together" in monitor.summary()


def test_rows_without_memory_get_a_cross_fitted_limit() -> None:
    rows = np.random.default_rng(2).normal(size=(400, 4))
    monitor = a_monitor(rows, paths=50)
    assert monitor.method.problem.dynamics is None
    assert "model: rows independent of each other" in monitor.summary()
    assert "limit: cross-fitted" in monitor.summary()


@pytest.mark.parametrize(("kind", "change"), [("mean down", -4.0), ("variance", 0.0)])
def test_a_monitor_names_what_changed_and_how(kind: str, change: float) -> None:
    rng = np.random.default_rng(5)
    rows = a_plant(4, 0.5).simulate(1, 260, rng)[0]
    monitor = a_monitor(rows[:220], model="state_space")
    rows[220:, 3] = rows[220:, 3] + change if change else 6.0 * rows[220:, 3]
    for row in rows[220:]:
        monitor.update({name: row[int(name[1:]) - 1] for name in monitor.next})
    stream, (how, chance) = next(iter(monitor.changes().items()))
    assert (stream, how) == ("x4", kind)
    assert chance > 0.9


def test_other_methods_are_told_nothing_of_memory() -> None:
    monitor = a_monitor(example_plant()[:300].to_numpy(), method="greedy", paths=20)
    assert monitor.changes() == {}
    assert monitor.method.problem.dynamics is None
    assert "model:" not in monitor.summary()


def test_a_simulated_limit_reaches_what_was_asked_on_fresh_rows() -> None:
    """Over several plants, each with its own fit: the promise counts the fit, too."""
    plant, lengths, ended = a_plant(4, 0.7), [], []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        rows = plant.simulate(1, 200, rng)[0]
        monitor = a_monitor(rows, arl0=30.0, limit="simulated", model="state_space", paths=160)
        assert "by simulation of fit and run together" in monitor.summary()
        fresh = (plant.simulate(90, 150, rng) - monitor.mean) / monitor.sd
        seen = statistics(monitor.method, fresh, None, rng)
        length, without = run_lengths(seen, monitor.limit.value)
        lengths.append(length)
        ended.append(without)
    reached = average_run_length(np.concatenate(lengths), np.concatenate(ended))
    # 160 paths set each limit and 180 runs check them; fits differ from each other besides.
    assert 30.0 * 0.7 < reached < 30.0 * 1.45


def test_a_fitted_monitor_resumes_from_its_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    plant = replace(a_plant(5, 0.8), period=np.array([1.0, 1.0, 3.0, 1.0, 1.0]))
    rows = plant.simulate(1, 440, rng)[0]
    monitor = a_monitor(rows[:400])
    for row in rows[400:420]:
        monitor.update({name: row[int(name[1:]) - 1] for name in monitor.next})
    monitor.save(tmp_path / "a.monitor")
    again = Monitor.load(tmp_path / "a.monitor")
    assert again.summary() == monitor.summary()
    for row in rows[420:]:
        named = {name: row[int(name[1:]) - 1] for name in monitor.next}
        assert again.update(named) == monitor.update(named)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"model": "var"}, "no model 'var'; give auto, independent, state_space"),
        ({"limit": "guess"}, "no limit 'guess'"),
        ({"method": "greedy", "model": "state_space"}, "greedy makes no use of a state-space"),
        ({"method": "greedy", "limit": "bound"}, "needs a model of the rows' memory"),
        ({"model": "state_space", "limit": "cross_fitted"}, "joins blocks of rows"),
        ({"model": "state_space", "arl0": 1.0}, "arl0 is 1"),
    ],
)
def test_choices_that_do_not_go_together_are_named(changed: dict[str, object], words: str) -> None:
    rows = np.random.default_rng(3).normal(size=(120, 3))
    with pytest.raises(ConfigError, match=words):
        a_monitor(rows, **changed)


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(DataError, match="too few to tell"):
        a_monitor(np.random.default_rng(3).normal(size=(90, 3)), model="state_space")


def test_alarms_are_counted_and_the_watch_begins_anew() -> None:
    """Each watch of a plant that is far off alarms again and again."""
    model = a_plant(3, 0.0)
    method = InnovationFilter(Problem(model.covariance, 3, dynamics=model))
    rng = np.random.default_rng(0)
    assert count_alarms(method, np.zeros((50, 3)), bounding_limit(50.0), rng) == 0
    far = count_alarms(method, np.full((50, 3), 30.0), bounding_limit(50.0), rng)
    assert far == 50


def test_the_interval_counts_rows_and_how_much_recordings_differ() -> None:
    """Against the chi-square limits of a Poisson rate of ten alarms in 500 rows."""
    found = known_from(np.array([500.0]), np.array([10.0]))
    assert found.value == 50.0
    assert found.low == pytest.approx(500 / 18.390, rel=1e-3)
    assert found.high == pytest.approx(500 / 4.795, rel=1e-3)
    alike = known_from(np.full(5, 100.0), np.array([2.0, 3, 1, 2, 2]))
    assert (alike.low, alike.high) == (found.low, found.high)
    none = known_from(np.array([500.0]), np.zeros(1))
    assert (none.value, none.high) == (None, None)
    assert none.low == pytest.approx(500 / 3.689, rel=1e-3)
    # All alarms in one recording of five: a dispersion of ten, so the weight of one alarm in 50.
    uneven = known_from(np.full(5, 100.0), np.array([10.0, 0, 0, 0, 0]))
    assert uneven.value == 50.0
    assert uneven.low == pytest.approx(50 / 5.572, rel=1e-3)
    assert uneven.high == pytest.approx(50 / 0.02532, rel=1e-3)


def test_after_an_alarm_the_filter_knows_where_the_plant_is() -> None:
    """A plant that has strayed slowly, and stays there, is no second change."""
    model = a_plant(3, 0.98)
    method = InnovationFilter(Problem(model.covariance, 3, dynamics=model))
    rng = np.random.default_rng(0)
    state = method.start(2, None, rng)
    everything = np.tile(np.arange(3), (2, 1))
    for _ in range(30):
        state = method.observe(state, everything, np.full((2, 3), 6.0), rng)
    again = method.again(state, np.array([1]), None, rng)
    np.testing.assert_array_equal(again.mean, state.mean)
    np.testing.assert_array_equal(again.covariance, state.covariance)
    np.testing.assert_array_equal(again.total[0], state.total[0])
    assert np.isneginf(again.total[1]).all()
    anew = state.put(np.array([1]), method.start(1, None, rng))
    kept, forgotten = (
        method.statistic(method.observe(one, everything, np.full((2, 3), 6.0), rng))[1]
        for one in (again, anew)
    )
    assert kept < 1.0
    assert forgotten > bounding_limit(200.0)


def test_rows_held_out_are_told_beside_those_left_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    plant = a_plant(4, 0.6)
    monitor = a_monitor(plant.simulate(1, 300, rng)[0], model="state_space")
    monitor.check(*plant.simulate(3, 200, rng))
    assert "600 rows held out, of 3 recordings" in monitor.summary()
    assert not monitor.falls_short
    off = plant.simulate(2, 100, rng) + 8.0
    with pytest.warns(FallsShort, match="DO NOT RELY ON IT"):
        far = monitor.check(*off)
    assert far.value is not None
    assert far.value < 20
    monitor.save(tmp_path / "a.monitor")
    with pytest.warns(FallsShort, match="more than twice as often"):
        again = Monitor.load(tmp_path / "a.monitor")
    assert again.summary() == monitor.summary()
    with pytest.raises(DataError, match="recording 1 does not have the streams"):
        monitor.check(example_plant()[:50])
    with pytest.raises(ConfigError, match="no recording"):
        monitor.check()


def test_a_broken_promise_is_said_first_with_its_reason(tmp_path: Path) -> None:
    """A plant whose streams change within the normal rows."""
    rows = np.random.default_rng(6).normal(size=(300, 3))
    rows[240:] += 3.0
    with pytest.warns(FallsShort, match="change inside:"):
        monitor = a_monitor(rows, model="state_space")
    assert monitor.falls_short
    monitor.save(tmp_path / "a.monitor")
    with pytest.warns(FallsShort, match="change inside:"):
        loaded = Monitor.load(tmp_path / "a.monitor")
    for one in (monitor, loaded):
        lines = one.summary().splitlines()
        assert lines[0].startswith("DO NOT RELY ON IT")
        assert lines[1].startswith("change inside:")
        assert "deviations from row 240 on" in lines[1]
        assert "40 asked" in lines[3]


def test_a_command_that_falls_short_has_a_status_of_its_own(tmp_path: Path) -> None:
    rows = np.random.default_rng(6).normal(size=(360, 3))
    rows[240:300] += 3.0
    rows[300:] += 9.0
    file, kept = tmp_path / "plant.csv", tmp_path / "a.monitor"
    np.savetxt(file, rows, delimiter=",", header="a,b,c", comments="")
    asked = ["fit", str(file), "--sensors", "1", "--arl0", "40", "-o", str(kept)]
    asked += ["--method", "innovation_filter", "--model", "state_space"]
    run = CliRunner().invoke
    broken = run(app, [*asked, "--normal", "1:300"])
    assert broken.exit_code == 4
    assert broken.stdout.startswith("DO NOT RELY ON IT")
    assert run(app, [*asked, "--normal", "1:300", "--anyway"]).exit_code == 0
    watched = run(app, ["watch", str(kept), str(file)])
    assert watched.stderr.startswith("DO NOT RELY ON IT")
    assert "change inside:" in watched.stderr
    # The fit itself is sound, and other rows show that it does not hold for them.
    sound = run(app, [*asked, "--normal", "1:240"])
    assert sound.exit_code == 0
    elsewhere = run(app, [*asked, "--normal", "1:240", "--held-out", "301:360"])
    assert elsewhere.exit_code == 4
    assert "on 60 rows held out (95%" in elsewhere.stdout


def test_a_drift_is_said_even_where_the_limit_has_swallowed_it() -> None:
    rows = np.random.default_rng(7).normal(size=(400, 4))
    rows[:, 1] += np.linspace(-3, 3, 400)
    monitor = a_monitor(rows, method="greedy", paths=50)
    assert "drift: " in monitor.summary()
    assert "x2 (+" in monitor.summary()
