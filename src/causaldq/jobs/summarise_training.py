"""The tidy summary of all training runs."""

from pathlib import Path

from causaldq.evaluation.training import read_curves, summarise
from causaldq.files import write_csv


def run_summarise_training(curves: list[Path], confidence: float, output: Path) -> None:
    """Where each method's training ends, and how soon."""
    write_csv(output, summarise(read_curves(curves), confidence))
