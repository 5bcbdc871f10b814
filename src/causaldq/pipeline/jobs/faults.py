"""Recorded faults: every method's delay at an equal measured rate of false alarms."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from causaldq.calibration import CalibrationSettings
from causaldq.files import write_rows
from causaldq.fitting import FALLS_SHORT, fitted
from causaldq.methods.base import Method, Problem
from causaldq.methods.build import build, method_class
from causaldq.models.streams import StreamModel
from causaldq.pipeline.evaluation import faults
from causaldq.pipeline.evaluation.charts import LAGS, charts, published_delays
from causaldq.pipeline.evaluation.faults import Draws, Watched
from causaldq.pipeline.method_files import MethodRun, MonitorSettings, build_method, by_run
from causaldq.progress import Reporter
from causaldq.seeds import generator
from causaldq.worlds.events import Events

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


class FaultsJob(MonitorSettings):
    """Which methods watch the recordings; method and options are set for each run."""

    scenario: str
    runs: list[MethodRun]
    baselines: list[str]
    """Of the methods, those of others: the best of them is what all are compared with."""
    run_lengths: list[float]
    stretch: int
    leads: list[int]
    calibration: CalibrationSettings
    confidence: float
    bootstrap: int


def settings(plan: "Plan", scenario: str) -> FaultsJob:
    from causaldq.methods.registry import BASELINES

    runs = plan.watching_runs(scenario)
    return plan.share(
        FaultsJob,
        *([plan.config.faults] if plan.config.faults else []),
        plan.config.evaluation,
        **plan.monitoring(runs[0]) | {"protocols": ["fair"], "options": {}},
        scenario=scenario,
        runs=[run.model_copy(update={"limits": None}) for run in plan.listed(runs)],
        baselines=[run.method for run in runs if run.method in BASELINES],
    )


def inputs(plan: "Plan", scenario: str) -> "Files":
    return {
        "streams": plan.streams_of(scenario),
        "events": plan.events_of(scenario),
        "given": plan.given_to_all(plan.watching_runs(scenario), ["fair"]),
    }


OUTPUTS = {
    "output": "results/{profile}/faults_{scenario}.csv",
    "delays": "results/{profile}/fault_delays_{scenario}.csv",
}

COLUMNS = [
    *("scenario", "p", "m", "method", "reads_all", "stretches", "rows", "recordings"),
    *("asked", "own_limit", "reached", "reached_low", "reached_high", "kept", "own_delay"),
    *("arl0", "limit", "delay", "low", "high", "against", "ratio", "ratio_low", "ratio_high"),
    *(f"found_{rows}" for rows in faults.WITHIN),
    *(f"none_{rows}" for rows in faults.WITHIN),
]
"""A row is a method at the limit of a measured run length, `arl0`. Its own limit, with what was
`asked` and `reached`, is the same in all of them. `none`: alarms where there is no fault."""
DELAY_COLUMNS = ["scenario", "m", "method", "event", "arl0", "delay", "published_way"]
"""A row is a method on a recording; `published_way`: first of six rows above the limit that a
hundredth of the rows held out exceed, 0 if there is none."""


class Maker:
    """What makes one method for a problem, as `causaldq.fitting` takes it."""

    def __init__(
        self, job: FaultsJob, run: MethodRun, model: StreamModel, given: dict[str, Path]
    ) -> None:
        self.job, self.model, self.given = job.of(run), model, given
        self.__name__ = run.method
        self.kind = method_class(run.method)
        self.uses_dynamics = self.kind is not None and self.kind.uses_dynamics

    def __call__(self, problem: Problem) -> Method[Any]:
        if self.kind is not None and self.uses_dynamics:
            own = replace(problem, statistic=self.job.statistic)
            return build(self.kind, own, self.job.options)
        fitted_there = replace(self.model, covariance=problem.covariance)
        return build_method(self.job, "fair", fitted_there, self.given)


def run(
    job: FaultsJob, *, streams: Path, events: Path, given: dict[str, Path],
    output: Path, delays: Path,
) -> None:  # fmt: skip
    """Watch rows held out and recorded faults with every method, fitted on in-control rows alone.

    Limits are cross-fitted on those rows, or those of a method that models their memory. Delays
    are compared at limits with which all give equally many false alarms on the rows held out.
    """
    model, recorded = StreamModel.load(streams), Events.load(events)
    if model.records is None:
        raise TypeError(f"{job.scenario} has no recorded rows")
    held_out, window = model.records.held_out, model.records.window
    watched = faults.recordings(held_out, window, recorded, job.stretch)
    draws = Draws.of(watched, job.bootstrap, generator(job.seed, job.scenario, "intervals"))
    seen: dict[str, Watched] = {}
    limits: dict[str, float] = {}
    needed = by_run(given)
    all_read = charts(model.rows) if job.m == model.p else {}

    def watch(name: str, method: Method[Any], limit: float) -> None:
        rng = generator(job.seed, job.scenario, name, "faults")
        limits[name] = limit
        seen[name] = faults.watched(method, watched, limit, job.leads, rng)

    with Reporter(job.scenario, len(job.runs), "method") as reporter:
        for run in job.runs:
            maker = Maker(job, run, model, needed.get(run.name, {}))
            watch(run.method, *_fitted(job, maker, model))
            reporter.advance()
    for name, chart in all_read.items():
        # As is usual, on the rows that the chart was fitted on.
        level = 1.0 - 1.0 / job.calibration.arl0
        watch(name, chart, float(np.quantile(chart.values(model.rows)[LAGS:], level)))
    same = {
        "scenario": job.scenario,
        "p": model.p,
        "m": job.m,
        "stretches": watched.stretches(),
        "rows": watched.rows(),
        "recordings": len(recorded),
        "asked": job.calibration.arl0,
    }
    rows = (
        same | {"reads_all": int(row["method"] in all_read)} | row
        for row in _compared(job, seen, limits, draws)
    )
    write_rows(output, COLUMNS, rows)
    published = {
        name: published_delays(
            chart.values(held_out)[LAGS:],
            [
                chart.values(rows)[change:]
                for rows, change in zip(recorded.values, recorded.change, strict=True)
            ],
        )
        for name, chart in all_read.items()
    }
    write_rows(delays, DELAY_COLUMNS, _by_recording(job, seen, draws, recorded.names, published))


def _fitted(job: FaultsJob, maker: Maker, model: StreamModel) -> tuple[Method[Any], float]:
    """A method fitted to the in-control rows, which are standardised, and its own limit."""
    found = fitted(
        maker, model.rows, model.names, job.m, None, arl0=job.calibration.arl0, model="auto",
        limit="auto", paths=job.calibration.paths, seed=job.seed, progress=False,
    )  # fmt: skip
    return found.method, found.limit.value


def _compared(
    job: FaultsJob, seen: dict[str, Watched], limits: dict[str, float], draws: Draws
) -> Iterator[dict[str, object]]:
    for run_length in job.run_lengths:
        at = {
            name: faults.at_run_length(one, run_length, draws, job.confidence)
            for name, one in seen.items()
        }
        best = min(job.baselines, key=lambda name: at[name]["delay"], default=None)
        for name, one in seen.items():
            own = faults.at_own_limit(one, limits[name], draws, job.confidence)
            row: dict[str, object] = {"method": name, **own, **at[name], "against": best}
            row["kept"] = int(own["reached"] >= FALLS_SHORT * job.calibration.arl0)
            if best is not None:
                shown = faults.ratio(one, seen[best], run_length, draws, job.confidence)
                row |= dict(zip(("ratio", "ratio_low", "ratio_high"), shown, strict=True))
            yield row


def _by_recording(
    job: FaultsJob,
    seen: dict[str, Watched],
    draws: Draws,
    events: Sequence[str],
    published: dict[str, list[int]],
) -> Iterator[dict[str, object]]:
    for name, one in seen.items():
        for run_length in job.run_lengths:
            limit = one.limits_at(run_length, draws.stretches[:1])[0]
            for number, (event, delay) in enumerate(zip(events, one.delays(limit), strict=True)):
                row: dict[str, object] = {
                    "scenario": job.scenario,
                    "m": job.m,
                    "method": name,
                    "event": event,
                    "arl0": run_length,
                    "delay": delay,
                }
                if name in published:
                    row["published_way"] = published[name][number]
                yield row
