"""Which files a process reads and writes: seen, not declared.

Python reports every file that it opens or renames. What a library opens by itself, without
Python, is not seen; such files stand on the command line of the job.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class FileAccess:
    """Files of the project, as paths from its folder."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.read: set[str] = set()
        self.written: set[str] = set()
        self._listening = True

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._listening:
            return
        if event == "open":
            path, mode, flags = arguments
            self._note(path, self.written if _writes(mode, flags) else self.read)
        elif event == "os.rename":
            self._note(arguments[1], self.written)

    def _note(self, path: object, files: set[str]) -> None:
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if isinstance(path, str) and (name := within(self.root, Path(path))):
            files.add(name)

    def stop(self) -> None:
        self._listening = False


def _writes(mode: str | None, flags: int) -> bool:
    if mode is None:
        return bool(flags & (os.O_WRONLY | os.O_RDWR))
    return any(letter in mode for letter in "wax+")


@contextmanager
def watched_access(root: Path) -> Iterator[FileAccess]:
    """Listen while the block runs. Python keeps a hook for good; it falls silent after that."""
    observed = FileAccess(root)
    sys.addaudithook(observed.hear)
    try:
        yield observed
    finally:
        observed.stop()


def within(root: Path, path: Path) -> str | None:
    """A path as seen from the project's folder; None if it lies elsewhere or is no data.

    A file may itself be a link into DVC's cache; only the folders on the way are resolved.
    """
    if path.suffix in (".py", ".pyc"):
        return None
    whole = Path(os.path.realpath(path.parent)) / path.name
    if whole == root or not whole.is_relative_to(root):
        return None
    name = whole.relative_to(root)
    hidden = any(part.startswith(".") or part.endswith(".egg-info") for part in name.parts)
    return None if hidden or name.parts[0] == "logs" else name.as_posix()
