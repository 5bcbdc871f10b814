"""The tidy summaries of all training runs."""

from pathlib import Path

from causaldq.config import Config
from causaldq.evaluation.aggregate import read_published
from causaldq.evaluation.graphs import graph_table
from causaldq.evaluation.training import read_curves, summarise
from causaldq.files import write_csv


def run_summarise_training(
    config: Config,
    curves: list[Path],
    summaries: list[Path],
    published: Path,
    output: Path,
    tidy: Path,
    graphs: Path,
) -> None:
    """Where each method's training ends, and how soon; all logs in one table; graph quality."""
    logs = read_curves(curves)
    write_csv(output, summarise(logs, config.evaluation.confidence))
    write_csv(tidy, logs)
    by_graph = {path.stem: path for path in summaries}
    write_csv(graphs, graph_table(config, logs, by_graph, read_published(published)))
