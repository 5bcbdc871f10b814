"""Graphs that a source's in-control rows allow."""

from pathlib import Path

from causaldq.discovery.uncertainty import possible_graphs
from causaldq.files import write_arrays
from causaldq.jobs.settings.possible_graphs import PossibleGraphsJob
from causaldq.seeds import generator
from causaldq.streams.model import StreamModel


def run_possible_graphs(job: PossibleGraphsJob, streams: Path, output: Path) -> None:
    """Draw several, equally likely, for methods that weigh them."""
    model = StreamModel.load(streams)
    rng = generator(job.seed, job.source, "possible graphs")
    write_arrays(output, {"graphs": possible_graphs(model, job.discovery, job.uncertainty, rng)})
