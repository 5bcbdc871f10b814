"""Standardise recorded rows by those in control, and estimate their covariance."""

from pathlib import Path

from causaldq import command
from causaldq.jobs.prepare import run_prepare
from causaldq.jobs.settings.data import PrepareJob

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, PrepareJob)
    parser.add_argument("--input", type=Path, required=True, help="by fetch.py, or your own file")
    parser.add_argument("--moments", type=Path, required=True, help="of flares, .json")
    parser.add_argument("--output", type=Path, required=True, help="streams, .npz")
    parser.add_argument("--facts", type=Path, required=True, help="what was done, .json")
    parser.add_argument("--events", type=Path, required=True, help="recorded faults, .npz")
    parser.add_argument("--tidy", type=Path, required=True, help="all rows, .parquet")
    command.run(
        parser,
        lambda a: run_prepare(
            command.settings(a.settings, PrepareJob),
            a.input,
            a.moments,
            a.output,
            a.facts,
            a.events,
            a.tidy,
        ),
    )
