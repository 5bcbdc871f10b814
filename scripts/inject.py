"""Draw the test replications of a scenario and the mean shifts that go into them."""

from pathlib import Path

from causaldq import command
from causaldq.jobs.inject import run_inject
from causaldq.jobs.settings.inject import InjectJob

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, InjectJob)
    parser.add_argument("--streams", type=Path, required=True, help="made by simulate.py")
    parser.add_argument("--output", type=Path, required=True, help="injected set, .npz")
    command.run(
        parser, lambda a: run_inject(command.settings(a.settings, InjectJob), a.streams, a.output)
    )
