"""What the jobs of finished runs took, rule by rule, and what to ask a cluster for."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from causaldq.errors import DataError
from causaldq.pipeline.lineage.records import Record, RecordStore

AROUND_MB = 450
"""Memory of a cluster's job beside its work: two Snakemakes, each of 200 MB as measured."""
AROUND_SECONDS = 15
"""Their start, 4 to 6 s as measured on a busy machine."""
MEMORY_MARGIN = 1.5
TIME_MARGIN = 2
"""Nodes differ in speed, and share it, more than in how much memory a program takes."""


@dataclass(frozen=True)
class Usage:
    """What the jobs of a rule took."""

    rule: str
    jobs: int
    mean_seconds: float
    longest_seconds: float
    peak_mb: int
    """Of the largest job."""

    @property
    def mem_mb(self) -> int:
        """Memory to ask for, in whole hundreds."""
        return math.ceil((AROUND_MB + MEMORY_MARGIN * self.peak_mb) / 100) * 100

    @property
    def runtime(self) -> int:
        """Time to ask for, in whole minutes."""
        return math.ceil((AROUND_SECONDS + TIME_MARGIN * self.longest_seconds) / 60)


def usage(records: Iterable[Record]) -> list[Usage]:
    """By rule; jobs that failed may have taken less than they need, and are left out."""
    by_rule: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.status == 0:
            by_rule[record.rule].append(record)
    return [
        Usage(
            rule=rule,
            jobs=len(found),
            mean_seconds=sum(r.seconds for r in found) / len(found),
            longest_seconds=max(r.seconds for r in found),
            peak_mb=math.ceil(max(r.resources.peak_memory_bytes for r in found) / 1e6),
        )
        for rule, found in sorted(by_rule.items())
    ]


def usage_by_rule(said: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Mean seconds of each rule's jobs, from records as they were read."""
    by_rule: dict[str, list[float]] = defaultdict(list)
    for one in said:
        began, ended = (datetime.fromisoformat(one[key]) for key in ("started", "ended"))
        by_rule[one["rule"]].append((ended - began).total_seconds())
    return {rule: sum(found) / len(found) for rule, found in by_rule.items()}


def records_below(folder: Path) -> list[Record]:
    """The records of one run, given as results/<profile>."""
    whole = folder.resolve()
    found = RecordStore(whole.parents[1], whole.name).records if len(whole.parents) > 1 else []
    if not found:
        raise DataError(f"{folder} has no records; give results/<profile> of a run")
    return found


def lines(rules: list[Usage]) -> list[str]:
    head = f"{'rule':<20}{'jobs':>6}{'mean s':>9}{'longest s':>11}{'peak MB':>9}"
    return [
        f"{head}{'mem_mb':>10}{'runtime':>9}",
        *(
            f"{u.rule:<20}{u.jobs:>6}{u.mean_seconds:>9.1f}{u.longest_seconds:>11.1f}{u.peak_mb:>9}"
            f"{u.mem_mb:>10}{u.runtime:>9}"
            for u in rules
        ),
    ]
