"""Draw figures, as PDF and PNG, from the tidy results."""

from pathlib import Path

from causaldq import command
from causaldq.config import Config
from causaldq.report.jobs import run_figures

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, Config)
    parser.add_argument("--tidy", type=Path, nargs="+", required=True, help="tidy results")
    parser.add_argument("--names", nargs="+", required=True, help="which figures to draw")
    parser.add_argument("--folder", type=Path, required=True, help="where the figures go")
    command.run(
        parser,
        lambda a: run_figures(command.settings(a.settings, Config), a.tidy, a.names, a.folder),
    )
