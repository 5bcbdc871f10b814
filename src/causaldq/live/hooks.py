"""Who is told of an alarm: a program, an address. Never a shell, and never in the rows' way."""

import subprocess
import threading
import urllib.request
from collections.abc import Callable
from queue import Queue

from causaldq.files import one_line
from causaldq.live.records import Record, as_line
from causaldq.live.settings import OnAlarm

TOLD = ("raised", "repeated", "fault")
TRIES = 3


class Hooks:
    """Tells of events in a thread of its own, in their order; what fails is said."""

    def __init__(self, settings: OnAlarm, say: Callable[[str], None]) -> None:
        self.settings, self.say = settings, say
        self.queue: Queue[Record | None] = Queue()
        self.thread = threading.Thread(target=self._work, daemon=True)
        if settings.command or settings.webhook:
            self.thread.start()

    def write(self, record: Record) -> None:
        """Take up a record, if it is one to tell of."""
        if self.thread.ident and record.get("event") in TOLD:
            self.queue.put(record)

    def close(self) -> None:
        """Wait until all has been told."""
        if self.thread.ident:
            self.queue.put(None)
            self.thread.join()

    def _work(self) -> None:
        while (record := self.queue.get()) is not None:
            text = as_line(record).encode()
            for name, tell in (("command", self._run), ("webhook", self._post)):
                if getattr(self.settings, name):
                    self._try(name, tell, text)

    def _try(self, name: str, tell: Callable[[bytes], None], text: bytes) -> None:
        for left in reversed(range(TRIES)):
            try:
                tell(text)
                break
            except Exception as error:  # whatever the other side does, the next event is told
                if not left:
                    self.say(f"on_alarm.{name} failed {TRIES} times: {one_line(error)}")

    def _run(self, text: bytes) -> None:
        """The event comes to standard input: nothing of it is part of the command."""
        subprocess.run(
            self.settings.command,
            input=text + b"\n",
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=self.settings.patience,
        )

    def _post(self, text: bytes) -> None:
        request = urllib.request.Request(
            self.settings.webhook, text, {"Content-Type": "application/json"}, method="POST"
        )
        with urllib.request.urlopen(request, timeout=self.settings.patience) as answer:
            answer.read(1)
