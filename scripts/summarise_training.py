"""Gather all training logs into one table: final reward, epochs to reach it, hit shares."""

from pathlib import Path

from causaldq import command
from causaldq.jobs.summarise_training import run_summarise_training

if __name__ == "__main__":
    parser = command.parser(__doc__)
    parser.add_argument("--curves", type=Path, nargs="+", required=True, help="made by train.py")
    parser.add_argument("--confidence", type=float, required=True, help="of the intervals")
    parser.add_argument("--output", type=Path, required=True, help="summary, .csv")
    parser.add_argument("--tidy", type=Path, required=True, help="all logs in one, .csv")
    command.run(parser, lambda a: run_summarise_training(a.curves, a.confidence, a.output, a.tidy))
