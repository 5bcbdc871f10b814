"""Put all tables and figures into one PDF. Needs LaTeX (latexmk)."""

from pathlib import Path

from causaldq import command
from causaldq.config import Config
from causaldq.report.jobs import run_document

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, Config)
    parser.add_argument("--tidy", type=Path, nargs="+", required=True, help="tidy results")
    parser.add_argument("--tables", type=Path, nargs="+", required=True, help="by tables.py")
    parser.add_argument("--figures", type=Path, nargs="+", required=True, help="by figures.py")
    parser.add_argument("--output", type=Path, required=True, help="the PDF")
    command.run(
        parser,
        lambda a: run_document(
            command.settings(a.settings, Config), a.tidy, a.tables, a.figures, a.output
        ),
    )
