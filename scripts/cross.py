"""Measure one policy with the alarm statistics of several methods."""

from pathlib import Path

from causaldq import command
from causaldq.jobs.cross import run_cross
from causaldq.jobs.given import by_run
from causaldq.jobs.settings.cross import CrossJob

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, CrossJob)
    parser.add_argument("--streams", type=Path, required=True, help="made by simulate.py")
    parser.add_argument("--injected", type=Path, required=True, help="made by inject.py")
    parser.add_argument(
        "--given", nargs="*", default=[], metavar="RUN:NAME=FILE", help="networks and graphs"
    )
    parser.add_argument("--output", type=Path, required=True, help="a row a replication, .csv")
    command.run(
        parser,
        lambda a: run_cross(
            command.settings(a.settings, CrossJob), a.streams, a.injected, by_run(a.given), a.output
        ),
    )
