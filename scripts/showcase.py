"""Look at one scenario more closely: sensors in time, the cost of fewer false alarms, places."""

from pathlib import Path

from causaldq import command
from causaldq.jobs.given import by_run
from causaldq.jobs.settings.monitor import ShowcaseJob
from causaldq.jobs.showcase import run_showcase

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, ShowcaseJob)
    parser.add_argument("--streams", type=Path, required=True, help="made by simulate.py")
    parser.add_argument("--injected", type=Path, required=True, help="made by inject.py")
    parser.add_argument("--limits", type=Path, nargs="+", required=True, help="by calibrate.py")
    parser.add_argument(
        "--given", nargs="*", default=[], metavar="RUN:NAME=FILE", help="networks and graphs"
    )
    parser.add_argument("--watch", type=Path, required=True, help="streams read, .csv")
    parser.add_argument("--tradeoff", type=Path, required=True, help="delay by run length, .csv")
    parser.add_argument("--places", type=Path, required=True, help="delay by places, .csv")
    parser.add_argument("--looks", type=Path, required=True, help="what networks look at, .csv")
    command.run(
        parser,
        lambda a: run_showcase(
            command.settings(a.settings, ShowcaseJob),
            a.streams,
            a.injected,
            {path.stem: path for path in a.limits},
            by_run(a.given),
            a.watch,
            a.tradeoff,
            a.places,
            a.looks,
        ),
    )
