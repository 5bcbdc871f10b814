"""Alarm limits of a run."""

from pathlib import Path
from typing import Any

import numpy as np

from causaldq.config import Protocol
from causaldq.evaluation.calibration import limit_for, measured_run_length
from causaldq.files import write_json
from causaldq.jobs.method import build_method
from causaldq.jobs.settings import CalibrateJob, Cell
from causaldq.methods.base import Method, Truth
from causaldq.monitor import statistics
from causaldq.seeds import generator
from causaldq.shifts import direction, pattern, shifted_streams
from causaldq.streams.model import StreamModel


def run_calibrate(
    job: CalibrateJob, streams: Path, checkpoints: dict[str, Path], output: Path
) -> None:
    """Set each protocol's limit on in-control paths, and measure ARL0 on fresh ones."""
    model = StreamModel.load(streams)
    steps = int(job.calibration.arl0 * job.calibration.horizon_factor)
    limits: dict[str, dict[str, Any]] = {}
    for protocol in job.protocols:
        method = build_method(job, protocol, model, checkpoints)
        limits[protocol] = {
            cell.key if cell else "*": _calibrated(job, protocol, method, model, cell, steps)
            for cell in (job.cells or [None])  # type: ignore[list-item]
        }
    write_json(output, limits)


def _calibrated(
    job: CalibrateJob,
    protocol: Protocol,
    method: Method[Any],
    model: StreamModel,
    cell: Cell | None,
    steps: int,
) -> dict[str, float | None]:
    def in_control(purpose: str, n: int) -> Any:
        # The same in-control values for every method of a scenario.
        paths = model.in_control(n, steps, generator(job.seed, job.scenario, purpose))
        rng = generator(job.seed, job.scenario, job.method, protocol, purpose)
        truth = _imagined_truth(job, protocol, method, model, cell, n, rng)
        return statistics(method, paths, truth, rng)

    settings = job.calibration
    learned = in_control("calibration", settings.paths)
    if protocol == "paper":
        limit = method.published_limit(learned, settings)
    else:
        limit = limit_for(learned, settings.arl0)
    reached = measured_run_length(
        in_control("fresh", settings.fresh_paths),
        limit,
        job.confidence,
        job.bootstrap,
        generator(job.seed, job.scenario, job.method, protocol, "bootstrap"),
    )
    return {"limit": limit, "arl0": reached.value, "low": reached.low, "high": reached.high}


def _imagined_truth(
    job: CalibrateJob,
    protocol: Protocol,
    method: Method[Any],
    model: StreamModel,
    cell: Cell | None,
    n: int,
    rng: np.random.Generator,
) -> Truth | None:
    """For bounds: the shifts they would be told of, so that they watch what they will watch."""
    if not method.is_bound:
        return None
    shifted = shifted_streams(protocol, n, model.p, job.k, rng)
    if cell is None:
        return Truth(shifted, shifted.astype(float))
    signs = direction(pattern(cell.case, shifted), model, job.propagate)
    noise = cell.sigma * rng.standard_normal(shifted.shape)
    return Truth(shifted, cell.delta * signs + noise)
