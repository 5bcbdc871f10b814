"""From a source's files to streams: standardised rows, their covariance, recorded events."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from causaldq.errors import DataError
from causaldq.events import Events
from causaldq.files import read_json, sha256, write_json
from causaldq.jobs.settings.data import PrepareJob
from causaldq.seeds import generator
from causaldq.sources import flares, surrogate, tep
from causaldq.sources.own import read_own
from causaldq.sources.prepare import block_length, estimate_covariance, fit_scale, varying
from causaldq.sources.settings import FlareSource, OwnSource, TepSource
from causaldq.sources.tables import write_table
from causaldq.streams.model import Records, StreamModel
from causaldq.types import Floats


@dataclass(frozen=True)
class Recorded:
    """A source's rows in its own units, sorted by what they are for."""

    names: list[str]
    in_control: Floats
    """(n, p), for the scale, the covariance, the graph, training and limits."""
    held_out: Floats
    """(n, p), in control, for tests."""
    anomalous: Floats
    """(n, p), rows under the anomaly to train on; may be none."""
    test_anomalous: Floats
    """(n, p), rows under the anomaly of the test; may be none."""
    window: int
    """Rows of which the test's parts consist; 0 if they are one recording each."""
    events: Events
    table: pd.DataFrame
    """Everything that was read, tidy."""
    units: dict[str, str]
    notes: list[str]


def run_prepare(
    job: PrepareJob, given: Path, moments: Path, output: Path, facts: Path, events: Path, tidy: Path
) -> None:
    """Prepare a recorded source; `given` is the fetch job's manifest, or the user's own file."""
    if isinstance(job.wanted, OwnSource):
        label, passed_over = f"own ({given.name})", []
        recorded = read_own_source(given, job.wanted)
    else:
        manifest = read_json(given)
        label, passed_over = manifest["label"], manifest["passed_over"]
        files = checked_files(given, manifest)
        if isinstance(job.wanted, TepSource):
            recorded = read_tep(manifest["dataset"], files, job.wanted)
        else:
            rng = generator(job.seed, job.source, "surrogate")
            recorded = read_flares(manifest["dataset"], files, job.wanted, moments, rng)
    recorded = without_constant_streams(recorded)
    for note in recorded.notes:
        print(f"{job.source}: {note}", file=sys.stderr)

    scale = fit_scale(recorded.in_control, recorded.names)
    rows = scale.apply(recorded.in_control)
    covariance = estimate_covariance(rows)
    p = len(recorded.names)
    write_table(tidy, recorded.table, recorded.units)
    recorded.events.scaled(scale).save(events)
    StreamModel(
        names=tuple(recorded.names),
        rows=rows,
        covariance=covariance.matrix,
        effects=np.zeros((p, p)),
        records=Records(
            mean=scale.mean,
            sd=scale.sd,
            held_out=scale.apply(recorded.held_out),
            anomalous=scale.apply(recorded.anomalous),
            test_anomalous=scale.apply(recorded.test_anomalous),
            window=recorded.window,
        ),
    ).save(output)
    write_json(
        facts,
        {
            "label": label,
            "p": p,
            "streams": recorded.names,
            "units": recorded.units,
            "in_control_rows": len(rows),
            "held_out_rows": len(recorded.held_out),
            "covariance": covariance.estimator,
            "shrinkage": covariance.shrinkage,
            "block": block_length(rows),
            "events": list(recorded.events.names),
            "notes": recorded.notes,
            "passed_over": passed_over,
        },
    )


def checked_files(given: Path, manifest: dict[str, Any]) -> dict[str, Path]:
    """The manifest's files, refused if one is gone or not what it was when it was fetched."""
    files = {name: Path(entry["path"]) for name, entry in manifest["files"].items()}
    for name, path in files.items():
        if not path.is_file() or sha256(path) != manifest["files"][name]["sha256"]:
            state = "has changed" if path.is_file() else "is gone"
            raise DataError(f"{path} {state} since it was fetched; delete {given} and run again")
    return files


# --- Tennessee Eastman -------------------------------------------------------------------------


def read_tep(dataset: str, files: dict[str, Path], wanted: TepSource) -> Recorded:
    runs = range(1, wanted.runs + 1)
    if dataset == "tep_classic":
        table = tep.read_classic(files)
    elif dataset == "tep_rieth":
        table = tep.read_rieth(files, runs)
    else:
        table = tep.read_rieth_run1(files)
    names = list(wanted.streams or tep.PAPER_STREAMS)
    for name in names:
        if name not in tep.COLUMNS:
            raise DataError(f"streams: no variable {name!r}; they are named xmeas_1, xmv_1")
    in_control = tep.in_control_rows(table, "train", names)
    notes = []
    if "test" in set(table["split"]):
        held_out = tep.in_control_rows(table, "test", names)
    else:
        in_control, held_out = split(in_control, wanted.held_out)
        notes.append(f"no in-control test rows: the last {len(held_out)} training rows held out")
    none = np.empty((0, len(names)))
    return Recorded(
        names,
        in_control,
        held_out,
        none,
        none,
        0,
        _faults(table, wanted.faults, names),
        table,
        {variable.id: variable.unit for variable in tep.VARIABLES},
        notes,
    )


def _faults(table: pd.DataFrame, faults: list[int], names: list[str]) -> Events:
    """Every run under every fault that the table has, of its test rows if there are any."""
    which: tep.Split = "test" if "test" in set(table["split"]) else "train"
    of_split = table[table["split"] == which]
    present = of_split[["fault", "run"]].drop_duplicates().itertuples(index=False)
    found = [
        (int(fault), *tep.fault_rows(of_split, int(fault), int(run), which, names))
        for fault, run in present
        if int(fault) in faults
    ]
    return Events.of([(f"fault {fault}", rows, first) for fault, rows, first in found], len(names))


# --- solar flares ------------------------------------------------------------------------------


def read_flares(
    dataset: str,
    files: dict[str, Path],
    wanted: FlareSource,
    moments: Path,
    rng: np.random.Generator,
) -> Recorded:
    used = wanted.windows[dataset]
    quiet_ids = [used.train_quiet, *used.test_quiet, *used.reference]
    flare_ids = [used.train_flare, *used.test_flare]
    ids = quiet_ids + flare_ids
    if dataset == "flares_surrogate":
        table = _surrogate(surrogate.read_moments(moments), ids, rng)
    elif dataset == "flares_swan":
        table = flares.read_swan(next(iter(files.values())).parent, ids)
    else:
        table = flares.read_bigdata(next(iter(files.values())), ids)
    filled = flares.fill_gaps(table)
    values = {window: _values(filled.table, window, flare=False) for window in quiet_ids}
    values |= {window: _values(filled.table, window, flare=True) for window in flare_ids}
    names = flares.parameters_of(filled.table)
    return Recorded(
        names,
        np.concatenate([values[window] for window in (used.train_quiet, *used.reference)]),
        np.concatenate([values[window] for window in used.test_quiet]),
        values[used.train_flare],
        np.concatenate([values[window] for window in used.test_flare]),
        len(values[used.train_quiet]),
        Events.of([], len(names)),
        filled.table,
        {},
        list(filled.messages),
    )


def _values(table: pd.DataFrame, window: str, *, flare: bool) -> Floats:
    """(steps, p), a window's values, refused if it is not of the kind expected."""
    label, values = flares.window_values(table, window)
    if flare == (label == flares.QUIET):
        kind = "a flare window (B, C, M, X)" if flare else "a quiet one (Q)"
        raise DataError(f"window {window!r} is labelled {label}; give {kind}")
    return values


def _surrogate(
    moments: surrogate.FlareMoments, ids: list[str], rng: np.random.Generator
) -> pd.DataFrame:
    """As many surrogate windows as the ids ask for."""
    counts: dict[str, int] = {}
    for window in ids:
        _, label, number = window.split("_")
        counts[label] = max(counts.get(label, 0), int(number))
    table = surrogate.surrogate_table(moments, counts, rng)
    return table[table["window"].isin(ids)].reset_index(drop=True)


# --- the user's own ----------------------------------------------------------------------------


def read_own_source(path: Path, wanted: OwnSource) -> Recorded:
    data = read_own(path, wanted)
    in_control, held_out = split(data.reference, wanted.held_out)
    names = list(data.names)
    found = []
    if data.fault is not None:
        # Monitoring begins on rows that are known to be in control and were not used.
        first = data.in_control.stop - len(held_out)
        found = [("fault", data.values[first:], data.fault - first)]
    none = np.empty((0, len(names)))
    return Recorded(
        names,
        in_control,
        held_out,
        none,
        none,
        0,
        Events.of(found, len(names)),
        pd.DataFrame(data.values, columns=names),
        {},
        list(data.notes),
    )


# --- shared ------------------------------------------------------------------------------------


def split(rows: Floats, held_out: float) -> tuple[Floats, Floats]:
    """Rows (n, p) to learn from, and the last of them, held out for tests."""
    last = max(1, round(len(rows) * held_out))
    return rows[:-last], rows[-last:]


def without_constant_streams(recorded: Recorded) -> Recorded:
    """Drop, with a note, streams that do not vary in the in-control rows."""
    kept = varying(recorded.in_control)
    if kept.all():
        return recorded
    dropped = [name for name, keep in zip(recorded.names, kept, strict=True) if not keep]
    if len(dropped) == len(recorded.names):
        raise DataError("no stream varies in the in-control rows; give others")
    return Recorded(
        [name for name in recorded.names if name not in dropped],
        recorded.in_control[:, kept],
        recorded.held_out[:, kept],
        recorded.anomalous[:, kept],
        recorded.test_anomalous[:, kept],
        recorded.window,
        recorded.events.streams(kept),
        recorded.table,
        recorded.units,
        [*recorded.notes, f"dropped, constant in the in-control rows: {', '.join(dropped)}"],
    )
