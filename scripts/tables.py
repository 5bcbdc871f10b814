"""Write each LaTeX table and its tidy twin from the tidy table."""

from pathlib import Path

from causaldq import command
from causaldq.report.jobs import run_claims, run_tables


def _tables(a):
    run_tables(a.add, a.training, a.theory, a.folder, a.headline)
    run_claims(a.claims, a.theory, a.verdicts)


if __name__ == "__main__":
    parser = command.parser(__doc__)
    parser.add_argument("--add", type=Path, required=True, help="made by aggregate.py")
    parser.add_argument("--training", type=Path, help="made by summarise_training.py")
    parser.add_argument("--theory", type=Path, required=True, help="made by theory.py")
    parser.add_argument("--claims", type=Path, required=True, help="the paper's claims, .yaml")
    parser.add_argument("--verdicts", type=Path, required=True, help="claims judged, .csv")
    parser.add_argument("--folder", type=Path, required=True, help="where the tables go")
    parser.add_argument("--headline", type=Path, required=True, help="Markdown for people")
    command.run(parser, lambda a: _tables(a))
