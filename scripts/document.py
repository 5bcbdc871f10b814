"""Put all tables and figures into one PDF. Needs LaTeX (latexmk)."""

from pathlib import Path

from causaldq import command
from causaldq.config import ReportSettings
from causaldq.report.jobs import run_document

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, ReportSettings)
    parser.add_argument("--add", type=Path, required=True, help="made by aggregate.py")
    parser.add_argument("--training", type=Path, help="made by summarise_training.py")
    parser.add_argument("--theory", type=Path, required=True, help="made by theory.py")
    parser.add_argument("--tables", type=Path, nargs="+", required=True, help="by tables.py")
    parser.add_argument("--figures", type=Path, nargs="+", required=True, help="by figures.py")
    parser.add_argument("--output", type=Path, required=True, help="the PDF")
    command.run(
        parser,
        lambda a: run_document(
            command.settings(a.settings, ReportSettings),
            a.add,
            a.training,
            a.theory,
            a.tables,
            a.figures,
            a.output,
        ),
    )
