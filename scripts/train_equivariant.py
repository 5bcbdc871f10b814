"""Train the one network for all problems, on problems of its own."""

from pathlib import Path

from causaldq import command
from causaldq.equivariant.settings import EquivariantJob
from causaldq.jobs.train_equivariant import run_train_equivariant

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, EquivariantJob)
    parser.add_argument("--output", type=Path, required=True, help="checkpoint")
    parser.add_argument("--curve", type=Path, required=True, help="one row a round")
    command.run(
        parser,
        lambda a: run_train_equivariant(
            command.settings(a.settings, EquivariantJob), a.output, a.curve
        ),
    )
