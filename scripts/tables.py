"""Write each LaTeX table and its tidy twin from the tidy table."""

from pathlib import Path

from causaldq import command
from causaldq.report.jobs import run_tables

if __name__ == "__main__":
    parser = command.parser(__doc__)
    parser.add_argument("--add", type=Path, required=True, help="made by aggregate.py")
    parser.add_argument("--training", type=Path, help="made by summarise_training.py")
    parser.add_argument("--folder", type=Path, required=True, help="where the tables go")
    parser.add_argument("--headline", type=Path, required=True, help="Markdown for people")
    command.run(parser, lambda a: run_tables(a.add, a.training, a.folder, a.headline))
