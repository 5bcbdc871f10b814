"""What holds for every method: its limit gives the wanted rate of false alarms."""

from pathlib import Path

import numpy as np
import pytest
from made import made

from causaldq.calibration import average_run_length, limit_for, run_lengths
from causaldq.files import read_json
from causaldq.methods.base import Method, Problem, Truth
from causaldq.methods.registry import index_methods
from causaldq.models.streams import Records, StreamModel
from causaldq.pipeline.jobs import calibrate
from causaldq.pipeline.jobs.calibrate import CalibrateJob
from causaldq.pipeline.loading import load_config
from causaldq.run import delays, statistics, step
from causaldq.seeds import generator
from causaldq.types import Floats
from causaldq.worlds.shifts import shifted_streams
from causaldq.worlds.simulation import simulate

ROOT = Path(__file__).parents[2]
M, K, ARL0, PATHS = 4, 3, 50.0, 400
CONFIG = load_config(ROOT / "config", {})
MODEL = simulate(CONFIG.sources["sim_p10"], generator(5, "methods"))


def build(name: str) -> Method:  # type: ignore[type-arg]
    problem = Problem(MODEL.covariance, M, CONFIG.statistic)
    return made(name, problem)


def truth_for(name: str, n: int, rng: np.random.Generator) -> Truth | None:
    if not index_methods()[name].is_bound:
        return None
    shifted = shifted_streams("fair", n, K, np.arange(MODEL.p), rng)
    return Truth(shifted, 0.5 * shifted)


def in_control(name: str, purpose: str) -> Floats:
    rng = generator(11, name, purpose)
    paths = MODEL.in_control(PATHS, int(6 * ARL0), generator(11, purpose))
    return statistics(build(name), paths, truth_for(name, PATHS, rng), rng)


@pytest.mark.parametrize("name", index_methods())
def test_a_calibrated_limit_reaches_arl0_on_fresh_paths(name: str) -> None:
    # Both run lengths have a relative error of about 1/sqrt(400): their ratio stays within
    # 30% but for one case in 10,000, over ten methods one in 1,000.
    limit = limit_for(in_control(name, "calibration"), ARL0)
    reached = average_run_length(*run_lengths(in_control(name, "fresh"), limit))
    assert reached == pytest.approx(ARL0, rel=0.3)


@pytest.mark.parametrize("name", index_methods())
def test_a_shift_of_zero_gives_the_in_control_run_length(name: str) -> None:
    limit = limit_for(in_control(name, "calibration"), ARL0)
    rng = generator(11, name, "zero")
    horizon = 100
    paths = MODEL.in_control(PATHS, horizon, generator(11, "zero"))
    truth = truth_for(name, PATHS, rng)
    nothing = np.zeros((PATHS, MODEL.p))
    outcome = delays(build(name), paths, 0, [nothing], [truth], limit, rng)[0]
    lengths, censored = run_lengths(in_control(name, "fresh")[:, :horizon], limit)
    assert not outcome.false_alarm.any()
    # Two means of 400 capped run lengths with a standard deviation of at most 40: 5 standard
    # errors of their difference are 14.
    assert outcome.delay.mean() == pytest.approx(lengths.mean(), abs=14)
    assert outcome.censored.mean() == pytest.approx(censored.mean(), abs=0.18)


@pytest.mark.parametrize("name", index_methods())
def test_a_large_shift_is_found_sooner_than_a_small_one(name: str) -> None:
    limit = limit_for(in_control(name, "calibration"), ARL0)
    rng = generator(11, name, "sizes")
    paths = MODEL.in_control(PATHS, 80, generator(11, "sizes"))
    shifted = shifted_streams("fair", PATHS, K, np.arange(MODEL.p), rng)
    means = [delta * shifted for delta in (0.5, 3.0)]
    is_bound = index_methods()[name].is_bound
    truths = [Truth(shifted, mean) if is_bound else None for mean in means]
    small, large = delays(build(name), paths, 20, means, truths, limit, rng)
    assert large.delay[~large.false_alarm].mean() < 0.6 * small.delay[~small.false_alarm].mean()


@pytest.mark.parametrize("name", index_methods())
def test_a_step_of_no_runs_is_a_step(name: str) -> None:
    """Whoever monitors need not ask whether a run is left."""
    rng = generator(11, name, "nobody")
    method = build(name)
    state = method.start(0, truth_for(name, 0, rng), rng)
    for _ in range(2):  # the second begins with a past
        state, streams, value = step(method, state, np.empty((0, MODEL.p)), rng)
        assert streams.shape[0] == 0
        assert value.shape == (0,)


def test_limits_for_recorded_streams_allow_for_their_memory(tmp_path: Path) -> None:
    """Autocorrelated rows alarm more often; blocks of rows show it, single rows would not."""
    rng = np.random.default_rng(8)
    p, memory = 5, 0.7

    def autoregression(n: int, steps: int) -> Floats:
        values = np.empty((n, steps, p))
        values[:, 0] = rng.standard_normal((n, p))
        for t in range(1, steps):
            fresh = rng.standard_normal((n, p))
            values[:, t] = memory * values[:, t - 1] + np.sqrt(1 - memory**2) * fresh
        return values

    names = tuple(f"x{i}" for i in range(p))
    rows = autoregression(1, 3000)[0]
    none = np.empty((0, p))
    records = Records(np.zeros(p), np.ones(p), autoregression(1, 500)[0], none, none, 0)
    model = StreamModel(names, rows, np.eye(p), np.zeros((p, p)), records)
    model.save(tmp_path / "streams.npz")
    settings = CONFIG.calibration.model_copy(update={"arl0": ARL0, "paths": 400})
    job = CalibrateJob(
        seed=1, unit="recorded", source="recorded", method="greedy", m=2, protocols=["fair"],
        statistic=CONFIG.statistic, options=CONFIG.options_of("greedy"), calibration=settings,
        confidence=0.95, bootstrap=200, k=None, cells=None, propagate=False, places="first",
        grid=[],
    )  # fmt: skip
    files = {"streams": tmp_path / "streams.npz", "output": tmp_path / "limits.json"}
    calibrate.run(job, given={}, **files)
    limit = read_json(tmp_path / "limits.json")["fair"]["*"]["limit"]

    greedy = made("greedy", Problem(np.eye(p), 2, CONFIG.statistic))
    real = statistics(greedy, autoregression(PATHS, 300), None, rng)
    reached = average_run_length(*run_lengths(real, limit))
    # 3000 rows hold about 500 independent ones, so the limit itself is uncertain.
    assert reached == pytest.approx(ARL0, rel=0.4)
    single = rows[rng.integers(len(rows), size=(PATHS, 300))]
    naive = limit_for(statistics(greedy, single, None, rng), ARL0)
    assert average_run_length(*run_lengths(real, naive)) < 0.6 * ARL0


def test_a_published_quantile_is_taken_over_whole_paths(tmp_path: Path) -> None:
    """Paths that stop after an alarm would leave out what a quantile over all steps counts."""
    MODEL.save(tmp_path / "streams.npz")
    settings = CONFIG.calibration.model_copy(update={"arl0": ARL0, "paths": 40, "fresh_paths": 10})
    job = CalibrateJob(
        seed=1, unit="asmp", source="sim", method="asmp", m=M, protocols=["fair", "paper"],
        statistic=CONFIG.statistic, options=CONFIG.options_of("asmp"), calibration=settings,
        confidence=0.95, bootstrap=200, k=None, cells=None, propagate=False, places="first",
        grid=[],
    )  # fmt: skip
    files = {"streams": tmp_path / "streams.npz", "output": tmp_path / "limits.json"}
    calibrate.run(job, given={}, **files)
    found = read_json(tmp_path / "limits.json")

    steps = int(ARL0 * settings.horizon_factor)
    paths = MODEL.in_control(40, steps, generator(1, "sim", "calibration"))
    rng = generator(1, "asmp", "fair", "calibration")
    whole = statistics(build("asmp"), paths, None, rng)
    level = CONFIG.baselines.asmp.limit_level
    assert found["paper"]["*"]["limit"] == pytest.approx(np.quantile(whole, level), rel=1e-9)
    assert found["fair"]["*"]["limit"] == pytest.approx(limit_for(whole, ARL0), rel=0.1)
