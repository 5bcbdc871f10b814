"""Building the method that a job monitors with."""

from pathlib import Path
from typing import Any

from causaldq.files import read_arrays
from causaldq.jobs.settings.monitor import MonitorSettings
from causaldq.methods.base import Method, Problem
from causaldq.methods.build import build, method_class
from causaldq.setting import Protocol
from causaldq.streams.model import StreamModel

GRAPHS, NETWORK = "graphs", "network"
"""Names among the files given: possible causal graphs, and a network for all problems. The
others are networks of one problem, by protocol."""


def build_method(
    job: MonitorSettings, protocol: Protocol, model: StreamModel, given: dict[str, Path]
) -> Method[Any]:
    """The method, with its network if it is a learned one."""
    graphs = read_arrays(given[GRAPHS], GRAPHS)[GRAPHS] if GRAPHS in given else None
    problem = Problem(model.covariance, job.m, job.statistic, graphs)
    kind = method_class(job.method)
    if kind is not None:
        return build(kind, problem, job.options, given.get(NETWORK))
    from causaldq.agent.checkpoint import load_checkpoint
    from causaldq.agent.policy import LearnedPolicy

    expected = {
        "p": model.p,
        "m": job.m,
        "settings": {
            "plan": {"protocol": protocol},
            "statistic": job.statistic.model_dump(),
        },
    }
    return LearnedPolicy(problem, load_checkpoint(given[protocol], expected))
