"""Injection of shifts into a scenario's replications."""

from pathlib import Path

from causaldq.jobs.settings import InjectJob
from causaldq.seeds import generator
from causaldq.shifts import inject
from causaldq.streams.model import StreamModel


def run_inject(job: InjectJob, streams: Path, output: Path) -> None:
    """Draw the test replications and the shifts that go into them."""
    inject(
        StreamModel.load(streams),
        k=job.k,
        protocols=job.protocols,
        cases=job.cases,
        propagate=job.propagate,
        replications=job.replications,
        in_control_steps=job.in_control_steps,
        horizon=job.horizon,
        rng=generator(job.seed, job.scenario, "injection"),
    ).save(output)
