"""Building the method that a job monitors with."""

from pathlib import Path
from typing import Any

from causaldq.jobs.settings import MonitorSettings
from causaldq.methods.base import Method, Problem
from causaldq.methods.registry import INDEX_METHODS
from causaldq.setting import Protocol
from causaldq.streams.model import StreamModel


def build_method(
    job: MonitorSettings, protocol: Protocol, model: StreamModel, checkpoints: dict[str, Path]
) -> Method[Any]:
    """The method, with its network if it is a learned one."""
    problem = Problem(model.covariance, job.m, job.statistic, job.baselines)
    if job.method in INDEX_METHODS:
        return INDEX_METHODS[job.method](problem)
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
    return LearnedPolicy(problem, load_checkpoint(checkpoints[protocol], expected))
