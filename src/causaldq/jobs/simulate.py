"""Simulation of a source."""

from pathlib import Path

from causaldq.files import write_json
from causaldq.jobs.settings.data import SimulateJob
from causaldq.seeds import generator
from causaldq.streams.simulation import simulate


def run_simulate(job: SimulateJob, output: Path, facts: Path) -> None:
    """Draw a graph, a model on it, and in-control rows."""
    model = simulate(job.simulation, generator(job.seed, job.source, "streams"))
    model.save(output)
    write_json(
        facts,
        {"label": "simulation", "p": model.p, "streams": list(model.names), "notes": []},
    )
