"""From runs to the tidy table: one row for each cell and method, published value beside it."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from causaldq.estimates import among_best, estimate
from causaldq.files import read_json
from causaldq.methods.registry import is_bound
from causaldq.pipeline.config import Config
from causaldq.pipeline.contributing import joined
from causaldq.pipeline.evaluation.published import agrees, by_table
from causaldq.pipeline.plan import Plan
from causaldq.types import Floats
from causaldq.worlds.shifts import Cell

COLUMNS = [
    "table", "setting", "p", "m", "k", "sigma", "delta", "delta_train", "method", "protocol",
    "n_rep", "n_seeds", "add", "se", "ci_low", "ci_high", "censored", "false_alarm", "limit",
    "arl0", "published_add", "published_se", "source",
    "freedom", "arl0_low", "arl0_high", "among_best", "among_published", "way_to_oracle",
    "scenario", "files",
]  # fmt: skip
"""The contract with everything downstream; the last two rows of names are ours beyond it."""

EVENT_COLUMNS = [
    "table", "event", "p", "m", "method", "n_rep", "n_seeds", "delay", "sd", "missed",
    "false_alarms", "in_control_steps", "limit", "arl0", "source", "scenario", "files",
]  # fmt: skip

CELL = ["scenario", "protocol", "setting", "sigma", "delta"]


@dataclass(frozen=True)
class Gathered:
    """All that the tidy tables are made from."""

    config: Config
    plan: Plan
    delays: pd.DataFrame
    """Every replication of every run."""
    files: dict[str, Path]
    """The file of each run."""
    limits: dict[str, dict[str, dict[str, dict[str, Any]]]]
    """By the limits' id, protocol and cell."""
    facts: dict[str, dict[str, Any]]
    """What is known of each source."""

    @cached_property
    def _runs(self) -> dict[tuple[str, str], list[str]]:
        found: dict[tuple[str, str], list[str]] = {}
        for name, run in self.plan.runs.items():
            found.setdefault((run.scenario, run.method), []).append(name)
        return found

    def runs_of(self, scenario: str, method: str) -> list[str]:
        return self._runs[scenario, method]

    def limits_of(self, names: list[str], protocol: str, key: str) -> dict[str, float]:
        """Limit and run lengths of some runs, on average; a length that was not reached is inf."""
        used = [self.limits[self.plan.limits_of(self.plan.runs[name])][protocol] for name in names]
        rows = [limit[key if key in limit else "*"] for limit in used]
        return {
            name: float(np.mean([np.inf if row[name] is None else row[name] for row in rows]))
            for name in ("limit", "arl0", "low", "high")
        }


def read_delays(plan: Plan, files: dict[str, Path]) -> pd.DataFrame:
    """Every replication of some runs."""
    parts = [pd.DataFrame(columns=["protocol", "event", "delta", "scenario"])]
    for name, path in files.items():
        run = plan.runs[name]
        part = pd.read_csv(path, dtype={"event": object})
        parts.append(
            part.assign(scenario=run.scenario, method=run.method, training_seed=run.seed or 0)
        )
    return pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)


def gather(
    config: Config, runs: dict[str, Path], limits: dict[str, Path], facts: dict[str, Path]
) -> Gathered:
    """Read what jobs have written: delays by run id, limits by theirs, facts by source."""
    plan = Plan(config)
    return Gathered(
        config,
        plan,
        read_delays(plan, {name: runs[name] for name in plan.runs}),
        runs,
        {name: read_json(path) for name, path in limits.items()},
        {name: read_json(path) for name, path in facts.items()},
    )


def aggregate(gathered: Gathered, published: pd.DataFrame) -> pd.DataFrame:
    """The tidy table of delays under injected shifts."""
    config = gathered.config
    raw = gathered.delays[gathered.delays["event"].isna()]
    in_print = set(published["method"])
    printed = by_table(published[published["metric"] == "add"])
    rows = []
    for cell, group in raw.groupby(CELL, sort=False):
        named = dict(zip(CELL, cell, strict=True))
        scenario = config.scenarios[str(named["scenario"])]
        parts = {str(method): part for method, part in group.groupby("method")}
        delays = {
            method: delay_matrix(part, restart=scenario.restart) for method, part in parts.items()
        }
        rivals = {name: d for name, d in delays.items() if not is_bound(name)}
        compared = {name: d for name, d in rivals.items() if name in in_print}
        level = 1.0 - config.evaluation.confidence
        best, best_in_print = among_best(rivals, level), among_best(compared, level)
        for method in config.methods_of(str(named["scenario"])):
            row = _describe(gathered, named, method, parts[method], delays)
            row |= {"among_best": int(method in best)}
            row |= {"among_published": int(method in best_in_print)}
            for table in (scenario.table, *scenario.also):
                same = [one for one in printed[table, method] if agrees(one, row)]
                value, se = (same[0]["value"], same[0]["se"]) if same else (np.nan, np.nan)
                # In other tables only what the paper has there, too.
                if table == scenario.table or not np.isnan(value):
                    beside = {"published_add": value, "published_se": se}
                    rows.append(row | {"table": table} | beside)
    return pd.DataFrame(rows, columns=COLUMNS)


def delay_matrix(runs: pd.DataFrame, *, restart: bool = False) -> Floats:
    """Delays (seeds, replications) of one cell and method, NaN where a false alarm ended a run."""
    kept = (runs["false_alarm"].to_numpy() == 0) | restart
    values = np.where(kept, runs["delay"].to_numpy(dtype=np.float64), np.nan)
    seeds, row = np.unique(runs["training_seed"].to_numpy(), return_inverse=True)
    replications, column = np.unique(runs["replication"].to_numpy(), return_inverse=True)
    delays = np.full((len(seeds), len(replications)), np.nan)
    delays[row, column] = values
    return delays


def aggregate_events(gathered: Gathered) -> pd.DataFrame:
    """The tidy table of delays on recorded events."""
    raw = gathered.delays[gathered.delays["event"].notna()]
    rows = []
    for (scenario_name, event, method), part in raw.groupby(
        ["scenario", "event", "method"], sort=False
    ):
        scenario = gathered.config.scenarios[str(scenario_name)]
        names = gathered.runs_of(str(scenario_name), str(method))
        alarm = gathered.limits_of(names, "fair", "*")
        by_seed = part.groupby("training_seed")["delay"].mean()
        rows.append(
            {
                "table": scenario.table,
                "event": event,
                "p": gathered.facts[scenario.source]["p"],
                "m": scenario.m,
                "method": method,
                "n_rep": len(part) // len(by_seed),
                "n_seeds": len(names) if gathered.plan.runs[names[0]].seed is not None else 0,
                "delay": part["delay"].mean(),
                "sd": part["delay"].std(ddof=1),
                "missed": part["censored"].mean(),
                "false_alarms": part["false_alarm"].sum(),
                "in_control_steps": part["in_control_steps"].sum(),
                "limit": alarm["limit"],
                "arl0": alarm["arl0"],
                "source": gathered.facts[scenario.source]["label"],
                "scenario": scenario_name,
                "files": joined(gathered.files[name] for name in names),
            }
        )
    return pd.DataFrame(rows, columns=EVENT_COLUMNS)


def _describe(
    gathered: Gathered,
    cell: dict[str, Any],
    method: str,
    runs: pd.DataFrame,
    delays: dict[str, Floats],
) -> dict[str, object]:
    config, plan = gathered.config, gathered.plan
    scenario = config.scenarios[str(cell["scenario"])]
    names = gathered.runs_of(str(cell["scenario"]), method)
    key = Cell.key_of(str(cell["setting"]), cell["sigma"], cell["delta"])
    alarm = gathered.limits_of(names, str(cell["protocol"]), key)
    value = estimate(delays[method], config.evaluation.confidence, scenario.horizon)
    return {
        **cell,
        "setting": scenario.setting or cell["setting"],
        "p": gathered.facts[scenario.source]["p"],
        "m": scenario.m,
        "k": scenario.k,
        "delta_train": scenario.delta_train,
        "method": method,
        "n_rep": delays[method].shape[1],
        "n_seeds": len(names) if plan.runs[names[0]].seed is not None else 0,
        "add": value.mean,
        "se": value.se,
        "freedom": value.freedom,
        "ci_low": value.low,
        "ci_high": value.high,
        "censored": runs["censored"].to_numpy().mean(),
        "false_alarm": runs["false_alarm"].to_numpy().mean(),
        "limit": alarm["limit"],
        "arl0": alarm["arl0"],
        "arl0_low": alarm["low"],
        "arl0_high": alarm["high"],
        "way_to_oracle": _way_to_oracle(delays, method),
        "source": gathered.facts[scenario.source]["label"],
        "files": joined(gathered.files[name] for name in names),
    }


def _way_to_oracle(delays: dict[str, Floats], method: str) -> float:
    """0 at random sensors, 1 at the oracle set; NaN if either was not run."""
    if "random" not in delays or "oracle_set" not in delays:
        return float("nan")
    start, end = (_mean(delays[name]) for name in ("random", "oracle_set"))
    return (start - _mean(delays[method])) / (start - end) if start != end else float("nan")


def _mean(delays: Floats) -> float:
    return float(np.nanmean(delays)) if not np.isnan(delays).all() else float("nan")
