"""Gather all training logs: final reward, epochs to reach it, hit shares, graph quality."""

from pathlib import Path

from causaldq import command
from causaldq.config import Config
from causaldq.jobs.summarise_training import run_summarise_training

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, Config)
    parser.add_argument("--curves", type=Path, nargs="+", required=True, help="made by train.py")
    parser.add_argument("--summaries", type=Path, nargs="+", required=True, help="by discover.py")
    parser.add_argument("--published", type=Path, required=True, help="the paper's numbers, .csv")
    parser.add_argument("--output", type=Path, required=True, help="summary, .csv")
    parser.add_argument("--tidy", type=Path, required=True, help="all logs in one, .csv")
    parser.add_argument("--graphs", type=Path, required=True, help="graph quality, .csv")
    command.run(
        parser,
        lambda a: run_summarise_training(
            command.settings(a.settings, Config),
            a.curves,
            a.summaries,
            a.published,
            a.output,
            a.tidy,
            a.graphs,
        ),
    )
