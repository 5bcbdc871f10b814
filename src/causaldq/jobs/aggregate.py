"""The tidy tables of all runs."""

from pathlib import Path

from causaldq.config import Config
from causaldq.evaluation.aggregate import aggregate, aggregate_events, gather, read_published
from causaldq.files import write_csv


def run_aggregate(
    config: Config,
    runs: list[Path],
    limits: list[Path],
    facts: list[Path],
    published: Path,
    output: Path,
    events: Path,
) -> None:
    """Gather all runs into the tidy tables: injected shifts, recorded events."""
    gathered = gather(config, _by_name(runs), _by_name(limits), _by_name(facts))
    write_csv(output, aggregate(gathered, read_published(published)))
    write_csv(events, aggregate_events(gathered))


def _by_name(paths: list[Path]) -> dict[str, Path]:
    return {path.stem: path for path in paths}
