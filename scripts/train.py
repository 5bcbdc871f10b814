"""Train one double Q-network. Killed and started again, it goes on where it was."""

from pathlib import Path

from causaldq import command
from causaldq.agent.settings import TrainingSettings
from causaldq.jobs.train import run_train

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, TrainingSettings)
    parser.add_argument("--streams", type=Path, required=True, help="made by simulate.py")
    parser.add_argument("--graph", type=Path, required=True, help="made by discover.py")
    parser.add_argument("--output", type=Path, required=True, help="checkpoint, .safetensors")
    parser.add_argument("--curve", type=Path, required=True, help="one row an epoch, .csv")
    command.run(
        parser,
        lambda a: run_train(
            command.settings(a.settings, TrainingSettings), a.streams, a.graph, a.output, a.curve
        ),
    )
