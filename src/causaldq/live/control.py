"""Commands while it runs: lines appended to a file, or what another thread hands over."""

from collections import deque
from pathlib import Path

LONGEST = 1000
"""Bytes of a command."""
MOST = 1 << 16
"""Bytes looked at in one go."""


class Control:
    """Commands in the order in which they came."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.waiting: deque[str] = deque()
        """From other threads: `append` and `popleft` need no lock."""
        self.offset = self._size()
        """What stood in the file before is not for this run."""

    @property
    def place(self) -> str | None:
        """Where the file is, for a state."""
        return str(self.path.resolve()) if self.path else None

    def _size(self) -> int:
        try:
            return self.path.stat().st_size if self.path and self.path.is_file() else 0
        except OSError:
            return 0

    def take(self) -> list[str]:
        """Commands that have come since the last call."""
        found = []
        while self.waiting:
            found.append(self.waiting.popleft())
        size = self._size()
        if size < self.offset:  # the file was emptied
            self.offset = 0
        if self.path is None or size == self.offset:
            return found
        try:
            with self.path.open("rb") as handle:
                handle.seek(self.offset)
                read = handle.read(MOST)
        except OSError:
            return found
        whole = read.rfind(b"\n") + 1
        if not whole and len(read) == MOST:
            whole = MOST  # a line without an end is no command
        self.offset += whole
        lines = (line.strip() for line in read[:whole].split(b"\n"))
        return [
            *found,
            *(line[:LONGEST].decode(errors="replace") for line in lines if line),
        ]
