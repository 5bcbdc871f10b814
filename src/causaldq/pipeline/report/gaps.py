"""Published numbers that have no measured one beside them."""

import pandas as pd

from causaldq.pipeline.config import Config, ScenarioSettings
from causaldq.pipeline.evaluation.published import Row, agrees, by_table


def gaps(
    published: pd.DataFrame, add: pd.DataFrame, graphs: pd.DataFrame, protocols: list[str]
) -> list[str]:
    """Names of the published numbers that were not measured, delays under every protocol.

    Where every run alarmed before the change there is no delay, and that is what was measured.
    """
    delays = by_table(add[add["add"].notna() | (add["false_alarm"] == 1)])
    qualities = by_table(graphs)
    found = []
    for row in published[published["value"].notna()].to_dict("records"):
        ours = (delays if row["metric"] == "add" else qualities)[row["table"], row["method"]]
        beside = [one for one in ours if agrees(row, one)]
        if row["metric"] != "add":
            if not any(pd.notna(one[row["metric"]]) for one in beside):
                found.append(_name(row))
            continue
        found += [
            f"{_name(row)} ({protocol} protocol)"
            for protocol in protocols
            if not any(one["protocol"] == protocol for one in beside)
        ]
    return found


def promised(config: Config, published: pd.DataFrame) -> pd.DataFrame:
    """The published numbers beside which a config has something to measure."""
    kept = [
        any(_measures(config, name, s, row) for name, s in config.scenarios.items())
        for row in published.to_dict("records")
    ]
    return published[kept]


def _measures(config: Config, name: str, scenario: ScenarioSettings, row: Row) -> bool:
    methods = set(config.methods_of(name))
    if row["metric"] != "add":
        # The quality of a graph is told by training in the paper's protocol, evaluated or not.
        study = scenario.training_study
        methods &= set(config.learned if "paper" in config.protocols else [])
        methods |= set(study.methods if study and "paper" in study.protocols else [])
    cells = {
        "setting": scenario.settings_in(row["table"]),
        "m": scenario.m,
        "k": scenario.k,
        "sigma": scenario.sigmas,
        "delta": scenario.deltas,
        "delta_train": scenario.delta_train,
    }
    is_shown = row["table"] in (scenario.table, *scenario.also) and row["method"] in methods
    return is_shown and agrees(row, cells)


def _name(row: Row) -> str:
    details = [row["table"], row["setting"], row["method"], f"m={row['m']}"]
    details += [
        f"{name}={row[name]:g}" for name in ("sigma", "delta", "delta_train") if pd.notna(row[name])
    ]
    return " ".join([*details, row["metric"]])
