"""Rows of a pipe that come again after a resume, told from those of a clock that was set back."""

import hashlib
from collections import deque
from dataclasses import dataclass, field
from typing import Any

LATEST = 1000
"""Rows that are known again one by one."""


@dataclass
class Replay:
    """Knows the rows that were taken from a pipe: the first, and the latest.

    A pipe that begins with the first row gives all of them again. One that begins elsewhere may
    give some of the latest again; any other row before the latest time is a new one, whose clock is
    wrong or was set back.
    """

    first: str = ""
    latest: deque[str] = field(default_factory=lambda: deque(maxlen=LATEST))
    on: bool = False
    """Whether rows may still come again."""
    whole: bool = False
    """Whether the first row came again, so that all do."""
    count: int = 0
    """Rows that came again."""

    def remember(self, line: bytes) -> None:
        """A row was taken."""
        self.latest.append(_mark(line))
        self.first = self.first or self.latest[-1]

    def came_again(self, line: bytes) -> bool:
        """Whether a row that is not after the latest time was taken before the resume."""
        mark = _mark(line)
        self.whole |= mark == self.first
        again = self.whole or mark in self.latest
        self.count += again
        return again

    def snapshot(self) -> list[str]:
        """What `restore` needs."""
        return [self.first, *self.latest]

    def restore(self, facts: list[Any]) -> None:
        """Go on after a resume: rows may come again."""
        self.first, self.on = str(facts[0]), True
        self.latest.extend(map(str, facts[1:]))


def _mark(line: bytes) -> str:
    return hashlib.blake2b(line.rstrip(b"\r\n"), digest_size=8).hexdigest()
