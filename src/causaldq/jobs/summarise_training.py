"""The tidy summary of all training runs."""

from pathlib import Path

from causaldq.evaluation.training import read_curves, summarise
from causaldq.files import write_csv


def run_summarise_training(curves: list[Path], confidence: float, output: Path, tidy: Path) -> None:
    """Where each method's training ends, and how soon; and all logs in one table."""
    logs = read_curves(curves)
    write_csv(output, summarise(logs, confidence))
    write_csv(tidy, logs)
