"""Let every method name the cause of recorded faults whose origin is documented."""

from pathlib import Path

from causaldq import command
from causaldq.jobs.given import by_run
from causaldq.jobs.name_causes import run_name_causes
from causaldq.jobs.settings.name_causes import NameCausesJob

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, NameCausesJob)
    parser.add_argument("--streams", type=Path, required=True, help="made by prepare.py")
    parser.add_argument("--events", type=Path, required=True, help="faults, made by prepare.py")
    parser.add_argument("--origins", type=Path, required=True, help="where faults begin, .yaml")
    parser.add_argument("--limits", type=Path, nargs="+", required=True, help="by calibrate.py")
    parser.add_argument(
        "--given", nargs="*", default=[], metavar="RUN:NAME=FILE", help="networks and graphs"
    )
    parser.add_argument("--output", type=Path, required=True, help="whom each accuses, .csv")
    command.run(
        parser,
        lambda a: run_name_causes(
            command.settings(a.settings, NameCausesJob),
            a.streams,
            a.events,
            a.origins,
            {path.stem: path for path in a.limits},
            by_run(a.given),
            a.output,
        ),
    )
