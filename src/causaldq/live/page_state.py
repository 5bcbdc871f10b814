"""What the page and Prometheus are shown: the latest records, and counts of all."""

from collections import Counter, deque
from collections.abc import Mapping
from secrets import token_hex
from threading import Lock
from typing import Any

from causaldq.live.records import Record
from causaldq.live.session import Session

ROWS = 300
"""Latest rows that the page shows."""
EVENTS = 200


class PageState:
    """Takes records from the watch's thread, and hands them to the server's."""

    def __init__(self, session: Session) -> None:
        monitor = session.monitor
        self.session, self.lock = session, Lock()
        self.start = session.start()
        edges = [[int(i), int(j)] for i, j in zip(*monitor.graph.nonzero(), strict=True)]
        self.plant = {
            "streams": list(monitor.names),
            "mean": [float(x) for x in monitor.mean],
            "sd": [float(x) for x in monitor.sd],
            "method": monitor.name,
            "limit": monitor.limit.value,
            "edges": edges,
        }
        self.recent: deque[tuple[int, Record]] = deque(maxlen=ROWS)
        self.events: deque[tuple[int, Record]] = deque(maxlen=EVENTS)
        self.run = token_hex(4)
        """Of this process: numbers of another one mean other records."""
        self.number = 0
        self.counts: Counter[tuple[str, str]] = Counter()
        self.closed = False

    def write(self, record: Record) -> None:
        """Show a record."""
        with self.lock:
            self.number += 1
            kept = self.events if record["kind"] == "event" else self.recent
            kept.append((self.number, record))
            for key in _counted(record):
                self.counts[key] += 1

    def id_of(self, number: int) -> str:
        """A number that no other process gives."""
        return f"{self.run}-{number}"

    def number_of(self, told: str) -> int | None:
        """The number in what `id_of` gave; None if another process gave it."""
        run, _, number = told.rpartition("-")
        known = run == self.run and number.isdecimal() and len(number) < 16
        return int(number) if known else None

    def since(self, number: int) -> list[tuple[int, Record]]:
        """Records after one, in order; of very many only the latest."""
        with self.lock:
            found = [*self.recent, *self.events]
        return sorted((n, record) for n, record in found if n > number) if found else []

    def snapshot(self) -> dict[str, Any]:
        """All that a page needs to begin with."""
        alarm = self.session.alarm
        with self.lock:
            return {
                "plant": self.plant,
                "number": self.id_of(self.number),
                "alarm": alarm and alarm.record | {"acknowledged": alarm.acknowledged},
                "maintenance": self.session.maintenance,
                "next": self.session.next,
                "rows": [record for _, record in self.recent],
                "events": [record for _, record in self.events],
            }

    def metrics(self) -> str:
        """As Prometheus reads it."""
        session = self.session
        with self.lock:
            counts = dict(self.counts)
            last = next((r for _, r in reversed(self.recent) if r["kind"] == "reading"), None)
        alarm = session.alarm
        numbers: dict[str, tuple[str, str, Mapping[str, float]]] = {
            "rows_total": ("counter", "Rows taken in.", {"": float(session.monitor.step)}),
            "limit": ("gauge", "The alarm limit.", {"": session.monitor.limit.value}),
            "alarm": ("gauge", "1 while there is an alarm.", {"": float(alarm is not None)}),
            "alarm_unacknowledged": (
                "gauge",
                "1 while there is an alarm that nobody has acknowledged.",
                {"": float(alarm is not None and not alarm.acknowledged)},
            ),
            "alarms_total": ("counter", "Alarms raised.", {"": float(session.alarms)}),
            "faults_total": ("counter", "Faults of the monitor.", {"": float(session.faults)}),
            "maintenance": ("gauge", "1 during maintenance.", {"": float(session.maintenance)}),
            "skipped_total": ("counter", "Lines that were no new row.", _of(counts, "reason")),
            "missing_total": ("counter", "Readings that did not come.", _of(counts, "missing")),
            "aside_total": ("counter", "Readings put aside.", _of(counts, "aside")),
        }
        if last is not None and last["statistic"] is not None:
            value = {"": float(last["statistic"])}
            numbers["statistic"] = ("gauge", "The alarm statistic.", value)
        return "".join(_family(f"causaldq_{name}", *told) for name, told in numbers.items())


def _counted(record: Record) -> list[tuple[str, str]]:
    if record["kind"] == "skipped":
        return [("reason", record["reason"])]
    if record["kind"] != "reading":
        return []
    return [(word, name) for word in ("missing", "aside") for name in record[word]]


def _of(counts: Mapping[tuple[str, str], int], word: str) -> dict[str, float]:
    """Values by their label."""
    label = "reason" if word == "reason" else "stream"
    return {
        f'{{{label}="{_escaped(name)}"}}': float(count)
        for (kind, name), count in sorted(counts.items())
        if kind == word
    }


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _family(name: str, kind: str, words: str, values: Mapping[str, float]) -> str:
    if not values:
        return ""
    lines = [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
    lines += [f"{name}{label} {value!r}" for label, value in values.items()]
    return "\n".join(lines) + "\n"
