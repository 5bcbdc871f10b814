"""Monitors for use outside the pipeline."""

from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.calibration import RunLength
from causaldq.errors import DataError
from causaldq.files import read_json
from causaldq.limits import Limit
from causaldq.methods.registry import registered_name
from causaldq.models.streams import StreamModel
from causaldq.monitor import Monitor
from causaldq.pipeline.method_files import MonitorSettings, build_method

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


class PolicyJob(MonitorSettings):
    source: str
    arl0: float
    """Run length that its limit was set for."""


def settings(plan: "Plan", run: str) -> PolicyJob:
    wanted, config = plan.runs[run], plan.config
    told = plan.monitoring(wanted) | {"protocols": ["fair"]}
    return plan.share(PolicyJob, config.scenarios[wanted.scenario], config.calibration, **told)


def inputs(plan: "Plan", run: str) -> "Files":
    wanted = plan.runs[run]
    return {
        "streams": plan.streams_of(wanted.scenario),
        "limits": plan.limits_file(wanted),
        "given": plan.given_to(wanted),
    }


OUTPUTS = {"output": "artifacts/{profile}/policies/{run}.monitor"}


def run(
    job: PolicyJob, *, streams: Path, limits: Path, given: dict[str, Path], output: Path
) -> None:
    """Put a method, its limit and its network into one file, as `Monitor.load` reads it."""
    model = StreamModel.load(streams)
    if model.records is None:
        raise DataError(f"{streams} is of a simulated source, which has no units")
    found = read_json(limits)["fair"]["*"]
    reached = RunLength(found["arl0"], found["low"], found["high"])
    method = build_method(job, "fair", model, given)
    Monitor(
        method,
        name=registered_name(method),
        names=model.names,
        mean=model.records.mean,
        sd=model.records.sd,
        limit=Limit(found["limit"], job.arl0, reached),
        options=job.options,
        seed=job.seed,
        facts={"rows": len(model.rows)},
    ).save(output)
