"""Where lines come from: a file, a folder that files are dropped into, or a pipe."""

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from select import select
from typing import Any, BinaryIO, Protocol

from causaldq.errors import DataError
from causaldq.tables.layout import LONGEST_LINE

WAIT = 0.2
"""Seconds until commands and signals are looked at again while no row comes."""


NO_TEXT = {b"\x1f\x8b": "compressed", b"PAR1": "Parquet", b"PK": "a workbook or an archive"}
"""How files begin that hold no lines."""


class EndOfRowsError(Exception):
    """No line will ever come."""


class Source(Protocol):
    """Lines, one after the other."""

    def line(self) -> bytes | None:
        """The next line, or None if none has come for a while; raises `EndOfRowsError`."""

    def at_start(self) -> bool:
        """Whether the line just given is the first of a file."""

    def position(self) -> dict[str, Any]:
        """Where the next line begins, for `seek`."""

    def seek(self, position: dict[str, Any]) -> None:
        """Go on at a position, refused if what is before it is not what was read."""


class FileSource:
    """A file; with `follow`, also what is appended to it later."""

    def __init__(
        self,
        path: Path,
        *,
        follow: bool = False,
        leave_half: bool = False,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.path, self.follow, self.say = path, follow, say
        self.leave_half = leave_half
        """Whether a last line without an end is left for the next run."""
        self.handle: BinaryIO = path.open("rb")
        self.offset, self.last = 0, b""
        self.first = False

    def line(self) -> bytes | None:
        found = self.whole_line()
        if found is not None:
            return found
        if self.follow:
            return self._wait()
        found = self.handle.readline(LONGEST_LINE + 1)
        if not found:
            raise EndOfRowsError
        if not found.endswith(b"\n") and self.leave_half:
            self.handle.seek(self.offset)
            self.say(
                f"{self.path.name}: the last line has no line end and may be half written; it is"
                " left for the next run"
            )
            raise EndOfRowsError
        return self._taken(found)

    def whole_line(self) -> bytes | None:
        """The next line if its end is there; where not, nothing is taken."""
        found = rest = self.handle.readline(LONGEST_LINE + 1)
        if len(found) > LONGEST_LINE:
            while rest and not rest.endswith(b"\n"):
                rest = self.handle.readline(LONGEST_LINE)
        elif not found.endswith(b"\n"):
            self.handle.seek(self.offset)
            return None
        return self._taken(found)

    def _taken(self, found: bytes) -> bytes:
        self.first = self.offset == 0
        self.offset, self.last = self.handle.tell(), found
        return found

    def _wait(self) -> bytes | None:
        """The rest of the line is still to come; a file that was replaced is opened again."""
        try:
            there, here = self.path.stat(), os.fstat(self.handle.fileno())
            if there.st_size < self.offset or not os.path.samestat(there, here):
                # What was written to the old one before it went has to be read first.
                if (found := self.whole_line()) is not None:
                    return found
                self._reopen()
        except FileNotFoundError:
            pass  # between two versions of it
        time.sleep(WAIT)
        return None

    def _reopen(self) -> None:
        """Go on in a file that begins as the one before did, or else at its start."""
        position = self.position()
        handle = self.path.open("rb")
        self.handle.close()
        self.handle = handle
        if not self._agrees(position):
            self.say(f"{self.path.name} was replaced or cut; it is read from its start")
            self.offset, self.last = 0, b""
        self.handle.seek(self.offset)

    def _agrees(self, position: dict[str, Any]) -> bool:
        """Whether the line before a position is the one that was read there."""
        offset, length = int(position["offset"]), int(position["length"])
        if self.path.stat().st_size < offset:
            return False
        self.handle.seek(max(offset - length, 0))
        return hashlib.sha256(self.handle.read(length)).hexdigest() == str(position["sha256"])

    def at_start(self) -> bool:
        return self.first

    def position(self) -> dict[str, Any]:
        # Of a line that was too long the end is not known: it is not compared.
        last = self.last if len(self.last) <= LONGEST_LINE else b""
        return {
            "file": self.path.name,
            "offset": self.offset,
            "length": len(last),
            "sha256": hashlib.sha256(last).hexdigest(),
        }

    def seek(self, position: dict[str, Any]) -> None:
        offset, length = int(position["offset"]), int(position["length"])
        if position["file"] != self.path.name or not self._agrees(position):
            raise DataError(
                f"{self.path} is not the file that the state was saved with ({position['file']}, up"
                f" to byte {offset}); give that file, or begin with another --state"
            )
        self.handle.seek(offset - length)
        self.offset, self.last = offset, self.handle.read(length)


class FolderSource:
    """CSV files of a folder, in the order of their names; with `follow`, also later ones."""

    def __init__(
        self,
        folder: Path,
        *,
        follow: bool = False,
        leave_half: bool = False,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.folder, self.follow, self.say = folder, follow, say
        self.leave_half = leave_half
        self.current: FileSource | None = None
        self.known: set[str] = set()

    def _names(self) -> list[str]:
        with os.scandir(self.folder) as entries:
            files = [entry.name for entry in entries if entry.is_file()]
        return sorted(name for name in files if os.path.splitext(name)[1].lower() == ".csv")

    def line(self) -> bytes | None:
        while True:
            # A look at the folder takes long where it holds the files of a year.
            if self.current and (found := self.current.whole_line()) is not None:
                return found
            now = self.current.path.name if self.current else ""
            names = self._names()
            later = [name for name in names if name > now]
            if self.current:
                # Only the newest file can still grow.
                self.current.follow = self.follow and not later
                self.current.leave_half = self.leave_half and not later
                try:
                    return self.current.line()
                except EndOfRowsError:
                    pass
            for name in names:
                if name < now and name not in self.known:
                    self.say(f"{name} came after {now} was taken up, and is left out")
            self.known.update(names)
            if later:
                self._take_up(later[0])
            elif self.follow:
                time.sleep(WAIT)
                return None
            else:
                raise EndOfRowsError

    def _take_up(self, name: str) -> None:
        if self.current:
            self.current.handle.close()
        self.current = FileSource(self.folder / name, say=self.say)

    def at_start(self) -> bool:
        return self.current is not None and self.current.first

    def position(self) -> dict[str, Any]:
        return self.current.position() if self.current else {}

    def seek(self, position: dict[str, Any]) -> None:
        if not position:
            return
        if not (self.folder / position["file"]).is_file():
            raise DataError(
                f"{self.folder} has no {position['file']}, which was being read when the state was"
                " saved; put it back, or begin with another --state"
            )
        self.known = {name for name in self._names() if name <= position["file"]}
        self._take_up(position["file"])
        if self.current:
            self.current.seek(position)


class PipeSource:
    """Standard input, or anything with a file descriptor; it cannot be read again."""

    def __init__(self, handle: BinaryIO) -> None:
        self.handle = handle
        self.buffer, self.ended, self.lines = b"", False, 0

    def line(self) -> bytes | None:
        while b"\n" not in self.buffer and not self.ended:
            if len(self.buffer) > 2 * LONGEST_LINE:
                self.buffer = self.buffer[: LONGEST_LINE + 1]
            if not self._ready():
                return None
            read = self._read()
            self.ended = not read
            self.buffer += read
        line, newline, self.buffer = self.buffer.partition(b"\n")
        if not line and not newline:
            raise EndOfRowsError
        self.lines += 1
        return line + newline

    def _ready(self) -> bool:
        try:
            return bool(select([self.handle.fileno()], [], [], WAIT)[0])
        except (OSError, ValueError):  # no descriptor: it never waits
            return True

    def _read(self) -> bytes:
        try:
            return os.read(self.handle.fileno(), 1 << 16)
        except (OSError, ValueError):
            return self.handle.read(1 << 16)

    def at_start(self) -> bool:
        return self.lines == 1

    def position(self) -> dict[str, Any]:
        return {}

    def seek(self, position: dict[str, Any]) -> None:
        """What was read is gone; rows that come again are told by their time."""


def source_of(
    name: str,
    handle: BinaryIO,
    *,
    follow: bool,
    say: Callable[[str], None],
    leave_half: bool = False,
) -> FileSource | FolderSource | PipeSource:
    """What a name on the command line stands for."""
    if name == "-":
        return PipeSource(handle)
    if Path(name).is_dir():
        return FolderSource(Path(name), follow=follow, leave_half=leave_half, say=say)
    path = Path(name)
    if path.exists() and not path.is_file():  # a named pipe, a device, <(...)
        return PipeSource(path.open("rb", buffering=0))
    if path.is_file():
        with path.open("rb") as file:
            begins = file.read(4)
        if kind := next((k for start, k in NO_TEXT.items() if begins.startswith(start)), None):
            raise DataError(
                f"{path} is {kind}, and rows are read as lines of text; give a CSV, or what unpacks"
                f" it: `zcat {path.name} | causaldq watch MONITOR -`"
            )
    return FileSource(path, follow=follow, leave_half=leave_half, say=say)
