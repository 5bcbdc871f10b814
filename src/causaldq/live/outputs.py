"""Files that records are written to, which a run that was killed goes on with exactly."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Protocol

from causaldq.errors import DataError
from causaldq.live.records import Record


class Output(Protocol):
    """Takes records."""

    def write(self, record: Record) -> None:
        """Write a record, if it is for this output."""


class Screen:
    """Standard output; what was printed cannot be taken back."""

    def __init__(self, shown: Callable[[Record], str]) -> None:
        self.shown = shown

    def write(self, record: Record) -> None:
        print(self.shown(record), flush=True)


class RecordFile:
    """A file of lines that belongs to a state: it is cut where the state was saved."""

    def __init__(
        self,
        name: str,
        path: Path,
        shown: Callable[[Record], str],
        wanted: Callable[[Record], bool] = lambda _: True,
    ) -> None:
        self.name, self.path, self.shown, self.wanted = name, path, shown, wanted
        self.handle: BinaryIO | None = None

    def begin(self) -> None:
        """Refuses to write over what is there."""
        if self.path.exists() and self.path.stat().st_size:
            raise DataError(
                f"{self.path} exists already and belongs to no state; move it away, or give another"
            )
        self.handle = self.path.open("wb")

    def resume(self, size: int) -> None:
        """Go on after so many bytes; what was written later is written again."""
        found = self.path.stat().st_size if self.path.exists() else 0
        if found < size:
            raise DataError(
                f"{self.path} has {found} bytes, but had {size} when the state was saved; put it"
                " back, or begin with another --state"
            )
        self.handle = self.path.open("r+b" if self.path.exists() else "wb")
        self.handle.truncate(size)
        self.handle.seek(size)

    def write(self, record: Record) -> None:
        if self.handle and self.wanted(record):
            try:
                self.handle.write(self.shown(record).encode() + b"\n")
                self.handle.flush()
            except OSError as error:
                error.filename = str(self.path)  # of a full disk the system tells no name
                raise

    def size(self) -> int:
        """Bytes so far, all of them on the disk."""
        if self.handle is None:
            return 0
        os.fsync(self.handle.fileno())
        return self.handle.tell()


def say(text: str) -> None:
    """To the person who started it, beside the records."""
    print(text, file=sys.stderr, flush=True)
