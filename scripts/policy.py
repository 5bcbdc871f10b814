"""Put a calibrated method into one file, for `python -m causaldq monitor`."""

from pathlib import Path

from causaldq import command
from causaldq.jobs.policy import run_policy
from causaldq.jobs.settings.monitor import PolicyJob

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, PolicyJob)
    parser.add_argument("--streams", type=Path, required=True, help="made by prepare.py")
    parser.add_argument("--limits", type=Path, required=True, help="made by calibrate.py")
    command.add_given(parser)
    parser.add_argument("--output", type=Path, required=True, help="policy file")
    command.run(
        parser,
        lambda a: run_policy(
            command.settings(a.settings, PolicyJob),
            a.streams,
            a.limits,
            command.given(a.given),
            a.output,
        ),
    )
