"""Measure a method's detection delay in every replication of every cell of a scenario."""

from pathlib import Path

from causaldq import command
from causaldq.jobs.evaluate import run_evaluate
from causaldq.jobs.settings.monitor import EvaluateJob

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, EvaluateJob)
    parser.add_argument("--streams", type=Path, required=True, help="made by simulate.py")
    parser.add_argument("--injected", type=Path, required=True, help="made by inject.py")
    parser.add_argument("--limits", type=Path, required=True, help="made by calibrate.py")
    command.add_given(parser)
    parser.add_argument("--events", type=Path, help="recorded faults, made by prepare.py")
    parser.add_argument("--output", type=Path, required=True, help="delays, .csv")
    command.run(
        parser,
        lambda a: run_evaluate(
            command.settings(a.settings, EvaluateJob),
            a.streams,
            a.injected,
            a.limits,
            command.given(a.given),
            a.events,
            a.output,
        ),
    )
