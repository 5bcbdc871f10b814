"""Timing, and how a measurement is told."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, Literal

Work = Callable[[], object]


@dataclass(frozen=True)
class Target:
    """What a measurement is meant to reach."""

    bound: Literal["at least", "at most"]
    value: float

    def is_met(self, value: float) -> bool:
        return value >= self.value if self.bound == "at least" else value <= self.value

    def __str__(self) -> str:
        return f"{self.bound} {self.value:g}"


@dataclass(frozen=True)
class Measurement:
    """One quantity, measured several times."""

    what: str
    values: list[float]
    unit: str = "x"
    """`x` stands for a ratio."""
    target: Target | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    """Too long for the table; in the file."""

    def row(self) -> str:
        """Of a Markdown table: median, least, most, target and whether it is met."""
        middle = median(self.values)
        shown = " | ".join(_short(value) for value in (middle, min(self.values), max(self.values)))
        reached = ""
        if self.target is not None:
            reached = f"{self.target}: {'yes' if self.target.is_met(middle) else 'no'}"
        unit = "" if self.unit == "x" else f", {self.unit}"
        return f"| {self.what}{unit} | {shown} | {reached} |"

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> "Measurement":
        """What `record` wrote."""
        kept = {key: value for key, value in record.items() if key != "median"}
        target = kept.pop("target")
        return cls(**kept, target=Target(**target) if target else None)

    def record(self) -> dict[str, Any]:
        return asdict(self) | {"median": median(self.values)}


HEADER = "| | median | least | most | target |\n|---|---:|---:|---:|---|"


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def seconds(work: Work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def side_by_side(works: dict[str, Work], rounds: int) -> dict[str, list[float]]:
    """Seconds of each piece of work in each round; a busy moment of the machine hits all alike."""
    for work in works.values():
        work()
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            taken[name].append(seconds(work))
    return taken


def ratios(above: list[float], below: list[float]) -> list[float]:
    return [a / b for a, b in zip(above, below, strict=True)]
