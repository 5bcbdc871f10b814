"""Estimate the causal graph of the streams from in-control rows, and the effects along it."""

from pathlib import Path

from causaldq import command
from causaldq.jobs.discover import run_discover
from causaldq.jobs.settings.discover import DiscoverJob

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, DiscoverJob)
    parser.add_argument("--streams", type=Path, required=True, help="made by simulate.py")
    parser.add_argument("--output", type=Path, required=True, help="graph and effects, .npz")
    parser.add_argument("--summary", type=Path, required=True, help="edges and quality, .json")
    command.run(
        parser,
        lambda a: run_discover(
            command.settings(a.settings, DiscoverJob), a.streams, a.output, a.summary
        ),
    )
