"""What holds for every method: its limit gives the wanted rate of false alarms."""

from pathlib import Path

import numpy as np
import pytest

from causaldq.evaluation.calibration import average_run_length, limit_for, run_lengths
from causaldq.loading import load_config
from causaldq.methods.base import Method, Problem, Truth
from causaldq.methods.registry import INDEX_METHODS
from causaldq.monitor import delays, statistics
from causaldq.seeds import generator
from causaldq.shifts import shifted_streams
from causaldq.streams.simulation import simulate
from causaldq.types import Floats

ROOT = Path(__file__).parents[2]
M, K, ARL0, PATHS = 4, 3, 50.0, 400
CONFIG = load_config(ROOT / "config", {})
MODEL = simulate(CONFIG.sources["sim_p10"], generator(5, "methods"))


def build(name: str) -> Method:  # type: ignore[type-arg]
    problem = Problem(MODEL.covariance, M, CONFIG.statistic, CONFIG.baselines)
    return INDEX_METHODS[name](problem)


def truth_for(name: str, n: int, rng: np.random.Generator) -> Truth | None:
    if not INDEX_METHODS[name].is_bound:
        return None
    shifted = shifted_streams("fair", n, MODEL.p, K, rng)
    return Truth(shifted, 0.5 * shifted)


def in_control(name: str, purpose: str) -> Floats:
    rng = generator(11, name, purpose)
    paths = MODEL.in_control(PATHS, int(6 * ARL0), generator(11, purpose))
    return statistics(build(name), paths, truth_for(name, PATHS, rng), rng)


@pytest.mark.parametrize("name", INDEX_METHODS)
def test_a_calibrated_limit_reaches_arl0_on_fresh_paths(name: str) -> None:
    # Both run lengths have a relative error of about 1/sqrt(400): their ratio stays within
    # 30% but for one case in 10,000, over ten methods one in 1,000.
    limit = limit_for(in_control(name, "calibration"), ARL0)
    reached = average_run_length(*run_lengths(in_control(name, "fresh"), limit))
    assert reached == pytest.approx(ARL0, rel=0.3)


@pytest.mark.parametrize("name", INDEX_METHODS)
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


@pytest.mark.parametrize("name", INDEX_METHODS)
def test_a_large_shift_is_found_sooner_than_a_small_one(name: str) -> None:
    limit = limit_for(in_control(name, "calibration"), ARL0)
    rng = generator(11, name, "sizes")
    paths = MODEL.in_control(PATHS, 80, generator(11, "sizes"))
    shifted = shifted_streams("fair", PATHS, MODEL.p, K, rng)
    means = [delta * shifted for delta in (0.5, 3.0)]
    is_bound = INDEX_METHODS[name].is_bound
    truths = [Truth(shifted, mean) if is_bound else None for mean in means]
    small, large = delays(build(name), paths, 20, means, truths, limit, rng)
    assert large.delay[~large.false_alarm].mean() < 0.6 * small.delay[~small.false_alarm].mean()
