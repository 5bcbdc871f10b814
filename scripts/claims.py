"""Judge the paper's claims by what was measured."""

from pathlib import Path

from causaldq import command
from causaldq.config import Config
from causaldq.report.jobs import run_claims

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, Config)
    parser.add_argument("--tidy", type=Path, nargs="+", required=True, help="tidy results")
    parser.add_argument("--claims", type=Path, required=True, help="the paper's claims, .yaml")
    parser.add_argument("--comparison", type=Path, required=True, help="its first table, .yaml")
    parser.add_argument("--output", type=Path, required=True, help="claims judged, .csv")
    parser.add_argument("--cells", type=Path, required=True, help="cells behind them, .csv")
    parser.add_argument("--compared", type=Path, required=True, help="table 1, judged, .csv")
    command.run(
        parser,
        lambda a: run_claims(
            command.settings(a.settings, Config),
            a.tidy,
            a.claims,
            a.comparison,
            a.output,
            a.cells,
            a.compared,
        ),
    )
