"""A watch from its first line to its last: source, session, outputs, commands, state, signals."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from causaldq.errors import DataError
from causaldq.live.control import Control
from causaldq.live.outputs import Output, RecordFile, say
from causaldq.live.records import Record
from causaldq.live.replay import Replay
from causaldq.live.rows import Row, RowReader, Skipped
from causaldq.live.session import Session
from causaldq.live.source import EndOfRowsError, PipeSource, Source
from causaldq.sealed import read_sealed, write_sealed

VERSION = 2
"""Of the state file."""
REMEDY = "begin with another --state"


class WatchLoop:
    """Runs a session on a source.

    The state is saved before the first record, after every command, after every `save_every` rows
    and at the end, each time with the lengths of the files written: a run that was killed cuts
    them there and writes the same again.
    """

    def __init__(
        self,
        session: Session,
        reader: RowReader,
        source: Source,
        *,
        outputs: Sequence[Output] = (),
        files: Sequence[RecordFile] = (),
        control: Control | None = None,
        state: Path | None = None,
        save_every: int = 1,
    ) -> None:
        self.session, self.reader, self.source = session, reader, source
        self.outputs, self.files = [*outputs, *files], list(files)
        self.control = control or Control()
        self.state, self.save_every = state, save_every
        self.identity = session.monitor.identity
        self.stopping = False
        self.replay = Replay()
        self._started = False
        self._unsaved = 0

    def run(self) -> None:
        """Until the rows end, an alarm is to be the end, or a signal comes."""
        with _signals(self):
            if self.state and self.state.exists():
                self._resume(self.state)
            else:
                for file in self.files:
                    file.begin()
                self.save()
            if not self._started:
                self._started = True
                self._write([self.session.start()])
            while not (self.stopping or self.session.ended):
                self._commands()
                try:
                    line = self.source.line()
                except EndOfRowsError:
                    break
                if line is not None:
                    self._line(line)
            self._commands()
            self._end_replay()
            self.save()
        if not (self.reader.header or self.stopping):
            raise DataError(f"{self.reader.place} has no rows, not even a header")
        if self.stopping and self.state:
            say(f"saved after row {self.session.monitor.step}")

    def _commands(self) -> None:
        given = self.control.take()
        for text in given:
            self._write(self.session.command(text))
        if given:
            self.save()

    def _line(self, line: bytes) -> None:
        if self.source.at_start():
            self.reader.begin(resumed=self.replay.on)
        found = self.reader.take(line)
        known = isinstance(found, Skipped) and found.reason in ("doubled", "late")
        if self.replay.on and known and self.replay.came_again(line):
            self.reader.clock.behind = 0
            return
        if isinstance(found, Row):
            self._end_replay()
            if isinstance(self.source, PipeSource):
                self.replay.remember(line)
        if found is not None:
            self._write(self.session.take(found))
        self._unsaved += 1
        if self._unsaved >= self.save_every:
            self.save()

    def _end_replay(self) -> None:
        if self.replay.count:
            say(f"{self.replay.count} rows came again and were left out")
        self.replay.on, self.replay.count = False, 0

    def _write(self, records: list[Record]) -> None:
        for record in records:
            for output in self.outputs:
                output.write(record)

    # --- state ---------------------------------------------------------------------------------

    def save(self) -> None:
        """Write the state, if one is kept; after all records that belong to it."""
        self._unsaved = 0
        if self.state is None:
            return
        facts, arrays = self.session.snapshot()
        whole = {
            "identity": self.identity,
            "started": self._started,
            "settings": self.session.settings.model_dump(mode="json"),
            "session": facts,
            "reader": self.reader.snapshot(),
            "source": self.source.position(),
            "replay": self.replay.snapshot(),
            "control": [self.control.place, self.control.offset],
            "files": {file.name: file.size() for file in self.files},
        }
        write_sealed(self.state, "state", VERSION, whole, arrays)

    def _resume(self, path: Path) -> None:
        facts, arrays = read_sealed(path, "state", VERSION, REMEDY)
        if facts.get("identity") != self.identity:
            raise DataError(f"{path} belongs to another monitor; {REMEDY}")
        try:
            self._restore(facts, arrays)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path} is no state, or damaged ({error!r}); {REMEDY}") from None
        time = self.session.time
        when = "" if time is None else f" (time {time})"
        say(f"resumed after row {self.session.monitor.step}{when}")

    def _restore(self, facts: dict[str, Any], arrays: Any) -> None:
        self._started = bool(facts["started"])
        self.session.restore(facts["session"], arrays)
        self.reader.restore(facts["reader"])
        now = self.session.settings.model_dump(mode="json")
        if facts["settings"] != now:
            say("the settings have changed since the state was saved: the new ones hold")
        if facts["settings"]["sensors"] != now["sensors"]:
            self._use_new_rules(set(facts["settings"]["sensors"]["without"]))
        self.source.seek(facts["source"])
        if isinstance(self.source, PipeSource):
            self.replay.restore(facts["replay"])
        place, offset = facts["control"]
        if place == self.control.place:  # of another file, what stands there is not for this run
            self.control.offset = int(offset)
        for file in self.files:
            if file.name not in facts["files"]:
                raise DataError(f"the state was saved without --{file.name}; {REMEDY}")
            file.resume(int(facts["files"][file.name]))

    def _use_new_rules(self, before: set[str]) -> None:
        """The rules of the settings, and which commands they undo; before: left out by the old."""
        monitor, rules = self.session.monitor, self.session.settings.sensors
        had, has = set(monitor.sensors.without), set(rules.without)
        undone = [f"without {name}" for name in sorted(had - before - has)]
        undone += [f"with {name}" for name in sorted((before - had) & has)]
        if undone:
            say(f"the new rules for sensors undo commands: {', '.join(undone)}; give them again")
        monitor.use(rules)


@contextmanager
def _signals(loop: WatchLoop) -> Iterator[None]:
    """SIGTERM and SIGINT end the run after the row at hand, with its state saved."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        loop.stopping = True

    kinds = (signal.SIGTERM, signal.SIGINT)
    try:
        before = [signal.signal(kind, stop) for kind in kinds]
    except ValueError:  # not in the main thread, where signals come
        yield
        return
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
