"""Check the paper's theorems on small problems that can be solved exactly."""

from pathlib import Path

from causaldq import command
from causaldq.theory.job import run_theory
from causaldq.theory.settings import TheoryJob

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, TheoryJob)
    parser.add_argument("--output", type=Path, required=True, help="verdicts, .json")
    parser.add_argument("--curves", type=Path, required=True, help="errors and bounds, .csv")
    command.run(
        parser,
        lambda a: run_theory(command.settings(a.settings, TheoryJob), a.output, a.curves),
    )
