"""Delays of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from causaldq.files import read_json, write_rows
from causaldq.methods.base import Method, Truth
from causaldq.models.streams import StreamModel
from causaldq.pipeline import places
from causaldq.pipeline.method_files import MonitorSettings, build_method
from causaldq.run import delays, event_delays
from causaldq.seeds import generator
from causaldq.setting import Moved
from causaldq.worlds.events import Events
from causaldq.worlds.shifts import Cell, InjectedSet

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


class EvaluateJob(MonitorSettings):
    scenario: str
    cells: list[Cell]
    events: bool
    restart: bool
    moves: Moved
    ramp: int
    replications: int
    """Runs through each recorded event, which start at different rows."""


def settings(plan: "Plan", run: str) -> EvaluateJob:
    wanted = plan.runs[run]
    scenario = plan.config.scenarios[wanted.scenario]
    return plan.share(
        EvaluateJob,
        scenario,
        **plan.monitoring(wanted),
        scenario=wanted.scenario,
        cells=plan.cells(wanted.scenario),
        replications=plan.config.evaluation.event_runs,
    )


def inputs(plan: "Plan", run: str) -> "Files":
    wanted = plan.runs[run]
    return {
        "streams": plan.streams_of(wanted.scenario),
        "injected": plan.injected(wanted.scenario),
        "limits": plan.limits_file(wanted),
        "given": plan.given_to(wanted),
        "events": plan.events_of(wanted.scenario),
    }


OUTPUTS = {"output": places.RUN}

RUN_COLUMNS = [
    *("protocol", "setting", "sigma", "delta", "replication", "delay", "censored", "false_alarm"),
    *("event", "in_control_steps"),
]
"""A row is a replication of a cell, or a run through an event, which then has a name."""


def run(
    job: EvaluateJob, *, streams: Path, injected: Path, limits: Path,
    given: dict[str, Path], events: Path | None = None, output: Path,
) -> None:  # fmt: skip
    """Measure a method's detection delay in every replication of every cell of a scenario.

    Recorded events are measured at the limit of `fair`, which allows for memory in the rows.
    """
    model = StreamModel.load(streams)
    sets = InjectedSet.load(injected)
    known = read_json(limits)
    rows: list[dict[str, object]] = []
    for protocol in job.protocols:
        method = build_method(job, protocol, model, given)
        by_limit: dict[str, list[Cell]] = {}
        for cell in job.cells:
            key = cell.key if cell.key in known[protocol] else "*"
            by_limit.setdefault(key, []).append(cell)
        for key, cells in by_limit.items():
            changes = [sets.change_of(protocol, c, job.moves, job.ramp) for c in cells]
            truths = [Truth(sets.shifted[protocol], change.mean) for change in changes]
            outcomes = delays(
                method,
                sets.paths[protocol],
                sets.change,
                changes,
                list(truths) if method.is_bound else [None] * len(changes),
                known[protocol][key]["limit"],
                generator(job.seed, job.scenario, job.method, protocol, "evaluation"),
                restart=job.restart,
            )
            for c, outcome in zip(cells, outcomes, strict=True):
                named = {
                    "protocol": protocol,
                    "setting": c.case,
                    "sigma": c.sigma,
                    "delta": c.delta,
                }
                rows += [named | row for row in outcome.rows()]
    if job.events and events is not None and "fair" in job.protocols:
        method = build_method(job, "fair", model, given)
        if not method.is_bound:
            rows += _events(job, method, Events.load(events), known["fair"]["*"]["limit"])
    write_rows(output, RUN_COLUMNS, rows)


def _events(
    job: EvaluateJob, method: Method[Any], events: Events, limit: float
) -> list[dict[str, object]]:
    """Delays on recorded events. Runs begin at different rows before the fault."""
    which = np.repeat(np.arange(len(events)), job.replications)
    change = events.change[which]
    begun = generator(job.seed, job.scenario, "event starts")
    start = np.floor(begun.random(len(which)) * (change // 2 + 1)).astype(np.int64)
    rng = generator(job.seed, job.scenario, job.method, "events")
    outcome = event_delays(method, events.values, which, start, change, limit, rng)
    return [
        {
            "protocol": "fair",
            "event": events.names[event],
            "replication": run,
            "delay": outcome.delay[run],
            "censored": int(outcome.missed[run]),
            "false_alarm": outcome.false_alarms[run],
            "in_control_steps": outcome.in_control_steps[run],
        }
        for run, event in enumerate(which)
    ]
