"""Simulation of a source."""

from pathlib import Path

from causaldq.jobs.settings import SimulateJob
from causaldq.seeds import generator
from causaldq.streams.simulation import simulate


def run_simulate(job: SimulateJob, output: Path) -> None:
    """Draw a graph, a model on it, and in-control rows."""
    simulate(job.simulation, generator(job.seed, job.source, "streams")).save(output)
