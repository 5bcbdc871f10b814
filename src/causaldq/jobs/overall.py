"""Comparisons over all shift sizes."""

from pathlib import Path

import numpy as np
import pandas as pd

from causaldq.config import Config
from causaldq.evaluation.contributing import joined
from causaldq.evaluation.overall import overall
from causaldq.files import read_json, write_csv
from causaldq.plan import Plan

CROSS_COLUMNS = ["policy", "statistic", "geometric_mean", "deltas", "n_rep", "limit"]


def run_overall(
    config: Config,
    runs: list[Path],
    facts: list[Path],
    crossed: list[Path],
    output: Path,
    cross: Path,
) -> None:
    """Geometric means over shifts, against the best of the field; and of policies by statistics."""
    plan = Plan(config)
    sizes = {path.stem: int(read_json(path)["p"]) for path in facts}
    parts = [
        pd.read_csv(path, dtype={"event": object}).assign(
            scenario=plan.runs[path.stem].scenario,
            method=plan.runs[path.stem].method,
            training_seed=plan.runs[path.stem].seed or 0,
        )
        for path in runs
    ]
    columns = ["protocol", "event", "delta", "scenario"]
    delays = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    by_scenario = {name: sizes[plan.source_of(name)] for name in config.scenarios}
    found = overall(config, delays, by_scenario)
    used = [
        [p for p in runs if _is_of(plan, p, row["scenario"], {row["method"], row["against"]})]
        for _, row in found.iterrows()
    ]
    write_csv(output, found.assign(files=[joined(paths) for paths in used]))
    table = crossing([pd.read_csv(path) for path in crossed])
    by_policy = {path.stem: str(path) for path in crossed}
    write_csv(cross, table.assign(files=[by_policy[name] for name in table["policy"]]))


def _is_of(plan: Plan, path: Path, scenario: str, methods: set[str]) -> bool:
    run = plan.runs[path.stem]
    return run.scenario == scenario and run.method in methods


def crossing(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Geometric mean delay over the shifts for each policy and statistic."""
    rows = []
    for part in parts:
        for (policy, statistic), group in part.groupby(["policy", "statistic"], sort=False):
            kept = group[group["false_alarm"] == 0]
            means = kept.groupby("delta")["delay"].mean()
            rows.append(
                {
                    "policy": policy,
                    "statistic": statistic,
                    "geometric_mean": float(np.exp(np.log(means).mean())),
                    "deltas": ";".join(f"{delta:g}" for delta in means.index),
                    "n_rep": group["replication"].nunique(),
                    "limit": group["limit"].iloc[0],
                }
            )
    return pd.DataFrame(rows, columns=CROSS_COLUMNS)
