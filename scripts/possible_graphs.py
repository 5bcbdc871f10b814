"""Draw several causal graphs that the in-control rows allow."""

from pathlib import Path

from causaldq import command
from causaldq.jobs.possible_graphs import run_possible_graphs
from causaldq.jobs.settings.possible_graphs import PossibleGraphsJob

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, PossibleGraphsJob)
    parser.add_argument("--streams", type=Path, required=True, help="made by simulate.py")
    parser.add_argument("--output", type=Path, required=True, help="graphs, .npz")
    command.run(
        parser,
        lambda a: run_possible_graphs(
            command.settings(a.settings, PossibleGraphsJob), a.streams, a.output
        ),
    )
