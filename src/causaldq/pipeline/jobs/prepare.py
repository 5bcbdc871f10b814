"""From a source's files to streams: standardised rows, their covariance, recorded events."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from causaldq.errors import DataError
from causaldq.files import write_atomically, write_json
from causaldq.models.rows import (
    Covariance,
    Scale,
    block_length,
    estimate_covariance,
    fit_scale,
    varying,
)
from causaldq.models.streams import Records, StreamModel
from causaldq.pipeline import places
from causaldq.pipeline.sources.base import Recorded
from causaldq.pipeline.sources.registry import Source, is_recorded
from causaldq.seeds import generator
from causaldq.setting import Settings
from causaldq.worlds.events import Events

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


class PrepareJob(Settings):
    seed: int
    source: str
    wanted: Source


def settings(plan: "Plan", source: str) -> PrepareJob:
    return plan.share(PrepareJob, source=source, wanted=plan.recorded()[source])


def inputs(plan: "Plan", source: str) -> "Files":
    wanted = plan.recorded()[source]
    is_fetched = source in plan.fetched()
    return {
        "given": plan.place(places.FETCHED, source=source) if is_fetched else wanted.file,
        "reference": wanted.reference or [],
    }


OUTPUTS = {
    "streams": places.STREAMS,
    "facts": places.STREAM_FACTS,
    "events": places.EVENTS,
    "tidy": "artifacts/{profile}/streams/{source}.parquet",
}


def run(
    job: PrepareJob, *, given: Path, reference: Path | None = None,
    streams: Path, facts: Path, events: Path, tidy: Path,
) -> None:  # fmt: skip
    """Standardise recorded rows by those in control, and estimate their covariance.

    Given is what the fetch job has written down, or the user's own file.
    """
    if not is_recorded(job.wanted):
        raise TypeError(f"{job.source} is not recorded")
    files = job.wanted.files(given)
    rng = generator(job.seed, job.source, "surrogate")
    recorded = without_constant_streams(job.wanted.read(files, reference, rng))
    for note in recorded.notes:
        print(f"{job.source}: {note}", file=sys.stderr)

    model, scale, covariance = standardised(recorded)
    rows, p = model.rows, model.p
    write_table(tidy, recorded.table, recorded.units)
    Events.of(recorded.events, p).scaled(scale).save(events)
    model.save(streams)
    write_json(
        facts,
        {
            "label": files.label,
            "p": p,
            "streams": recorded.names,
            "units": dict(recorded.units),
            "in_control_rows": len(rows),
            "held_out_rows": len(recorded.held_out),
            "covariance": covariance.estimator,
            "shrinkage": covariance.shrinkage,
            "block": block_length(rows),
            "events": [name for name, _, _ in recorded.events],
            "notes": list(recorded.notes),
            "passed_over": list(files.passed_over),
        },
    )


def standardised(recorded: Recorded) -> tuple[StreamModel, Scale, Covariance]:
    """Streams in the scale of the in-control rows, the scale, and how they vary together."""
    scale = fit_scale(recorded.in_control, recorded.names)
    rows = scale.apply(recorded.in_control)
    covariance = estimate_covariance(rows)
    p = len(recorded.names)
    none = np.empty((0, p))
    records = Records(
        mean=scale.mean,
        sd=scale.sd,
        held_out=scale.apply(recorded.held_out),
        anomalous=none if recorded.anomalous is None else scale.apply(recorded.anomalous),
        test_anomalous=none
        if recorded.test_anomalous is None
        else scale.apply(recorded.test_anomalous),
        window=recorded.window,
    )
    names, effects = tuple(recorded.names), np.zeros((p, p))
    return StreamModel(names, rows, covariance.matrix, effects, records), scale, covariance


def without_constant_streams(recorded: Recorded) -> Recorded:
    """Drop, with a note, streams that do not vary in the in-control rows."""
    kept = varying(recorded.in_control)
    if kept.all():
        return recorded
    dropped = [name for name, keep in zip(recorded.names, kept, strict=True) if not keep]
    if len(dropped) == len(recorded.names):
        raise DataError("no stream varies in the in-control rows; give others")
    parts = {
        name: values[:, kept]
        for name in ("in_control", "held_out", "anomalous", "test_anomalous")
        if (values := getattr(recorded, name)) is not None
    }
    return replace(
        recorded,
        names=[name for name in recorded.names if name not in dropped],
        events=[(name, rows[:, kept], first) for name, rows, first in recorded.events],
        notes=[*recorded.notes, f"dropped, constant in the in-control rows: {', '.join(dropped)}"],
        **parts,
    )


def write_table(path: Path, table: pd.DataFrame, units: Mapping[str, str]) -> None:
    """A tidy table as Parquet; columns with a unit carry it in their field's metadata."""
    import pyarrow
    from pyarrow import parquet

    whole = pyarrow.Table.from_pandas(table, preserve_index=False)
    fields = [
        field.with_metadata({"unit": units[field.name]}) if field.name in units else field
        for field in whole.schema
    ]
    described = whole.cast(pyarrow.schema(fields, whole.schema.metadata))
    write_atomically(path, lambda temporary: parquet.write_table(described, temporary))
