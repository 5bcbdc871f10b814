"""Train double Q-networks in turn. Killed and started again, it goes on where it was."""

from pathlib import Path

from causaldq import command
from causaldq.agent.settings import TrainJob
from causaldq.jobs.train import run_train

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, TrainJob)
    parser.add_argument("--streams", type=Path, required=True, help="made by simulate.py")
    parser.add_argument("--graph", type=Path, required=True, help="made by discover.py")
    parser.add_argument("--output", type=Path, nargs="+", required=True, help="checkpoints")
    parser.add_argument("--curve", type=Path, nargs="+", required=True, help="one row an epoch")
    command.run(
        parser,
        lambda a: run_train(
            command.settings(a.settings, TrainJob), a.streams, a.graph, a.output, a.curve
        ),
    )
