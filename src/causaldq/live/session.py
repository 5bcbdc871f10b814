"""A monitor with its alarms and commands: rows and orders in, records out. No files, no clock."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from causaldq.errors import CausalDQError, DataError
from causaldq.live.records import Record, of_event, of_reading, of_skipped, plain_time, started
from causaldq.live.rows import Row, Skipped
from causaldq.live.settings import WatchSettings
from causaldq.monitor import Monitor
from causaldq.reading import Reading
from causaldq.sealed import Arrays

COMMANDS = "reset, acknowledge, without TAG, with TAG, maintenance on, maintenance off"


@dataclass
class Alarm:
    """One that was raised and is not yet cleared."""

    number: int
    acknowledged: bool = False
    below: int = 0
    """Rows in a row at which the statistic was not above its limit, although it could have been."""
    record: Record = field(default_factory=dict)
    """The event that raised or last repeated it."""

    def concerns(self, reading: Reading, without: Collection[str]) -> bool:
        """Whether a row tells anything of it: a stream that it names was read, if any can be."""
        named = set(self.record.get("streams", ())).difference(without)
        return bool(named.intersection(reading.read) if named else reading.read)


class Session:
    """A monitor at work in a plant.

    Every call returns the records that it gives rise to: what was read, what was skipped, and the
    events of an alarm, which is raised, acknowledged and cleared.

    Parameters
    ----------
    monitor : Monitor
        Takes in the rows.
    settings : WatchSettings, optional
        What follows an alarm, and what the plant allows of its sensors.

    Examples
    --------
    >>> from causaldq import Monitor, Session, example_plant
    >>> rows = example_plant()
    >>> monitor = Monitor.fit(rows[:700], sensors=3, arl0=100, method="greedy")
    >>> session = Session(monitor)
    >>> for minute, row in rows[790:].iterrows():
    ...     records = session.row(row, time=minute)
    ...     if session.alarm:
    ...         break
    >>> [record["event"] for record in records if record["kind"] == "event"]
    ['raised']
    >>> [record["event"] for record in session.command("acknowledge")]
    ['acknowledged']
    """

    def __init__(self, monitor: Monitor, settings: WatchSettings | None = None) -> None:
        self.monitor, self.settings = monitor, settings or WatchSettings()
        if settings is not None:
            monitor.use(settings.sensors)
        self.alarm: Alarm | None = None
        self.alarms = self.faults = 0
        self.maintenance = False
        self.time: Any = None

    @property
    def next(self) -> list[str]:
        """Names of the sensors to read at the next step."""
        return self.monitor.next

    @property
    def ended(self) -> bool:
        """Whether an alarm was to be the end."""
        return self.alarm is not None and self.settings.after == "stop"

    def start(self) -> Record:
        """The record that comes first."""
        limit = self.monitor.limit.value
        return started(list(self.monitor.names), self.monitor.name, limit, self.next)

    def take(self, found: Row | Skipped) -> list[Record]:
        """A line of a file, as `RowReader` made it out."""
        if isinstance(found, Skipped):
            return [of_skipped(found, self.monitor.step)]
        return self.row({name: found.values[name] for name in self.next}, found.time, found.notes)

    def row(self, values: Any, time: Any = None, notes: tuple[str, ...] = ()) -> list[Record]:
        """Take in one row of values, by name or in the order of `next`."""
        if self.maintenance:
            when = None if time is None else str(time)
            told = Skipped("maintenance", "rows are not looked at", when)
            return [of_skipped(told, self.monitor.step)]
        self.time = time
        reading = self.monitor.update(values, time)
        events = []
        if reading.fault:
            self.faults += 1
            events.append(self._event("fault", f"{reading.fault}; the monitor begins afresh"))
        events += self._follow(reading)
        if reading.alarm and self.settings.after == "restart":
            self.monitor.restart()
            reading = replace(reading, next=self.next)
        return [of_reading(reading, notes), *events]

    def _follow(self, reading: Reading) -> list[Record]:
        """Raise, repeat or clear the alarm."""
        if not reading.alarm:
            if self.alarm is None or not self.alarm.concerns(reading, self.monitor.sensors.without):
                return []
            self.alarm.below += 1
            if self.alarm.below < self.settings.clear_after:
                return []
            rows = "row" if self.alarm.below == 1 else "rows"
            return [self._cleared(f"below the limit for {self.alarm.below} {rows}")]
        most = next(iter(reading.contributions), "nothing")
        detail = f"statistic {reading.statistic:.2f} above {reading.limit:.2f}, most: {most}"
        event = "repeated"
        if self.alarm is None:
            self.alarms += 1
            self.alarm, event = Alarm(self.alarms), "raised"
        self.alarm.below = 0
        if event == "repeated" and self.settings.after != "restart":
            return []
        self.alarm.record = self._event(event, detail, reading)
        return [self.alarm.record]

    def _cleared(self, detail: str) -> Record:
        record = self._event("cleared", detail)
        self.alarm = None
        return record

    def _event(self, event: str, detail: str, reading: Reading | None = None) -> Record:
        number = self.alarm.number if self.alarm else 0
        return of_event(event, number, self.monitor.step, self.time, detail, reading)

    # --- commands ------------------------------------------------------------------------------

    def command(self, text: str) -> list[Record]:
        """Do what a person orders; what is not understood is a `refused` event.

        Parameters
        ----------
        text : str
            reset, acknowledge, without TAG, with TAG, maintenance on, maintenance off.
        """
        verb, _, rest = text.strip().partition(" ")
        orders: dict[str, Callable[[str], list[Record]]] = {
            "reset": self._reset,
            "acknowledge": self._acknowledge,
            "without": self._without,
            "with": self._with,
            "maintenance": self._maintenance,
        }
        try:
            if verb not in orders or (rest and verb in ("reset", "acknowledge")):
                raise DataError(f"give one of {COMMANDS}")
            return orders[verb](rest.strip())
        except CausalDQError as error:
            shown = "".join(c if c.isprintable() else "?" for c in text.strip()[:80])
            return [self._event("refused", f"{shown!r}: {error}")]

    def _reset(self, _: str) -> list[Record]:
        self.monitor.reset()
        done = [self._cleared("by reset")] if self.alarm else []
        return [*done, self._event("reset", "what was read before is forgotten")]

    def _acknowledge(self, _: str) -> list[Record]:
        if self.alarm is None:
            raise DataError("there is no alarm")
        if self.alarm.acknowledged:
            raise DataError(f"alarm {self.alarm.number} is acknowledged already")
        self.alarm.acknowledged = True
        return [self._event("acknowledged", "by command")]

    def _without(self, tag: str) -> list[Record]:
        rules = self.monitor.sensors
        if tag in rules.without:
            raise DataError(f"{tag} is left out already")
        self.monitor.use(rules.model_copy(update={"without": [*rules.without, tag]}))
        return [self._event("without", f"{tag} is not asked for; next: {' '.join(self.next)}")]

    def _with(self, tag: str) -> list[Record]:
        rules = self.monitor.sensors
        if tag not in rules.without:
            raise DataError(f"{tag} is not left out")
        kept = [name for name in rules.without if name != tag]
        self.monitor.use(rules.model_copy(update={"without": kept}))
        return [self._event("with", f"{tag} may be asked for again; next: {' '.join(self.next)}")]

    def _maintenance(self, state: str) -> list[Record]:
        if state not in ("on", "off"):
            raise DataError("give maintenance on or maintenance off")
        if (state == "on") == self.maintenance:
            raise DataError(f"maintenance is {state} already")
        self.maintenance = state == "on"
        if self.maintenance:
            return [self._event("maintenance on", "rows are not looked at")]
        self.monitor.reset()
        done = [self._cleared("by maintenance")] if self.alarm else []
        return [*done, self._event("maintenance off", "the monitor begins afresh")]

    # --- to be kept ----------------------------------------------------------------------------

    def snapshot(self) -> tuple[dict[str, Any], Arrays]:
        """All that changes, as facts for JSON and arrays."""
        facts, arrays = self.monitor.snapshot()
        return {
            "monitor": facts,
            "alarm": asdict(self.alarm) if self.alarm else None,
            "alarms": self.alarms,
            "faults": self.faults,
            "maintenance": self.maintenance,
            "time": plain_time(self.time),
        }, arrays

    def restore(self, facts: Mapping[str, Any], arrays: Arrays) -> None:
        """Go back to where a snapshot was taken."""
        self.monitor.restore(facts["monitor"], arrays)
        self.alarm = Alarm(**facts["alarm"]) if facts["alarm"] else None
        self.alarms, self.faults = int(facts["alarms"]), int(facts["faults"])
        self.maintenance, self.time = bool(facts["maintenance"]), facts["time"]
