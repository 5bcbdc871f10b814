"""Graphs that a source's in-control rows allow."""

from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.discovery.settings import DiscoverySettings, UncertaintySettings
from causaldq.discovery.uncertainty import possible_graphs
from causaldq.files import write_arrays
from causaldq.models.streams import StreamModel
from causaldq.pipeline import places
from causaldq.seeds import generator
from causaldq.setting import Settings

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


class PossibleGraphsJob(Settings):
    seed: int
    source: str
    discovery: DiscoverySettings
    uncertainty: UncertaintySettings


def settings(plan: "Plan", source: str) -> PossibleGraphsJob:
    return plan.share(PossibleGraphsJob, source=source)


def inputs(plan: "Plan", source: str) -> "Files":
    return {"streams": plan.place(places.STREAMS, source=source)}


OUTPUTS = {"output": places.POSSIBLE_GRAPHS}


def run(job: PossibleGraphsJob, *, streams: Path, output: Path) -> None:
    """Draw several causal graphs, equally likely, that the in-control rows allow."""
    model = StreamModel.load(streams)
    rng = generator(job.seed, job.source, "possible graphs")
    write_arrays(output, {"graphs": possible_graphs(model, job.discovery, job.uncertainty, rng)})
