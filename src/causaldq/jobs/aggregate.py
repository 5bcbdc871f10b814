"""The tidy table of all runs."""

from pathlib import Path

from causaldq.config import Config
from causaldq.evaluation.aggregate import aggregate, read_published
from causaldq.files import write_csv


def run_aggregate(
    config: Config, runs: list[Path], limits: list[Path], published: Path, output: Path
) -> None:
    """Gather all runs into the tidy table."""
    table = aggregate(
        config,
        {path.stem: path for path in runs},
        {path.stem: path for path in limits},
        read_published(published),
    )
    write_csv(output, table)
