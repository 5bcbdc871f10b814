"""Compare methods over all shift sizes, and policies with every statistic."""

from pathlib import Path

from causaldq import command
from causaldq.config import Config
from causaldq.jobs.overall import run_overall

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, Config)
    parser.add_argument("--runs", type=Path, nargs="*", default=[], help="made by evaluate.py")
    parser.add_argument("--facts", type=Path, nargs="+", required=True, help="of the sources")
    parser.add_argument("--crossed", type=Path, nargs="*", default=[], help="made by cross.py")
    parser.add_argument("--output", type=Path, required=True, help="over all shifts, .csv")
    parser.add_argument("--cross", type=Path, required=True, help="policies by statistics, .csv")
    command.run(
        parser,
        lambda a: run_overall(
            command.settings(a.settings, Config), a.runs, a.facts, a.crossed, a.output, a.cross
        ),
    )
