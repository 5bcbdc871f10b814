"""Files that methods are given, as a command line names them for several runs."""

from collections.abc import Iterable
from pathlib import Path

Given = dict[str, dict[str, Path]]
"""By run, and by what they are: graphs, a network, or networks by protocol."""


def by_run(texts: Iterable[str]) -> Given:
    """From RUN:NAME=FILE."""
    found: Given = {}
    for text in texts:
        place, _, path = text.partition("=")
        run, _, name = place.partition(":")
        found.setdefault(run, {})[name] = Path(path)
    return found
