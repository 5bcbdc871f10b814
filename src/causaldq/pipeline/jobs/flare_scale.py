"""Solar flares: how delays depend on how much quiet windows differ from each other."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from causaldq.calibration import CalibrationSettings
from causaldq.files import write_rows
from causaldq.models.streams import StreamModel
from causaldq.pipeline.jobs.prepare import standardised
from causaldq.pipeline.method_files import MethodRun, MonitorSettings, build_method
from causaldq.pipeline.sources.fetch import Delivered
from causaldq.pipeline.sources.flares import FlareSource
from causaldq.progress import Reporter
from causaldq.run import delays, simulated_limit, statistics
from causaldq.seeds import generator
from causaldq.worlds.shifts import insert_anomaly

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


class FlareScaleJob(MonitorSettings):
    """Surrogate windows that differ more and more; method and options are set for each run."""

    scenario: str
    flares: FlareSource
    runs: list[MethodRun]
    between: list[float]
    draws: int
    replications: int
    horizon: int
    restart: bool
    calibration: CalibrationSettings


def settings(plan: "Plan") -> FlareScaleJob:
    config, wanted = plan.config, plan.config.flare_scale
    if wanted is None:
        raise ValueError("the config has no flare_scale")
    scenario = config.scenarios[wanted.scenario]
    return plan.share(
        FlareScaleJob,
        wanted,
        scenario,
        config.evaluation,
        method=wanted.methods[0],
        options={},
        m=scenario.m,
        statistic=config.statistic_of(wanted.scenario),
        flares=config.sources[scenario.source],
        runs=[MethodRun(method=name, options=config.options_of(name)) for name in wanted.methods],
    )


def inputs(plan: "Plan") -> "Files":
    return {"moments": str(FlareSource.reference)}


OUTPUTS = {"output": "results/{profile}/flare_scale.csv"}

COLUMNS = [
    *("between", "protocol", "method", "m", "p", "draw", "shift", "delay", "censored"),
    *("false_alarm", "limit"),
]
"""A row is a method on one draw of all windows: means over its replications. `shift`: of the flare
windows of the test, median over parameters and windows, in deviations of the quiet rows."""


def run(job: FlareScaleJob, *, moments: Path, output: Path) -> None:
    """Measure delays on surrogate flares whose windows differ by more and more of what regions do.

    All windows are drawn anew several times, as the paper's were drawn from their archive once.
    """
    rows: list[dict[str, object]] = []
    with Reporter("flare_scale", len(job.between) * job.draws, "draw") as reporter:
        for between in job.between:
            source = job.flares.model_copy(update={"between": between})
            for draw in range(job.draws):
                rng = generator(job.seed, "flare_scale", f"{between:g}", draw)
                made = Delivered("flares_surrogate", "flares_surrogate (made)", {})
                model, _, _ = standardised(source.read(made, moments, rng))
                found = {"between": between, "draw": draw, "m": job.m, "p": model.p}
                rows += [found | row for row in _measured(job, model, rng)]
                reporter.advance()
    write_rows(output, COLUMNS, rows)


def _measured(
    job: FlareScaleJob, model: StreamModel, rng: np.random.Generator
) -> Iterator[dict[str, object]]:
    if model.records is None:
        raise TypeError("flares are recorded")
    sets = insert_anomaly(
        model, protocols=job.protocols, case="case_a", replications=job.replications,
        horizon=job.horizon, rng=rng,
    )  # fmt: skip
    shift = float(np.median(np.abs(model.records.test_anomalous)))
    steps = int(job.calibration.arl0 * job.calibration.horizon_factor)
    for protocol in job.protocols:
        quiet = model.in_control(job.calibration.paths, steps, rng, protocol)
        for wanted in job.runs:
            method = build_method(job.of(wanted), protocol, model, {})
            if protocol == "paper":
                watch = partial(statistics, method, quiet, None, rng)
                limit = method.published_limit(watch, job.calibration)
            else:
                limit = simulated_limit(method, quiet, job.calibration.arl0, rng)
            mean = sets.mean(protocol, "case_a", 1.0, 0.0)
            (seen,) = delays(
                method, sets.paths[protocol], sets.change, [mean], [None], limit, rng,
                restart=job.restart,
            )  # fmt: skip
            yield {
                "protocol": protocol,
                "method": wanted.method,
                "shift": shift,
                "delay": float(seen.delay.mean()),
                "censored": float(seen.censored.mean()),
                "false_alarm": float(seen.false_alarm.mean()),
                "limit": limit,
            }
