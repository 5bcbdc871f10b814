"""Every policy with every statistic: so that nobody takes one for the other."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from causaldq.evaluation.calibration import limit_at_most, limit_for
from causaldq.files import write_rows
from causaldq.jobs.given import Given
from causaldq.jobs.method import build_method
from causaldq.jobs.settings.cross import CrossJob
from causaldq.methods.base import Method, State, Truth
from causaldq.monitor import delays, statistics
from causaldq.progress import Reporter
from causaldq.seeds import generator
from causaldq.setting import Case
from causaldq.shifts import InjectedSet
from causaldq.streams.model import StreamModel
from causaldq.types import Floats, Ints

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


def run_cross(job: CrossJob, streams: Path, injected: Path, given: Given, output: Path) -> None:
    """Calibrate and measure one policy under `fair` with each statistic in turn."""
    model, sets = StreamModel.load(streams), InjectedSet.load(injected)
    policy = build_method(job, "fair", model, given.get(job.policy, {}))
    steps = int(job.calibration.arl0 * job.calibration.horizon_factor)
    means = [sets.mean("fair", CASE, delta, 0.0) for delta in job.deltas]
    rows: list[dict[str, object]] = []
    with Reporter(job.policy, len(job.watchers), "statistic") as reporter:
        for run in job.watchers:
            settings = job.model_copy(update={"method": run.method, "options": run.options})
            watcher = build_method(settings, "fair", model, {})
            method = Crossed(policy, watcher)
            source = generator(job.seed, job.source, "calibration")
            paths = model.in_control(job.calibration.paths, steps, source)
            rng = generator(job.seed, job.policy, run.method, "cross")
            found = statistics(
                method, paths, None, rng, lambda seen: limit_at_most(seen, job.calibration.arl0)
            )
            limit = limit_for(found, job.calibration.arl0)
            nobody: list[Truth | None] = [None] * len(means)
            outcomes = delays(method, sets.paths["fair"], sets.change, means, nobody, limit, rng)
            rows += [
                {
                    "policy": job.policy,
                    "statistic": run.method,
                    "delta": delta,
                    "replication": replication,
                    "delay": outcome.delay[replication],
                    "false_alarm": int(outcome.false_alarm[replication]),
                    "limit": limit,
                }
                for delta, outcome in zip(job.deltas, outcomes, strict=True)
                for replication in range(len(outcome.delay))
            ]
            reporter.advance()
    write_rows(output, COLUMNS, rows)
