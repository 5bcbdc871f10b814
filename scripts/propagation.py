"""Shift causes and their effects on one random graph; see who alarms first and names the cause."""

from pathlib import Path

from causaldq import command
from causaldq.propagation.jobs import run_propagation
from causaldq.propagation.settings import StudyJob

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, StudyJob)
    command.add_given(parser)
    parser.add_argument("--output", type=Path, required=True, help="delays and ranks, .csv")
    parser.add_argument("--example", type=Path, required=True, help="one run in full, .json")
    command.run(
        parser,
        lambda a: run_propagation(
            command.settings(a.settings, StudyJob), command.given(a.given), a.output, a.example
        ),
    )
