"""False alarms of a plant of 20 streams that lacks readings, beside those of the complete one."""

from functools import cache

import numpy as np
import pytest

from causaldq import Monitor, Problem, simulate
from causaldq.calibration import RunLength, limit_for
from causaldq.limits import Limit
from causaldq.methods.resolve import resolved
from causaldq.run import step
from causaldq.seeds import generator

P, M, RUNS, ARL0 = 20, 5, 600, 40.0
DEAD = "s7"


@pytest.mark.parametrize("lacking", ["5% at random", "one dead"])
@pytest.mark.parametrize("method", ["bayes_posterior", "tssrp", "tssrp_cov", "tras"])
def test_false_alarms_come_as_often_where_readings_lack(method: str, lacking: str) -> None:
    whole, lacks = run_lengths(method, "nothing"), run_lengths(method, lacking)
    error = np.sqrt((whole.var() + lacks.var()) / RUNS)
    assert whole.mean() - lacks.mean() < 2.5 * error


@cache
def run_lengths(method: str, lacking: str) -> np.ndarray:
    """Steps to a false alarm, (RUNS,), of rows without memory whose law is known."""
    covariance = simulate(P, degree=3).covariance
    deviation = np.sqrt(np.diag(covariance))
    problem = Problem(covariance / np.outer(deviation, deviation), M)
    factor = np.linalg.cholesky(problem.covariance).T
    names, rng = [f"s{i}" for i in range(P)], generator(24, lacking)
    made = Monitor(
        resolved(method, problem),
        name=method,
        names=names,
        mean=np.zeros(P),
        sd=np.ones(P),
        limit=Limit(_limit(method, problem, factor), ARL0, RunLength(ARL0, ARL0, ARL0)),
    )
    lengths = []
    for _ in range(RUNS):
        made.reset()
        before = made.step
        for _ in range(2000):
            row = dict(zip(names, rng.standard_normal(P) @ factor, strict=True))
            given = {name: row[name] for name in made.next}
            if lacking.startswith("5%"):
                given = {name: x for name, x in given.items() if rng.random() > 0.05}
            if lacking == "one dead":
                given.pop(DEAD, None)
            if made.update(given).alarm:
                break
        lengths.append(made.step - before)
    return np.array(lengths)


def _limit(name: str, problem: Problem, factor: np.ndarray) -> float:
    method, rng, found = resolved(name, problem), generator(24, "limit"), []
    state = method.start(400, None, rng)
    for _ in range(240):
        state, _, statistic = step(method, state, rng.standard_normal((400, P)) @ factor, rng)
        found.append(statistic)
    return limit_for(np.array(found).T, ARL0)
