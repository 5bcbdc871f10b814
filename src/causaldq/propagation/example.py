"""One run, told in full: what was read until the alarm, whom the method accuses, and why."""

from typing import Any

import numpy as np

from causaldq.methods.causal_sr import CausalSr
from causaldq.monitor import step
from causaldq.propagation.study import Study
from causaldq.root_cause import direct_effects, majority, ranked_causes

SHOWN = 3
"""Causes that are told of."""


def example(study: Study) -> dict[str, Any]:
    """The first replication of the first cell that alarms after the change."""
    job = study.job
    contestant = next(c for c in job.contestants if c.method == "causal_sr")
    method = study.method(contestant)
    if not isinstance(method, CausalSr):
        raise TypeError("the example is told of causal_sr")
    limit = study.limit(method, f"{contestant.method}.{contestant.told}")
    steps = job.in_control_steps + job.horizon
    paths = study.model.in_control(job.replications, steps, study._rng("test"))
    graph = majority(method.graphs())
    for run in range(job.replications):
        rng = study._rng("example", run)
        state = method.start(1, None, rng)
        trace: list[float] = []
        for t in range(steps):
            shifted = study.cells.mean[run] if t >= job.in_control_steps else 0.0
            state, read, value = step(method, state, paths[run : run + 1, t] + shifted, rng)
            trace.append(float(value[0]))
            if value[0] > limit:
                break
        if trace[-1] > limit and len(trace) > job.in_control_steps:
            effects = direct_effects(graph, method.covariance)
            causes = ranked_causes(method, state, 0, read[0], effects, SHOWN)
            return {
                "problem": job.problem,
                "graph": job.graph,
                "run": run,
                "delta": job.deltas[0],
                "streams": list(study.model.names),
                "true_cause": int(study.cells.causes[run].argmax()),
                "change": job.in_control_steps,
                "statistic": trace,
                "limit": limit,
                "read": read[0].tolist(),
                "mean": study.cells.mean[run].tolist(),
                "posterior": method.cause_posterior(state)[0].tolist(),
                "estimated_edges": np.argwhere(graph).tolist(),
                "true_edges": np.argwhere(study.model.effects).tolist(),
                "causes": [
                    {
                        "stream": cause.stream,
                        "posterior": cause.posterior,
                        "shift": cause.shift,
                        "explains": [
                            {"stream": e.stream, "path": list(e.path), "expected": e.expected}
                            for e in cause.explanations
                        ],
                    }
                    for cause in causes
                ],
            }
    raise ValueError("no replication alarmed after the change")
