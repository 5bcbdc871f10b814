"""How good the graphs were: on the streams that training selected, and as a whole."""

from pathlib import Path

import numpy as np
import pandas as pd

from causaldq.files import read_json
from causaldq.pipeline.config import Config
from causaldq.pipeline.evaluation.published import agrees, by_table
from causaldq.pipeline.plan import Plan

LAST_EPOCHS = 50
"""The paper averages over so many epochs, after the reward has converged."""
METRICS = ("shd", "tpr", "fdr")
TABLES = ("graph_metrics", "graph_quality")

COLUMNS = [
    *("table", "setting", "p", "m", "k", "sigma", "method", "scenario", "graph", "n_seeds"),
    *(f"m{metric}" for metric in METRICS),
    *(f"published_m{metric}" for metric in METRICS),
    *(f"whole_{metric}" for metric in METRICS),
]


def graph_table(
    config: Config, curves: pd.DataFrame, summaries: dict[str, Path], published: pd.DataFrame
) -> pd.DataFrame:
    """One row for each setting of the paper's two tables on graphs, under its own protocol."""
    plan, printed = Plan(config), by_table(published)
    rows = []
    for name, scenario in config.scenarios.items():
        for table in TABLES:
            if table not in (scenario.table, *scenario.also):
                continue
            logs = curves[(curves["scenario"] == name) & (curves["protocol"] == "paper")]
            for method, part in logs.groupby("method", sort=False):
                if table == "graph_metrics" and method != "causal_dq":
                    continue
                whole = read_json(summaries[plan.graph_of(name)])
                row = {
                    "table": table,
                    "setting": scenario.settings_in(table)[0],
                    "p": config.sources[scenario.source].p,
                    "m": scenario.m,
                    "k": scenario.k,
                    "sigma": scenario.sigmas[0],
                    "method": method,
                    "scenario": name,
                    "graph": whole["algorithm"],
                    "n_seeds": part["training_seed"].nunique(),
                }
                has_graph = config.learned[str(method)].causal_state
                row |= {f"m{m}": _last(part, m) if has_graph else np.nan for m in METRICS}
                row |= {f"whole_{m}": whole[m] if has_graph else np.nan for m in METRICS}
                same = [one for one in printed[table, str(method)] if agrees(one, row)]
                values = {one["metric"]: one["value"] for one in same}
                row |= {f"published_m{m}": values.get(f"m{m}", np.nan) for m in METRICS}
                rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def _last(logs: pd.DataFrame, metric: str) -> float:
    """Mean over the last epochs, then over seeds; NaN where no epoch had a value."""
    late = logs[logs["epoch"] > logs["epoch"].max() - LAST_EPOCHS]
    return float(late.groupby("training_seed")[f"selected_{metric}"].mean().mean())
