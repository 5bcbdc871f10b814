"""The whole chain against delays of independent simulations.

50 independent streams, 12 sensors, 10 streams shifted at random places and all upwards,
ARL0 = 200, 50 in-control steps before the change, delays of runs without a false alarm,
undetected runs counted as 200. The simulations agree among themselves within 5%; this
build must come within 20% of them.

Noise: the widest relative standard error, at the smallest shift, is 2.5% with 1000
replications (1.3% with 4000), and the limit adds about half as much.
"""

from typing import ClassVar, Literal

import numpy as np
import pytest
from made import DEFAULTS

from causaldq.calibration import limit_for
from causaldq.methods.base import Method, Problem, State, Truth
from causaldq.methods.build import build
from causaldq.methods.greedy import Greedy
from causaldq.methods.oracle_set import OracleSet
from causaldq.methods.random import Random
from causaldq.methods.tssrp import Tssrp
from causaldq.run import delays, statistics
from causaldq.statistic import StatisticSettings
from causaldq.worlds.shifts import shifted_streams

P, K, M = 50, 10, 12
ARL0, CALIBRATION_STEPS, CHANGE, HORIZON = 200.0, 1000, 50, 200
DELTAS = [0.25, 0.5, 1.0, 1.5, 2.0]
BLOCK = 500
"""Replications at a time, to bound the memory."""


class RandomMixture(Random):
    alarm: ClassVar[Literal["selected_sum", "mixture"]] = "mixture"


def a_problem() -> Problem:
    return Problem(np.eye(P), M, StatisticSettings(decay=0.08, form="normalised", ridge=1e-6))


def truth_for(method: Method[State], shifted: np.ndarray, delta: float) -> Truth | None:
    return Truth(shifted, delta * shifted) if method.is_bound else None


def a_limit(method: Method[State], blocks: int, rng: np.random.Generator) -> float:
    in_control = []
    for _ in range(blocks):
        paths = rng.standard_normal((BLOCK, CALIBRATION_STEPS, P))
        shifted = shifted_streams("fair", BLOCK, K, np.arange(P), rng)
        in_control.append(statistics(method, paths, truth_for(method, shifted, 1.0), rng))
    return limit_for(np.concatenate(in_control), ARL0)


def average_delays(
    method: Method[State], blocks: int, limit: float, rng: np.random.Generator
) -> list[float]:
    kept: list[list[np.ndarray]] = [[] for _ in DELTAS]
    for _ in range(blocks):
        paths = rng.standard_normal((BLOCK, CHANGE + HORIZON, P))
        shifted = shifted_streams("fair", BLOCK, K, np.arange(P), rng)
        means = [delta * shifted.astype(float) for delta in DELTAS]
        truths = [truth_for(method, shifted, delta) for delta in DELTAS]
        for i, outcome in enumerate(delays(method, paths, CHANGE, means, truths, limit, rng)):
            kept[i].append(outcome.delay[~outcome.false_alarm])
    return [float(np.concatenate(values).mean()) for values in kept]


@pytest.mark.parametrize(
    ("kind", "blocks", "expected"),
    [
        pytest.param(OracleSet, 2, [23, 8.7, 3.7, 2.5, 2.0], id="oracle_set"),
        # Long runs put greedy's delay at delta .25 near 68, 17% above: more replications
        # keep their noise away from the border.
        pytest.param(Greedy, 8, [58, 20, 7.4, 4.7, 3.3], id="greedy"),
        pytest.param(Tssrp, 2, [65, 19, 7, 4.5, 3.5], id="tssrp"),
        pytest.param(RandomMixture, 2, [94, 38, 12, 6.9, 4.6], id="random"),
    ],
)
def test_delays_are_those_of_independent_simulations(
    kind: type[Method[State]], blocks: int, expected: list[float]
) -> None:
    rng = np.random.default_rng(20250712)
    options = DEFAULTS["baselines"].get(kind.__name__.lower(), {})
    method = build(kind, a_problem(), options)
    limit = a_limit(method, blocks, rng)
    measured = average_delays(method, blocks, limit, rng)
    print(f"{kind.__name__}: limit {limit:.2f}, delays {np.round(measured, 2).tolist()}")
    assert measured == pytest.approx(expected, rel=0.2)
