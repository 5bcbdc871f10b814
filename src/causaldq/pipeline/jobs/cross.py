"""Every policy with every statistic: so that nobody takes one for the other."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from causaldq.calibration import CalibrationSettings
from causaldq.files import write_rows
from causaldq.methods.base import Method, State, Truth
from causaldq.models.streams import StreamModel
from causaldq.pipeline import places
from causaldq.pipeline.method_files import MethodRun, MonitorSettings, build_method
from causaldq.progress import Reporter
from causaldq.run import delays, simulated_limit
from causaldq.seeds import generator
from causaldq.setting import Case
from causaldq.types import Floats, Ints
from causaldq.worlds.shifts import InjectedSet

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


class CrossJob(MonitorSettings):
    """One policy (method, options) with the alarm statistic of every watcher."""

    scenario: str
    source: str
    policy: str
    """The policy's run."""
    watchers: list[MethodRun]
    deltas: list[float]
    calibration: CalibrationSettings


def settings(plan: "Plan", policy: str) -> CrossJob:
    run, config = plan.crossed()[policy], plan.config
    statistics = config.cross.statistics if config.cross else []
    scenario = config.scenarios[run.scenario]
    return plan.share(
        CrossJob,
        scenario,
        **plan.monitoring(run) | {"protocols": ["fair"]},
        scenario=run.scenario,
        policy=policy,
        watchers=[
            MethodRun(method=method, options=config.options_of(method)) for method in statistics
        ],
        deltas=[delta for delta in scenario.deltas if delta > 0],
    )


def inputs(plan: "Plan", policy: str) -> "Files":
    run = plan.crossed()[policy]
    return {
        "streams": plan.streams_of(run.scenario),
        "injected": plan.injected(run.scenario),
        "given": {name: path for name, path in plan.given_to(run).items() if name != "paper"},
    }


OUTPUTS = {"output": places.CROSSED}

COLUMNS = ["policy", "statistic", "delta", "replication", "delay", "false_alarm", "limit"]
CASE: Case = "case_a"

P = TypeVar("P", bound=State)
W = TypeVar("W", bound=State)


@dataclass(frozen=True)
class CrossedState(State):
    """Both see the same readings."""

    policy: Any
    watcher: Any


class Crossed(Method[CrossedState]):
    """One method chooses what is read, another raises the alarm."""

    def __init__(self, policy: Method[P], watcher: Method[W]) -> None:
        super().__init__(policy.problem)
        self.policy, self.watcher = policy, watcher

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> CrossedState:
        return CrossedState(self.policy.start(n, truth, rng), self.watcher.start(n, truth, rng))

    def choose(self, state: CrossedState, rng: np.random.Generator) -> Ints:
        return self.policy.choose(state.policy, rng)

    def observe(
        self, state: CrossedState, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> CrossedState:
        return CrossedState(
            self.policy.observe(state.policy, streams, values, rng),
            self.watcher.observe(state.watcher, streams, values, rng),
        )

    def statistic(self, state: CrossedState) -> Floats:
        return self.watcher.statistic(state.watcher)


def run(
    job: CrossJob, *, streams: Path, injected: Path, given: dict[str, Path], output: Path
) -> None:
    """Measure one policy under `fair` with the alarm statistics of several methods."""
    model, sets = StreamModel.load(streams), InjectedSet.load(injected)
    policy = build_method(job, "fair", model, given)
    steps = int(job.calibration.arl0 * job.calibration.horizon_factor)
    means = [sets.mean("fair", CASE, delta, 0.0) for delta in job.deltas]
    rows: list[dict[str, object]] = []
    with Reporter(job.policy, len(job.watchers), "statistic") as reporter:
        for run in job.watchers:
            watcher = build_method(job.of(run), "fair", model, {})
            method = Crossed(policy, watcher)
            source = generator(job.seed, job.source, "calibration")
            paths = model.in_control(job.calibration.paths, steps, source)
            rng = generator(job.seed, job.policy, run.method, "cross")
            limit = simulated_limit(method, paths, job.calibration.arl0, rng)
            nobody: list[Truth | None] = [None] * len(means)
            outcomes = delays(method, sets.paths["fair"], sets.change, means, nobody, limit, rng)
            crossed = {"policy": job.policy, "statistic": run.method, "limit": limit}
            rows += [
                {**crossed, "delta": delta, **row}
                for delta, outcome in zip(job.deltas, outcomes, strict=True)
                for row in outcome.rows()
            ]
            reporter.advance()
    write_rows(output, COLUMNS, rows)
