"""The tidy summaries of all training runs."""

from pathlib import Path

from causaldq.config import Config
from causaldq.evaluation.aggregate import read_published
from causaldq.evaluation.contributing import joined
from causaldq.evaluation.graphs import graph_table
from causaldq.evaluation.training import read_curves, summarise
from causaldq.files import write_csv
from causaldq.plan import Plan


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
    summary = summarise(logs, config.evaluation.confidence)
    trained: dict[tuple[str, str, str], list[Path]] = {}
    for path in curves:
        scenario, method, _, protocol = path.stem.split(".")
        trained.setdefault((scenario, protocol, method), []).append(path)
    keys = zip(summary["scenario"], summary["protocol"], summary["method"], strict=True)
    write_csv(output, summary.assign(files=[joined(trained[key]) for key in keys]))
    write_csv(tidy, logs)
    by_graph = {path.stem: path for path in summaries}
    quality = graph_table(config, logs, by_graph, read_published(published))
    plan = Plan(config)
    used = [
        [*trained[scenario, "paper", method], by_graph[plan.graph_of(scenario)]]
        for scenario, method in zip(quality["scenario"], quality["method"], strict=True)
    ]
    write_csv(graphs, quality.assign(files=[joined(paths) for paths in used]))
