"""Simulation of a source."""

from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.files import write_json
from causaldq.pipeline import places
from causaldq.seeds import generator
from causaldq.setting import Settings
from causaldq.worlds.simulation import SimulationSource, simulate

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Plan


class SimulateJob(Settings):
    seed: int
    source: str
    simulation: SimulationSource


def settings(plan: "Plan", source: str) -> SimulateJob:
    return plan.share(SimulateJob, source=source, simulation=plan.simulated()[source])


OUTPUTS = {"streams": places.STREAMS, "facts": places.STREAM_FACTS}


def run(job: SimulateJob, *, streams: Path, facts: Path) -> None:
    """Draw a random causal graph, a model on it, and in-control rows."""
    model = simulate(job.simulation, generator(job.seed, job.source, "streams"))
    model.save(streams)
    write_json(
        facts,
        {"label": "simulation", "p": model.p, "streams": list(model.names), "notes": []},
    )
