"""The files that a row of a tidy table comes from."""

from collections.abc import Iterable
from pathlib import Path


def joined(files: Iterable[Path | str]) -> str:
    """As they stand in the column `files`: each once, in order."""
    return ";".join(dict.fromkeys(map(str, files)))
