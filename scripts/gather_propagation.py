"""Gather all random graphs of the study on propagation, and compare methods over them."""

from pathlib import Path

from causaldq import command
from causaldq.propagation.jobs import run_gather

if __name__ == "__main__":
    parser = command.parser(__doc__)
    parser.add_argument("--graphs", type=Path, nargs="+", required=True, help="by propagation.py")
    parser.add_argument("--told", type=Path, required=True, help="one run, by propagation.py")
    parser.add_argument("--confidence", type=float, required=True, help="of intervals")
    parser.add_argument("--output", type=Path, required=True, help="all graphs, .csv")
    parser.add_argument("--compared", type=Path, required=True, help="ratios of delays, .csv")
    parser.add_argument("--example", type=Path, required=True, help="the one run, .json")
    command.run(
        parser,
        lambda a: run_gather(a.graphs, a.told, a.confidence, a.output, a.compared, a.example),
    )
