"""From runs to the tidy table: one row for each cell and method, published value beside it."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from causaldq.config import Config
from causaldq.evaluation.statistics import among_best, estimate
from causaldq.files import read_json
from causaldq.jobs.settings import Cell
from causaldq.methods.registry import INDEX_METHODS
from causaldq.plan import Plan
from causaldq.seeds import generator
from causaldq.types import Floats

COLUMNS = [
    "table", "setting", "p", "m", "k", "sigma", "delta", "delta_train", "method", "protocol",
    "n_rep", "n_seeds", "add", "se", "ci_low", "ci_high", "censored", "false_alarm", "limit",
    "arl0", "published_add", "published_se", "source",
    "arl0_low", "arl0_high", "among_best", "way_to_oracle", "scenario", "files",
]  # fmt: skip
"""The contract with everything downstream; the last row of names is ours beyond it."""

CELL = ["scenario", "protocol", "setting", "sigma", "delta"]


def read_published(path: Path) -> pd.DataFrame:
    """The paper's numbers, as data/reference/README.md describes them."""
    return pd.read_csv(path)


def aggregate(
    config: Config, runs: dict[str, Path], limits: dict[str, Path], published: pd.DataFrame
) -> pd.DataFrame:
    """The tidy table from delays, by run id, and limits, by theirs."""
    plan = Plan(config)
    raw = pd.concat(
        [
            pd.read_csv(runs[name]).assign(
                scenario=run.scenario, method=run.method, training_seed=run.seed or 0
            )
            for name, run in plan.runs.items()
        ],
        ignore_index=True,
    )
    known = {name: read_json(path) for name, path in limits.items()}
    rows = []
    for cell, group in raw.groupby(CELL, sort=False):
        named = dict(zip(CELL, cell, strict=True))
        delays = {str(method): delay_matrix(part) for method, part in group.groupby("method")}
        rivals = {name: d for name, d in delays.items() if not is_bound(name)}
        best = among_best(rivals, 1.0 - config.evaluation.confidence)
        for method in config.methods_of(str(named["scenario"])):
            part = group[group["method"] == method]
            rows.append(
                _describe(config, plan, named, method, part, delays, known, runs, published)
                | {"among_best": int(method in best)}
            )
    return pd.DataFrame(rows)[COLUMNS]


def is_bound(method: str) -> bool:
    return method in INDEX_METHODS and INDEX_METHODS[method].is_bound


def delay_matrix(runs: pd.DataFrame) -> Floats:
    """Delays (seeds, replications) of one cell and method, NaN after a false alarm."""
    delays = runs["delay"].where(runs["false_alarm"] == 0).astype(float)
    wide = delays.groupby([runs["training_seed"], runs["replication"]]).first().unstack()
    return wide.to_numpy(dtype=np.float64)


def _describe(
    config: Config,
    plan: Plan,
    cell: dict[str, Any],
    method: str,
    runs: pd.DataFrame,
    delays: dict[str, Floats],
    limits: dict[str, dict[str, dict[str, dict[str, float | None]]]],
    files: dict[str, Path],
    published: pd.DataFrame,
) -> dict[str, object]:
    scenario = config.scenarios[str(cell["scenario"])]
    names = [
        name
        for name, run in plan.runs.items()
        if run.scenario == cell["scenario"] and run.method == method
    ]
    key = Cell.key_of(str(cell["setting"]), cell["sigma"], cell["delta"])
    used = [limits[plan.limits_of(plan.runs[name])][str(cell["protocol"])] for name in names]
    alarm = pd.DataFrame([limit.get(key, limit.get("*")) for limit in used])
    rng = generator(config.seed, *(str(part) for part in cell.values()), method, "interval")
    evaluation = config.evaluation
    value = estimate(delays[method], evaluation.confidence, evaluation.bootstrap, rng)
    row: dict[str, object] = {
        **cell,
        "table": scenario.table,
        "p": config.sources[scenario.source].p,
        "m": scenario.m,
        "k": scenario.k,
        "delta_train": scenario.delta_train,
        "method": method,
        "n_rep": delays[method].shape[1],
        "n_seeds": len(names) if plan.runs[names[0]].seed is not None else 0,
        "add": value.mean,
        "se": value.se,
        "ci_low": value.low,
        "ci_high": value.high,
        "censored": runs["censored"].mean(),
        "false_alarm": runs["false_alarm"].mean(),
        "limit": alarm["limit"].mean(),
        "arl0": alarm["arl0"].fillna(np.inf).astype(float).mean(),
        "arl0_low": alarm["low"].mean(),
        "arl0_high": alarm["high"].fillna(np.inf).astype(float).mean(),
        "way_to_oracle": _way_to_oracle(delays, method),
        "source": config.sources[scenario.source].kind,
        "files": ";".join(str(files[name]) for name in names),
    }
    return row | _published(row, published)


def _way_to_oracle(delays: dict[str, Floats], method: str) -> float:
    """0 at random sensors, 1 at the oracle set; NaN if either was not run."""
    if "random" not in delays or "oracle_set" not in delays:
        return float("nan")
    start, end = (_mean(delays[name]) for name in ("random", "oracle_set"))
    return (start - _mean(delays[method])) / (start - end) if start != end else float("nan")


def _mean(delays: Floats) -> float:
    return float(np.nanmean(delays)) if not np.isnan(delays).all() else float("nan")


def _published(row: dict[str, object], published: pd.DataFrame) -> dict[str, object]:
    """The paper's value for this cell and method, if it printed one."""
    same = published["metric"] == "add"
    for column in ("table", "setting", "p", "m", "k", "delta", "delta_train", "method"):
        same &= published[column] == row[column]
    # The paper leaves sigma empty where there is no noise.
    same &= published["sigma"].fillna(0.0) == row["sigma"]
    found = published[same]
    if found.empty:
        return {"published_add": np.nan, "published_se": np.nan}
    return {"published_add": found["value"].iloc[0], "published_se": found["se"].iloc[0]}
