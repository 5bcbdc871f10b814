"""Gather all runs into the tidy table, with the published numbers beside the measured ones."""

from pathlib import Path

from causaldq import command
from causaldq.config import Config
from causaldq.jobs.aggregate import run_aggregate

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, Config)
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="made by evaluate.py")
    parser.add_argument("--limits", type=Path, nargs="+", required=True, help="by calibrate.py")
    parser.add_argument("--facts", type=Path, nargs="+", required=True, help="of the sources")
    parser.add_argument("--published", type=Path, required=True, help="the paper's numbers, .csv")
    parser.add_argument("--output", type=Path, required=True, help="tidy table, .csv")
    parser.add_argument("--events", type=Path, required=True, help="recorded events, tidy, .csv")
    command.run(
        parser,
        lambda a: run_aggregate(
            command.settings(a.settings, Config),
            a.runs,
            a.limits,
            a.facts,
            a.published,
            a.output,
            a.events,
        ),
    )
