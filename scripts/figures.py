"""Draw all figures, delays and training curves, as PDF and PNG."""

from pathlib import Path

from causaldq import command
from causaldq.report.jobs import run_figures

if __name__ == "__main__":
    parser = command.parser(__doc__)
    parser.add_argument("--add", type=Path, required=True, help="made by aggregate.py")
    parser.add_argument("--curves", type=Path, nargs="*", default=[], help="made by train.py")
    parser.add_argument("--theory", type=Path, required=True, help="curves made by theory.py")
    parser.add_argument("--folder", type=Path, required=True, help="where the figures go")
    command.run(parser, lambda a: run_figures(a.add, a.curves, a.theory, a.folder))
