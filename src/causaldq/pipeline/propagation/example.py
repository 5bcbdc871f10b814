"""One run, told in full: what was read until the alarm, the root cause identified, and why."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from causaldq.discovery.effects import direct_effects
from causaldq.methods.causal_sr import CausalSr, CausalSrState
from causaldq.pipeline.propagation.study import Study
from causaldq.rootcause import Cause, majority, ranked_causes
from causaldq.run import step
from causaldq.types import Floats, Ints

SHOWN = 3
"""Causes that are told of."""


@dataclass(frozen=True)
class Told:
    """A replication until its alarm, or its end."""

    run: int
    statistic: list[float]
    read: Ints
    """(m,), the streams read last."""
    state: CausalSrState


def example(study: Study) -> dict[str, Any]:
    """The first replication of the first cell that alarms after the change; the first if none."""
    job = study.job
    contestant = next(c for c in job.contestants if c.method == "causal_sr")
    method = study.method(contestant)
    if not isinstance(method, CausalSr):
        raise TypeError("the example is told of causal_sr")
    limit = study.limit(method, f"{contestant.method}.{contestant.told}")
    steps = job.in_control_steps + job.horizon
    paths = study.model.in_control(job.replications, steps, study.rng("test"))
    runs = [_told(study, method, limit, paths, run) for run in range(job.replications)]
    told = next((t for t in runs if _alarms_in_time(t, limit, job.in_control_steps)), runs[0])
    graph = majority(method.graphs())
    effects = direct_effects(graph, method.covariance)
    causes = ranked_causes(method, told.state, 0, told.read, effects, SHOWN)
    return {
        "problem": job.problem,
        "graph": job.graph,
        "run": told.run,
        "delta": job.deltas[0],
        "streams": list(study.model.names),
        "true_cause": int(study.cells.causes[told.run].argmax()),
        "change": job.in_control_steps,
        "statistic": told.statistic,
        "limit": limit,
        "read": told.read.tolist(),
        "mean": study.cells.mean[told.run].tolist(),
        "posterior": method.cause_posterior(told.state)[0].tolist(),
        "estimated_edges": np.argwhere(graph).tolist(),
        "true_edges": np.argwhere(study.model.effects).tolist(),
        "causes": [_written(cause) for cause in causes],
    }


def _told(study: Study, method: CausalSr, limit: float, paths: Floats, run: int) -> Told:
    rng, change = study.rng("example", run), study.job.in_control_steps
    state = method.start(1, None, rng)
    trace: list[float] = []
    for t in range(paths.shape[1]):
        shifted = study.cells.mean[run] if t >= change else 0.0
        state, read, value = step(method, state, paths[run : run + 1, t] + shifted, rng)
        trace.append(float(value[0]))
        if trace[-1] > limit:
            break
    return Told(run, trace, read[0], state)


def _alarms_in_time(told: Told, limit: float, change: int) -> bool:
    return told.statistic[-1] > limit and len(told.statistic) > change


def _written(cause: Cause) -> dict[str, Any]:
    return {
        "stream": cause.stream,
        "posterior": cause.posterior,
        "shift": cause.shift,
        "explains": [
            {"stream": e.stream, "path": list(e.path), "expected": e.expected}
            for e in cause.explanations
        ],
    }
