"""Following a plant: what a trained and calibrated policy says, row by row.

A policy file is a zip archive with all that monitoring needs: settings and limit (JSON), the
streams' scale and covariance (npz), and the network (safetensors) or the causal graphs (npz)
that its method needs. Reading it executes nothing.
"""

import io
import json
import math
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TextIO

import numpy as np
from pydantic import ValidationError

from causaldq.discovery.effects import direct_effects
from causaldq.errors import DataError
from causaldq.files import canonical_json, write_bytes
from causaldq.jobs.method import GRAPHS, NETWORK, build_method
from causaldq.jobs.settings.monitor import PolicyJob
from causaldq.methods.base import Method, State
from causaldq.methods.causal_sr import CausalSr, CausalSrState
from causaldq.root_cause import majority, ranked_causes
from causaldq.seeds import generator
from causaldq.streams.model import StreamModel
from causaldq.types import Floats

SETTINGS, STREAMS = "policy.json", "streams.npz"
PARTS = (SETTINGS, STREAMS, f"{NETWORK}.safetensors", f"{NETWORK}.json", f"{GRAPHS}.npz")
SHOWN = 3
"""Streams named as those that contribute most, and causes named at an alarm."""


def write_policy(
    job: PolicyJob, streams: Path, limit: float, given: Mapping[str, Path], output: Path
) -> None:
    """Put into one file what monitoring with one method needs."""
    parts = {
        SETTINGS: canonical_json({"job": job.model_dump(), "limit": limit}).encode(),
        STREAMS: streams.read_bytes(),
    }
    for name in given.keys() & {"fair", NETWORK}:
        for path in (given[name], given[name].with_suffix(".json")):
            parts[f"{NETWORK}{path.suffix}"] = path.read_bytes()
    if GRAPHS in given:
        parts[f"{GRAPHS}.npz"] = given[GRAPHS].read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    write_bytes(output, buffer.getvalue())


@dataclass(frozen=True)
class Policy:
    """A method, calibrated for a plant."""

    method: Method[Any]
    model: StreamModel
    limit: float
    name: str
    seed: int

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a policy file; refuse one that is damaged."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            try:
                with zipfile.ZipFile(path) as archive:
                    for part in PARTS:
                        if part in archive.namelist():
                            (folder / part).write_bytes(archive.read(part))
                content = json.loads((folder / SETTINGS).read_text())
                job = PolicyJob.model_validate(content["job"])
                limit = float(content["limit"])
            except (FileNotFoundError, IsADirectoryError):
                raise DataError(f"{path} is no policy file; snakemake makes them") from None
            except (OSError, ValueError, KeyError, RuntimeError, zipfile.BadZipFile) as error:
                reason = "settings" if isinstance(error, ValidationError) else str(error)
                raise DataError(f"{path} is damaged ({reason}); make it again") from None
            model = StreamModel.load(folder / STREAMS)
            network = folder / f"{NETWORK}.safetensors"
            given = {"fair": network, NETWORK: network, GRAPHS: folder / f"{GRAPHS}.npz"}
            there = {name: path for name, path in given.items() if path.exists()}
            method = build_method(job, "fair", model, there)
        if model.records is None:
            raise DataError(f"{path} is of a simulated source, which has no units; give another")
        return cls(method, model, limit, job.method, job.seed)


@dataclass(frozen=True)
class Reading:
    """What one row of values says."""

    step: int
    read: list[str]
    statistic: float
    limit: float
    alarm: bool
    contributions: dict[str, float]
    """The streams that contribute most, largest first."""
    next: list[str]
    """Sensors to read at the next step."""
    causes: list["NamedCause"]
    """At an alarm, if the method weighs causes: the most likely ones first."""


@dataclass(frozen=True)
class NamedCause:
    """A suspected root cause, in the plant's words."""

    stream: str
    probability: float
    """Given that there was a change."""
    shift: float
    """Its own shift, in standard deviations."""
    paths: list[list[str]]
    """How it reaches the streams that were read, if it does."""


class Follower:
    """A policy at work on one plant."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.rng = generator(policy.seed, policy.name, "follow")
        self.state: State = policy.method.start(1, None, self.rng)
        self.step = 0
        self._choose()

    def _choose(self) -> None:
        self.streams = self.policy.method.choose(self.state, self.rng)

    @property
    def next(self) -> list[str]:
        """Sensors to read at the next step."""
        return [self.policy.model.names[i] for i in self.streams[0]]

    def take(self, values: Floats) -> Reading:
        """Take in the chosen streams' values (m,), in the plant's units, and choose anew."""
        policy, records = self.policy, self.policy.model.records
        assert records is not None  # Policy.load insists
        chosen = self.streams[0]
        scaled = (values - records.mean[chosen]) / records.sd[chosen]
        self.state = policy.method.observe(self.state, self.streams, scaled[None, :], self.rng)
        self.step += 1
        read = self.next
        value = float(policy.method.statistic(self.state)[0])
        strength = policy.method.contributions(self.state)[0]
        largest = np.argsort(-strength, kind="stable")[:SHOWN]
        alarm = value > policy.limit
        causes = self._causes() if alarm else []
        self._choose()
        return Reading(
            step=self.step,
            read=read,
            statistic=value,
            limit=policy.limit,
            alarm=alarm,
            contributions={policy.model.names[i]: float(strength[i]) for i in largest},
            next=self.next,
            causes=causes,
        )

    def _causes(self) -> list[NamedCause]:
        method, names = self.policy.method, self.policy.model.names
        if not isinstance(method, CausalSr) or not isinstance(self.state, CausalSrState):
            return []
        graph = np.zeros((len(names), len(names)), dtype=bool)
        if method.problem.graphs is not None:
            graph = majority(method.problem.graphs)
        effects = direct_effects(graph, method.covariance)
        found = ranked_causes(method, self.state, 0, self.streams[0], effects, SHOWN)
        return [
            NamedCause(
                names[cause.stream],
                cause.posterior,
                cause.shift,
                [[names[i] for i in e.path] for e in cause.explanations if len(e.path) > 1],
            )
            for cause in found
        ]


def follow(policy: Policy, lines: TextIO, place: str) -> Iterator[Reading]:
    """Readings for a CSV with a header, one for each row as soon as it has arrived.

    Only the columns of the sensors asked for need a value; other columns are ignored.
    """
    import csv

    reader = csv.reader(lines)
    header = [name.strip() for name in next(reader, [])]
    if header:
        header[0] = header[0].removeprefix("\ufeff")
    missing = [name for name in policy.model.names if name not in header]
    if missing:
        raise DataError(f"{place} has no column {missing[0]!r}; the policy was made with it")
    columns = {name: header.index(name) for name in policy.model.names}
    follower = Follower(policy)
    for row in reader:
        if not any(cell.strip() for cell in row):
            continue
        cells = dict(enumerate(row))
        values = [
            _value(cells, columns, name, f"{place}, line {reader.line_num}")
            for name in follower.next
        ]
        yield follower.take(np.array(values))


def _value(cells: Mapping[int, str], columns: Mapping[str, int], name: str, place: str) -> float:
    text = cells.get(columns[name], "").strip()
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        what = f"{text[:20]!r} is no number" if text else "no value"
        raise DataError(f"{place}, column {name!r}: {what}; this sensor was to be read")
    return value


def as_text(reading: Reading) -> str:
    """One line for people."""
    strongest = ", ".join(f"{name} {value:.1f}" for name, value in reading.contributions.items())
    alarm = "  ALARM" if reading.alarm else ""
    line = (
        f"{reading.step:6d}  statistic {reading.statistic:8.2f}  limit {reading.limit:.2f}"
        f"{alarm}  most: {strongest}  next: {' '.join(reading.next)}"
    )
    return "\n".join([line, *(f"{'':8}cause: {_cause_text(cause)}" for cause in reading.causes)])


def _cause_text(cause: NamedCause) -> str:
    paths = "; ".join(" \N{RIGHTWARDS ARROW} ".join(path) for path in cause.paths)
    return (
        f"{cause.stream} {cause.probability:.0%}, shifted by {cause.shift:+.1f}"
        f" standard deviations{f', by {paths}' if paths else ''}"
    )
