"""Write each LaTeX table and its tidy twin from the tidy results."""

from pathlib import Path

from causaldq import command
from causaldq.config import Config
from causaldq.report.jobs import run_tables

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, Config)
    parser.add_argument("--tidy", type=Path, nargs="+", required=True, help="tidy results")
    parser.add_argument("--folder", type=Path, required=True, help="where the tables go")
    parser.add_argument("--headline", type=Path, required=True, help="Markdown for people")
    command.run(
        parser,
        lambda a: run_tables(command.settings(a.settings, Config), a.tidy, a.folder, a.headline),
    )
