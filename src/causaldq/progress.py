"""Progress of long work: a bar at a terminal, a line now and then in a log."""

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

QUIET_SECONDS = 5.0
"""Least time between two lines when nobody is watching."""


class Reporter:
    """Shows how far a piece of work is. Use as a context manager."""

    def __init__(
        self,
        what: str,
        total: int,
        unit: str,
        done: int = 0,
        *,
        lines: bool = True,
        bar: bool = True,
    ) -> None:
        """A bar at a terminal and lines elsewhere, as far as they are wanted."""
        self.what, self.total, self.unit, self.done = what, total, unit, done
        self.first = done
        self.lines = lines
        self.started = self.last = time.monotonic()
        self.bar: Progress | None = None
        if bar and sys.stderr.isatty():
            self.bar = Progress(
                TextColumn(what),
                BarColumn(),
                TextColumn(
                    f"{unit} {{task.completed:.0f}}/{{task.total:.0f}} {{task.fields[note]}}"
                ),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self.task = self.bar.add_task(what, total=total, completed=done, note="")

    def __enter__(self) -> "Reporter":
        if self.bar:
            self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar:
            self.bar.stop()

    def advance(self, note: str = "") -> None:
        """One more unit is done."""
        self.done += 1
        if self.bar:
            self.bar.update(self.task, completed=self.done, note=note)
            return
        if not self.lines:
            return
        now = time.monotonic()
        if now - self.last >= QUIET_SECONDS or self.done == self.total:
            self.last = now
            pace = (now - self.started) / (self.done - self.first)
            left = pace * (self.total - self.done)
            print(
                f"{self.what}: {self.unit} {self.done}/{self.total} {note}, {left:.0f} s left",
                file=sys.stderr,
                flush=True,
            )
