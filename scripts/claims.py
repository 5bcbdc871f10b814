"""Judge the paper's claims by what was measured."""

from pathlib import Path

from causaldq import command
from causaldq.report.jobs import run_claims

if __name__ == "__main__":
    parser = command.parser(__doc__)
    parser.add_argument("--claims", type=Path, required=True, help="the paper's claims, .yaml")
    parser.add_argument("--theory", type=Path, required=True, help="made by theory.py")
    parser.add_argument("--output", type=Path, required=True, help="claims judged, .csv")
    command.run(parser, lambda a: run_claims(a.claims, a.theory, a.output))
