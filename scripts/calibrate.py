"""Set a method's alarm limits on in-control paths, and measure ARL0 on fresh ones."""

from pathlib import Path

from causaldq import command
from causaldq.jobs.calibrate import run_calibrate
from causaldq.jobs.settings.monitor import CalibrateJob

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, CalibrateJob)
    parser.add_argument("--streams", type=Path, required=True, help="made by simulate.py")
    command.add_given(parser)
    parser.add_argument("--output", type=Path, required=True, help="limits, .json")
    command.run(
        parser,
        lambda a: run_calibrate(
            command.settings(a.settings, CalibrateJob),
            a.streams,
            command.given(a.given),
            a.output,
        ),
    )
