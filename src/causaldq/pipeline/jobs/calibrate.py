"""Alarm limits of a method on a source of streams."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from causaldq.calibration import (
    CalibrationSettings,
    limit_at_most,
    limit_for,
    measured_run_length,
)
from causaldq.files import write_json
from causaldq.methods.base import Method, Truth
from causaldq.models.streams import StreamModel
from causaldq.pipeline import places
from causaldq.pipeline.method_files import MonitorSettings, build_method
from causaldq.run import statistics
from causaldq.seeds import generator
from causaldq.setting import Places, Protocol
from causaldq.types import Floats
from causaldq.worlds.shifts import (
    Cell,
    direction,
    fixed_order,
    pattern,
    recorded_shift,
    shifted_streams,
)

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


class CalibrateJob(MonitorSettings):
    """A limit depends on the method, the streams and m; on shifts only for bounds."""

    unit: str
    source: str
    calibration: CalibrationSettings
    confidence: float
    bootstrap: int
    k: int | None
    """Only for bounds."""
    cells: list[Cell] | None
    """Only for bounds whose statistic depends on the shift: one limit for each cell."""
    propagate: bool
    places: Places
    grid: list[float]
    """More run lengths that a limit is wanted for."""


def settings(plan: "Plan", limits: str) -> CalibrateJob:
    from causaldq.methods.registry import index_methods

    run, config = plan.limits[limits], plan.config
    wanted = config.scenarios[run.scenario]
    method = index_methods().get(run.method)
    is_bound = method is not None and method.is_bound
    by_cell = method is not None and method.limit_depends_on_shift
    is_shown = any(plan.limits_of(shown) == limits for shown in plan.showcase_runs())
    return plan.share(
        CalibrateJob,
        wanted,
        config.evaluation,
        **plan.monitoring(run),
        unit=limits,
        k=wanted.k if is_bound else None,
        cells=plan.cells(run.scenario) if by_cell else None,
        propagate=wanted.propagate if by_cell else False,
        places=wanted.places if is_bound else "first",
        grid=config.calibration.arl0_grid if is_shown else [],
    )


def inputs(plan: "Plan", limits: str) -> "Files":
    run = plan.limits[limits]
    return {"streams": plan.streams_of(run.scenario), "given": plan.given_to(run)}


OUTPUTS = {"output": places.LIMITS}

Limits = dict[str, dict[str, dict[str, Any]]]
"""By protocol and cell; the cell "*" stands for all. Each: the limit, the run length it reached
with its interval, and a grid of limits by the run length they are meant for."""


def run(job: CalibrateJob, *, streams: Path, given: dict[str, Path], output: Path) -> None:
    """Set a method's alarm limits on in-control paths, and measure ARL0 on fresh ones."""
    model = StreamModel.load(streams)
    limits: Limits = {}
    simulated: dict[tuple[Protocol, str], Simulated] = {}
    shared: Simulated | None = None
    for protocol in job.protocols:
        method = build_method(job, protocol, model, given)
        limits[protocol] = {}
        for cell in job.cells if job.cells is not None else [None]:
            paths = shared or Simulated(job, protocol, method, model, cell)
            if model.records is None and not (method.trained or method.is_bound):
                # Without a network and without the truth, both protocols are the same run.
                shared = paths
            key = cell.key if cell else "*"
            limits[protocol][key] = _limits(job, protocol, paths)
            paths.highest = max(paths.highest, limits[protocol][key]["limit"])
            simulated[protocol, key] = paths
    for (protocol, key), paths in simulated.items():
        limits[protocol][key] |= _reached(job, protocol, paths, limits[protocol][key]["limit"])
    write_json(output, limits)


@dataclass
class Simulated:
    """In-control statistics (paths, steps) of a method, simulated when asked for.

    Paths stop once they have nothing more to say about the limits that are asked of them.
    """

    job: CalibrateJob
    protocol: Protocol
    method: Method[Any]
    model: StreamModel
    cell: Cell | None
    highest: float = 0.0
    """The highest limit that fresh paths are to check."""

    @cached_property
    def calibration(self) -> Floats:
        """To set limits."""
        longest = max(self.job.calibration.arl0, *self.job.grid, 0.0)
        if "whole" in self.__dict__:
            return self.whole
        return self._statistics(
            "calibration", self.job.calibration.paths, lambda seen: limit_at_most(seen, longest)
        )

    @cached_property
    def whole(self) -> Floats:
        """The same with no path stopped, for limits that are not set by run lengths."""
        return self._statistics("calibration", self.job.calibration.paths, None)

    @cached_property
    def fresh(self) -> Floats:
        """To check them."""
        return self._statistics("fresh", self.job.calibration.fresh_paths, lambda _: self.highest)

    def _statistics(
        self, purpose: str, n: int, ceiling: Callable[[Floats], float] | None
    ) -> Floats:
        job, protocol = self.job, self.protocol
        steps = int(job.calibration.arl0 * job.calibration.horizon_factor)
        # The same in-control values for every method on a source; recorded rows that check a
        # limit are not those that set it.
        source = generator(job.seed, job.source, purpose)
        paths = self.model.in_control(n, steps, source, protocol, held_out=purpose == "fresh")
        rng = generator(job.seed, job.unit, protocol, purpose)
        truth = None
        if self.method.is_bound:
            truth = _imagined_truth(job, protocol, self.model, self.cell, n, rng)
        return statistics(self.method, paths, truth, rng, ceiling)


def _limits(job: CalibrateJob, protocol: Protocol, simulated: Simulated) -> dict[str, Any]:
    settings = job.calibration
    if protocol == "paper":
        limit = simulated.method.published_limit(lambda: simulated.whole, settings)
    else:
        limit = limit_for(simulated.calibration, settings.arl0)
    grid = {f"{arl0:g}": limit_for(simulated.calibration, arl0) for arl0 in job.grid}
    return {"limit": limit, "grid": grid}


def _reached(
    job: CalibrateJob, protocol: Protocol, simulated: Simulated, limit: float
) -> dict[str, Any]:
    rng = generator(job.seed, job.unit, protocol, "bootstrap")
    reached = measured_run_length(simulated.fresh, limit, job.confidence, job.bootstrap, rng)
    return {"arl0": reached.value, "low": reached.low, "high": reached.high}


def _imagined_truth(
    job: CalibrateJob,
    protocol: Protocol,
    model: StreamModel,
    cell: Cell | None,
    n: int,
    rng: np.random.Generator,
) -> Truth:
    """For bounds: the shifts they would be told of, so that they watch what they will watch."""
    if job.k is None:
        raise ValueError(f"{job.method} is a bound: its calibration needs k")
    if model.records is not None and len(model.records.test_anomalous):
        mask, mean = recorded_shift(model.records.test_anomalous)
        return Truth(np.tile(mask, (n, 1)), np.tile(mean, (n, 1)))
    order = fixed_order(job.places, model.p, job.seed)
    shifted = shifted_streams(protocol, n, job.k, order, rng)
    if cell is None:
        return Truth(shifted, shifted.astype(np.float64))
    signs = direction(pattern(cell.case, shifted), model, job.propagate)
    noise = cell.sigma * rng.standard_normal(shifted.shape)
    return Truth(shifted, cell.delta * signs + noise)
