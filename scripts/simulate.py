"""Draw a random causal graph, a model on it, and in-control rows."""

from pathlib import Path

from causaldq import command
from causaldq.jobs.settings.data import SimulateJob
from causaldq.jobs.simulate import run_simulate

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, SimulateJob)
    parser.add_argument("--output", type=Path, required=True, help="streams, .npz")
    parser.add_argument("--facts", type=Path, required=True, help="what was made, .json")
    command.run(
        parser,
        lambda a: run_simulate(command.settings(a.settings, SimulateJob), a.output, a.facts),
    )
