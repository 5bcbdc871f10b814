"""One scenario looked at more closely: where sensors go, what fewer false alarms cost, and what a
network is worth where it was not trained."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from causaldq.estimates import estimate
from causaldq.files import by_name, read_json, write_csv
from causaldq.methods.base import Method, Truth
from causaldq.methods.causal_dq_eq import CausalDqEq
from causaldq.methods.registry import has_shared_network
from causaldq.models.streams import StreamModel
from causaldq.pipeline.method_files import MethodRun, MonitorSettings, build_method, by_run
from causaldq.run import delays, step
from causaldq.seeds import generator
from causaldq.setting import Case, Protocol
from causaldq.worlds.shifts import InjectedSet

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


class ShowcaseJob(MonitorSettings):
    """One scenario looked at more closely; method and options are set by the job for each run."""

    scenario: str
    runs: list[MethodRun]
    arl0: float
    arl0_grid: list[float]
    delta: float
    deltas: list[float]
    confidence: float


def settings(plan: "Plan") -> ShowcaseJob:
    config, runs = plan.config, plan.showcase_runs()
    scenario = runs[0].scenario
    deltas = [delta for delta in config.scenarios[scenario].deltas if delta > 0]
    return plan.share(
        ShowcaseJob,
        config.calibration,
        config.evaluation,
        **plan.monitoring(runs[0]),
        scenario=scenario,
        runs=plan.listed(runs),
        delta=1.0 if 1.0 in deltas else deltas[0],
        deltas=deltas,
    )


def inputs(plan: "Plan") -> "Files":
    runs = plan.showcase_runs()
    scenario = runs[0].scenario
    return {
        "streams": plan.streams_of(scenario),
        "injected": plan.injected(scenario),
        "limits": sorted({plan.limits_file(run) for run in runs}),
        "given": plan.given_to_all(runs, plan.config.protocols),
    }


OUTPUTS = {
    "watch": "results/{profile}/watch.csv",
    "tradeoff": "results/{profile}/tradeoff.csv",
    "places": "results/{profile}/places.csv",
    "looks": "results/{profile}/looks.csv",
}

CASE: Case = "case_a"
SHOWN_STEPS = 60
"""Steps after the change in the pictures of the sensors and of the networks."""
LOOKED_RUNS = 40
EVIDENCE = np.array([0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0])
UNREAD = np.array([0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
"""Lower ends of the bins: squared deviations, and steps since a stream was read."""
LOOKS = ["method", "evidence", "unread", "worth", "readings"]


class Stage:
    """Everything a showcase works with."""

    def __init__(
        self, job: ShowcaseJob, streams: Path, injected: Path, limits: list[Path],
        given: dict[str, Path],
    ) -> None:  # fmt: skip
        self.job = job
        self.model = StreamModel.load(streams)
        self.sets = InjectedSet.load(injected)
        self.limits = {name: read_json(path) for name, path in by_name(limits).items()}
        self.given = by_run(given)

    def method(self, run: MethodRun, protocol: Protocol) -> Method[Any]:
        """The run's method, with the network of one protocol if it learned one problem."""
        return build_method(self.job.of(run), protocol, self.model, self.given.get(run.name, {}))

    def rng(self, run: MethodRun, *purpose: str) -> np.random.Generator:
        job = self.job
        return generator(job.seed, job.scenario, f"{job.scenario}.{run.name}", *purpose)

    def limit(self, run: MethodRun, protocol: Protocol, arl0: float, delta: float) -> float:
        """The limit for a run length; a bound that knows the shift has one for each."""
        known = self.limits[str(run.limits)][protocol]
        entry = known.get(f"{CASE}/0/{delta:g}", known.get("*"))
        return float(entry["grid"][f"{arl0:g}"])

    def truth(self, method: Method[Any], protocol: Protocol, delta: float) -> Truth | None:
        mean = self.sets.mean(protocol, CASE, delta, 0.0)
        return Truth(self.sets.shifted[protocol], mean) if method.is_bound else None


def run(
    job: ShowcaseJob, *, streams: Path, injected: Path, limits: list[Path],
    given: dict[str, Path], watch: Path, tradeoff: Path, places: Path, looks: Path,
) -> None:  # fmt: skip
    """Look at one scenario closely: sensors in time, the cost of fewer false alarms, places."""
    stage = Stage(job, streams, injected, limits, given)
    first = [run for run in job.runs if run.seed in (None, 0)]
    write_csv(watch, pd.concat([watched(stage, run) for run in first], ignore_index=True))
    write_csv(tradeoff, pd.concat([traded(stage, run) for run in first], ignore_index=True))
    learned = [run for run in job.runs if run.seed is not None]
    rows = [placed(stage, run) for run in learned]
    maps = [looked(stage, run) for run in first if has_shared_network(run.method)]
    write_csv(looks, pd.concat(maps, ignore_index=True) if maps else pd.DataFrame(columns=LOOKS))
    columns = ["method", "training_seed", "trained", "tested", "delta", "add", "se"]
    write_csv(places, pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=columns))


def looked(stage: Stage, run: MethodRun) -> pd.DataFrame:
    """What a network for all problems takes a stream to be worth, by its evidence so far and by
    the steps since it was read; in units of the mean over streams, mean over steps and runs."""
    job, sets = stage.job, stage.sets
    method = stage.method(run, "fair")
    if not isinstance(method, CausalDqEq):
        raise TypeError(f"{run.method} has no network for all problems")
    n = min(LOOKED_RUNS, len(sets.paths["fair"]))
    rng = stage.rng(run, "looks")
    state = method.start(n, None, rng)
    mean = sets.mean("fair", CASE, job.delta, 0.0)[:n]
    shape = (len(EVIDENCE), len(UNREAD))
    total, count = np.zeros(shape), np.zeros(shape)
    for t in range(min(sets.change + SHOWN_STEPS, sets.paths["fair"].shape[1])):
        worth = method.worth(state)
        worth /= worth.mean(axis=1, keepdims=True)
        evidence = method.over_times(state, state.score**2 / (1 + state.information), 0.0)
        place = (
            np.searchsorted(EVIDENCE, evidence, side="right") - 1,
            np.searchsorted(UNREAD, state.unread, side="right") - 1,
        )
        np.add.at(total, place, worth)
        np.add.at(count, place, 1.0)
        values = sets.paths["fair"][:n, t] + (mean if t >= sets.change else 0.0)
        state, _, _ = step(method, state, values, rng)
    rows = [
        (run.method, EVIDENCE[i], UNREAD[j], total[i, j] / count[i, j], int(count[i, j]))
        for i, j in np.argwhere(count > 0)
    ]
    return pd.DataFrame(rows, columns=LOOKS)


def watched(stage: Stage, run: MethodRun) -> pd.DataFrame:
    """Which streams were read at each step of the first replication, and what came of it."""
    job, sets = stage.job, stage.sets
    method = stage.method(run, "fair")
    limit = stage.limit(run, "fair", job.arl0, job.delta)
    truth = stage.truth(method, "fair", job.delta)
    rng = stage.rng(run, "watch")
    state = method.start(1, truth.take(np.array([0])) if truth else None, rng)
    mean = sets.mean("fair", CASE, job.delta, 0.0)[0]
    rows = []
    for t in range(min(sets.change + SHOWN_STEPS, sets.paths["fair"].shape[1])):
        values = sets.paths["fair"][:1, t] + (mean if t >= sets.change else 0.0)
        state, read, value = step(method, state, values, rng)
        rows += [(run.method, t, int(i), value[0], limit, sets.change) for i in read[0]]
    table = pd.DataFrame(rows, columns=["method", "step", "stream", "statistic", "limit", "change"])
    return table.assign(shifted=sets.shifted["fair"][0][table["stream"]].astype(int))


def traded(stage: Stage, run: MethodRun) -> pd.DataFrame:
    """Delay at one shift against the run length in control, from the same replications."""
    job, sets = stage.job, stage.sets
    method = stage.method(run, "fair")
    mean = sets.mean("fair", CASE, job.delta, 0.0)
    rows = []
    for arl0 in job.arl0_grid:
        limit = stage.limit(run, "fair", arl0, job.delta)
        rng = stage.rng(run, "tradeoff")
        truth = stage.truth(method, "fair", job.delta)
        path = sets.paths["fair"]
        outcome = delays(method, path, sets.change, [mean], [truth], limit, rng)[0]
        value = estimate(outcome.kept(), job.confidence, path.shape[1] - sets.change)
        rows.append(
            {
                "method": run.method,
                "arl0": arl0,
                "delta": job.delta,
                "limit": limit,
                "add": value.mean,
                "ci_low": value.low,
                "ci_high": value.high,
                "false_alarm": outcome.false_alarm.mean(),
            }
        )
    return pd.DataFrame(rows)


def placed(stage: Stage, run: MethodRun) -> pd.DataFrame:
    """A network's delays with the shift in the places it was trained on, and anywhere.

    All at limits of one run length, so that only the places differ. A network for all problems
    is location-agnostic; it is the same under both protocols, and shown once.
    """
    job, sets = stage.job, stage.sets
    rows = []
    shared = has_shared_network(run.method)
    for trained in job.protocols[-1:] if shared else job.protocols:
        method = stage.method(run, trained)
        limit = stage.limit(run, trained, job.arl0, job.delta)
        for tested in job.protocols:
            means = [sets.mean(tested, CASE, delta, 0.0) for delta in job.deltas]
            rng = stage.rng(run, trained, tested, "places")
            path, unknown = sets.paths[tested], [None] * len(means)
            outcomes = delays(method, path, sets.change, means, list(unknown), limit, rng)
            for delta, outcome in zip(job.deltas, outcomes, strict=True):
                value = estimate(outcome.kept(), job.confidence, path.shape[1] - sets.change)
                rows.append(
                    {
                        "method": run.method,
                        "training_seed": run.seed,
                        "trained": "mixture" if shared else trained,
                        "tested": tested,
                        "delta": delta,
                        "add": value.mean,
                        "se": value.se,
                    }
                )
    return pd.DataFrame(rows)
