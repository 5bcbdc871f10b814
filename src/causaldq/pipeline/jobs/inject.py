"""Injection of shifts into a scenario's replications."""

from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.errors import DataError
from causaldq.models.streams import StreamModel
from causaldq.pipeline import places
from causaldq.seeds import generator
from causaldq.setting import Case, Places, Protocol, Settings
from causaldq.worlds.shifts import InjectedSet, fixed_order, inject, insert_anomaly

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


class InjectJob(Settings):
    seed: int
    scenario: str
    m: int
    k: int
    protocols: list[Protocol]
    places: Places
    cases: list[Case]
    propagate: bool
    together: bool
    replications: int
    in_control_steps: int
    horizon: int


def settings(plan: "Plan", scenario: str) -> InjectJob:
    config = plan.config
    return plan.share(InjectJob, config.scenarios[scenario], config.evaluation, scenario=scenario)


def inputs(plan: "Plan", scenario: str) -> "Files":
    return {"streams": plan.streams_of(scenario)}


OUTPUTS = {"output": places.INJECTED}


def run(job: InjectJob, *, streams: Path, output: Path) -> None:
    """Draw the test replications of a scenario and the mean shifts that go into them."""
    model = StreamModel.load(streams)
    for key, value in (("m", job.m), ("k", job.k)):
        if value > model.p:
            raise DataError(
                f"scenarios.{job.scenario}.{key}: {value} is not allowed here; the source has"
                f" p = {model.p} streams, give at most that"
            )
    _injected(job, model).save(output)


def _injected(job: InjectJob, model: StreamModel) -> InjectedSet:
    rng = generator(job.seed, job.scenario, "injection")
    if model.records is not None and len(model.records.test_anomalous):
        return insert_anomaly(
            model,
            protocols=job.protocols,
            case=job.cases[0],
            replications=job.replications,
            horizon=job.horizon,
            rng=rng,
        )
    return inject(
        model,
        k=job.k,
        order=fixed_order(job.places, model.p, job.seed),
        protocols=job.protocols,
        cases=job.cases,
        propagate=job.propagate,
        together=job.together,
        replications=job.replications,
        in_control_steps=job.in_control_steps,
        horizon=job.horizon,
        rng=rng,
    )
