"""The pipeline's jobs: the settings each one gets, and what it does with its files.

A job depends on its settings and its input files, and on nothing else.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from causaldq.agent.settings import TrainingSettings
from causaldq.code import code_version
from causaldq.config import (
    BaselineSettings,
    CalibrationSettings,
    Case,
    Config,
    DiscoverySettings,
    Protocol,
    Settings,
    SimulationSource,
    StatisticSettings,
)
from causaldq.discovery.algorithms import discover
from causaldq.discovery.effects import propagation_effects
from causaldq.discovery.graph import Graph, quality
from causaldq.evaluation.calibration import limit_for, measured_run_length
from causaldq.files import read_arrays, read_json, sha256, write_arrays, write_json, write_text
from causaldq.methods.base import Method, Problem, Truth
from causaldq.methods.registry import INDEX_METHODS
from causaldq.monitor import delays, statistics
from causaldq.seeds import generator
from causaldq.shifts import InjectedSet, direction, inject, pattern, shifted_streams
from causaldq.streams.model import StreamModel
from causaldq.streams.simulation import simulate


class SimulateJob(Settings):
    seed: int
    source: str
    simulation: SimulationSource


def run_simulate(job: SimulateJob, output: Path) -> None:
    """Draw a graph, a model on it, and in-control rows."""
    simulate(job.simulation, generator(job.seed, job.source, "streams")).save(output)


class InjectJob(Settings):
    seed: int
    scenario: str
    k: int
    protocols: list[Protocol]
    cases: list[Case]
    propagate: bool
    replications: int
    in_control_steps: int
    horizon: int


def run_inject(job: InjectJob, streams: Path, output: Path) -> None:
    """Draw the test replications and the shifts that go into them."""
    inject(
        StreamModel.load(streams),
        k=job.k,
        protocols=job.protocols,
        cases=job.cases,
        propagate=job.propagate,
        replications=job.replications,
        in_control_steps=job.in_control_steps,
        horizon=job.horizon,
        rng=generator(job.seed, job.scenario, "injection"),
    ).save(output)


class DiscoverJob(Settings):
    seed: int
    source: str
    discovery: DiscoverySettings


def run_discover(job: DiscoverJob, streams: Path, output: Path, summary: Path) -> None:
    """Estimate the causal graph and the effects along it; compare it with the truth."""
    model = StreamModel.load(streams)
    graph = discover(model, job.discovery)
    rng = generator(job.seed, job.source, "directions")
    correlation = np.asarray(np.corrcoef(model.rows, rowvar=False))
    effects = propagation_effects(graph, correlation, job.discovery.max_directions, rng)
    compared = quality(graph, Graph.from_effects(model.effects))
    write_arrays(
        output,
        {"directed": graph.directed, "undirected": graph.undirected, "effects": effects},
    )
    write_json(
        summary,
        {
            "algorithm": job.discovery.algorithm,
            "column_order": list(model.names),
            "rows": len(model.rows),
            "edges": graph.edges(),
            "undirected": int(graph.undirected.sum() // 2),
            "true_edges": int((model.effects != 0).sum()),
            "shd": compared.shd,
            "tpr": compared.tpr,
            "fdr": compared.fdr,
        },
    )


def run_train(job: TrainingSettings, streams: Path, graph: Path, output: Path, log: Path) -> None:
    """Train one network; goes on from where a killed run had come."""
    from causaldq.agent.checkpoint import Checkpoint, save_checkpoint
    from causaldq.agent.train import train

    model = StreamModel.load(streams)
    effects = read_arrays(graph)["effects"] if job.method.causal_state else None
    resume = output.with_suffix(".partial.safetensors")
    trained = train(model, effects, job, resume)
    write_csv(log, pd.DataFrame(trained.log))
    save_checkpoint(
        output,
        Checkpoint(trained.online, effects, job, model.p),
        graph_hash=sha256(graph),
        data_hash=sha256(streams),
        code=code_version(),
    )
    resume.unlink(missing_ok=True)


class Cell(Settings):
    """One combination of case, noise and shift."""

    case: Case
    sigma: float
    delta: float

    @property
    def key(self) -> str:
        return f"{self.case}/{self.sigma}/{self.delta}"


class MonitorSettings(Settings):
    """What a method runs with; shared by calibration and evaluation."""

    seed: int
    scenario: str
    method: str
    m: int
    protocols: list[Protocol]
    statistic: StatisticSettings
    baselines: BaselineSettings

    def build(
        self, protocol: Protocol, model: StreamModel, checkpoints: dict[str, Path]
    ) -> Method[Any]:
        """The method, with its network if it is a learned one."""
        problem = Problem(model.covariance, self.m, self.statistic, self.baselines)
        if self.method in INDEX_METHODS:
            return INDEX_METHODS[self.method](problem)
        from causaldq.agent.checkpoint import load_checkpoint
        from causaldq.agent.policy import LearnedPolicy

        expected = {
            "p": model.p,
            "m": self.m,
            "settings": {
                "plan": {"protocol": protocol},
                "statistic": self.statistic.model_dump(),
            },
        }
        return LearnedPolicy(problem, load_checkpoint(checkpoints[protocol], expected))


class CalibrateJob(MonitorSettings):
    k: int
    calibration: CalibrationSettings
    confidence: float
    bootstrap: int
    propagate: bool
    cells: list[Cell] | None
    """Only for bounds whose statistic depends on the shift; one limit a cell then."""


def run_calibrate(
    job: CalibrateJob, streams: Path, checkpoints: dict[str, Path], output: Path
) -> None:
    """Set each protocol's limit on in-control paths, and measure ARL0 on fresh ones."""
    model = StreamModel.load(streams)
    steps = int(job.calibration.arl0 * job.calibration.horizon_factor)
    limits: dict[str, dict[str, Any]] = {}
    for protocol in job.protocols:
        method = job.build(protocol, model, checkpoints)
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


class EvaluateJob(MonitorSettings):
    cells: list[Cell]


def run_evaluate(
    job: EvaluateJob,
    streams: Path,
    injected: Path,
    limits: Path,
    checkpoints: dict[str, Path],
    output: Path,
) -> None:
    """Measure the delay of every replication in every cell, under both protocols."""
    model = StreamModel.load(streams)
    sets = InjectedSet.load(injected)
    known = read_json(limits)
    rows: list[pd.DataFrame] = []
    for protocol in job.protocols:
        method = job.build(protocol, model, checkpoints)
        by_limit: dict[str, list[Cell]] = {}
        for cell in job.cells:
            key = cell.key if cell.key in known[protocol] else "*"
            by_limit.setdefault(key, []).append(cell)
        for key, cells in by_limit.items():
            means = [sets.mean(protocol, c.case, c.delta, c.sigma) for c in cells]
            truths = [Truth(sets.shifted[protocol], mean) for mean in means]
            outcomes = delays(
                method,
                sets.paths,
                sets.change,
                means,
                list(truths) if method.is_bound else [None] * len(means),
                known[protocol][key]["limit"],
                generator(job.seed, job.scenario, job.method, protocol, "evaluation"),
            )
            rows += [
                pd.DataFrame(
                    {
                        "protocol": protocol,
                        "setting": cell.case,
                        "sigma": cell.sigma,
                        "delta": cell.delta,
                        "replication": np.arange(len(outcome.delay)),
                        "delay": outcome.delay,
                        "censored": outcome.censored.astype(int),
                        "false_alarm": outcome.false_alarm.astype(int),
                    }
                )
                for cell, outcome in zip(cells, outcomes, strict=True)
            ]
    write_csv(output, pd.concat(rows, ignore_index=True))


def run_aggregate(
    config: Config, runs: list[Path], limits: list[Path], published: Path, output: Path
) -> None:
    """Gather all runs into the tidy table."""
    from causaldq.evaluation.aggregate import aggregate, read_published

    table = aggregate(
        config,
        {path.stem: path for path in runs},
        {path.stem: path for path in limits},
        read_published(published),
    )
    write_csv(output, table)


def write_csv(path: Path, table: pd.DataFrame) -> None:
    """A CSV with one spelling for each number."""
    write_text(path, table.to_csv(index=False, float_format="%.10g", lineterminator="\n"))
