"""What goes out: records for machines (records.schema.json says which), and lines for people."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from causaldq.live.rows import Skipped
from causaldq.reading import Reading

SCHEMA = 1
"""Version of the records; it changes when a reader of the old ones would stumble."""
SCHEMA_FILE = Path(__file__).with_name("records.schema.json")
Record = dict[str, Any]
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def as_line(record: Record) -> str:
    """One line of JSON; numbers that JSON has no word for never get here."""
    return _encode(record)


def plain_time(value: Any) -> Any:
    """A time as JSON can have it."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def started(names: list[str], method: str, limit: float, wanted: list[str]) -> Record:
    """The first record: what is watched, and the sensors to read first."""
    return {
        "schema": SCHEMA,
        "kind": "start",
        "method": method,
        "streams": names,
        "limit": limit,
        "next": wanted,
    }


def of_reading(reading: Reading, notes: tuple[str, ...] = ()) -> Record:
    """A row that was taken in."""
    return {
        "schema": SCHEMA,
        "kind": "reading",
        "step": reading.step,
        "time": plain_time(reading.time),
        "alarm": reading.alarm,
        "statistic": _finite(reading.statistic),
        "limit": reading.limit,
        "contributions": {name: _finite(x) for name, x in reading.contributions.items()},
        "values": reading.values,
        "read": reading.read,
        "missing": reading.missing,
        "aside": reading.aside,
        "next": reading.next,
        "causes": [asdict(cause) for cause in reading.causes],
        "notes": list(notes),
    }


def of_skipped(skipped: Skipped, step: int) -> Record:
    """A line that was not taken in."""
    return {
        "schema": SCHEMA,
        "kind": "skipped",
        "step": step,
        "time": skipped.time,
        "reason": skipped.reason,
        "detail": skipped.detail,
    }


def of_event(
    event: str, alarm: int, step: int, time: Any, detail: str, reading: Reading | None = None
) -> Record:
    """Something that happened to the alarm or the monitor; with its reading, all that it says."""
    found: Record = {
        "schema": SCHEMA,
        "kind": "event",
        "event": event,
        "alarm": alarm,
        "step": step,
        "time": plain_time(time),
        "detail": detail,
    }
    if reading is not None:
        found |= {
            "statistic": _finite(reading.statistic),
            "limit": reading.limit,
            "streams": {name: _finite(x) for name, x in reading.contributions.items()},
            "causes": [asdict(cause) for cause in reading.causes],
        }
    return found


def as_text(record: Record) -> str:
    """A record for people."""
    kind = record["kind"]
    if kind == "start":
        return f"first: {' '.join(record['next'])}"
    when = "" if record["time"] is None else f"  {record['time']}"
    if kind == "skipped":
        return f"{'':6}{when}  skipped, {record['reason']}: {record['detail']}"
    if kind == "reading":
        return _reading_text(record, when)
    number = f" {record['alarm']}" if record["alarm"] else ""
    head = f"{'':6}{when}  {record['event']}{number}: {record['detail']}"
    return "\n".join([head, *(f"{'':8}cause: {_cause(c)}" for c in record.get("causes", []))])


def _reading_text(record: Mapping[str, Any], when: str) -> str:
    value = record["statistic"]
    statistic = f"{value:8.2f}" if value is not None else f"{'none':>8}"
    lacked = "".join(
        f"  {word}: {' '.join(record[word])}" for word in ("missing", "aside") if record[word]
    )
    notes = "".join(f"  ({note})" for note in record["notes"])
    most = ", ".join(f"{name} {x:.1f}" for name, x in record["contributions"].items())
    return (
        f"{record['step']:6d}{when}  statistic {statistic}  limit {record['limit']:.2f}"
        f"{'  ALARM' if record['alarm'] else ''}{lacked}{notes}  most: {most}"
        f"  next: {' '.join(record['next'])}"
    )


def _cause(cause: Mapping[str, Any]) -> str:
    paths = "; ".join(" \N{RIGHTWARDS ARROW} ".join(path) for path in cause["paths"])
    return (
        f"{cause['stream']} {cause['probability']:.0%}, shifted by {cause['shift']:+.1f}"
        f" standard deviations{f', by {paths}' if paths else ''}"
    )
