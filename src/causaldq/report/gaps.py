"""Published numbers that have no measured one beside them."""

from collections import defaultdict
from typing import Any

import pandas as pd

from causaldq.config import Config, ScenarioSettings

Row = dict[Any, Any]
EXACT = ("table", "setting", "m", "method")
OPTIONAL = ("k", "delta", "delta_train")
"""What the paper leaves open agrees with anything."""


def gaps(
    published: pd.DataFrame, add: pd.DataFrame, graphs: pd.DataFrame, protocols: list[str]
) -> list[str]:
    """Names of the published numbers that were not measured, delays under every protocol.

    Where every run alarmed before the change there is no delay, and that is what was measured.
    """
    delays = _by_key(add[add["add"].notna() | (add["false_alarm"] == 1)])
    qualities = _by_key(graphs)
    found = []
    for row in published[published["value"].notna()].to_dict("records"):
        if row["metric"] != "add":
            beside = qualities[_key(row)]
            if not any(_agree(row, r) and pd.notna(r[row["metric"]]) for r in beside):
                found.append(_name(row))
            continue
        beside = [r for r in delays[_key(row)] if _agree(row, r)]
        found += [
            f"{_name(row)} ({protocol} protocol)"
            for protocol in protocols
            if not any(r["protocol"] == protocol for r in beside)
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
    return (
        row["table"] in (scenario.table, *scenario.also)
        and row["setting"] in scenario.settings_in(row["table"])
        and row["m"] == scenario.m
        and _open_or(row["k"], [scenario.k])
        and _open_or(row["delta"], scenario.deltas)
        and _open_or(row["delta_train"], [scenario.delta_train])
        and _sigma(row) in scenario.sigmas
        and row["method"] in methods
    )


def _open_or(value: float, allowed: list[Any]) -> bool:
    return pd.isna(value) or value in allowed


def _sigma(row: Row) -> float:
    """The paper leaves it empty where there is no noise."""
    return 0.0 if pd.isna(row["sigma"]) else float(row["sigma"])


def _key(row: Row) -> tuple[Any, ...]:
    return (*(row[name] for name in EXACT), _sigma(row))


def _by_key(table: pd.DataFrame) -> dict[tuple[Any, ...], list[Row]]:
    rows: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in table.to_dict("records"):
        rows[_key(row)].append(row)
    return rows


def _agree(published: Row, measured: Row) -> bool:
    """The quality of a graph has no shift."""
    return all(
        name not in measured or _open_or(published[name], [measured[name]]) for name in OPTIONAL
    )


def _name(row: Row) -> str:
    details = [row["table"], row["setting"], row["method"], f"m={row['m']}"]
    details += [
        f"{name}={row[name]:g}" for name in ("sigma", "delta", "delta_train") if pd.notna(row[name])
    ]
    return " ".join([*details, row["metric"]])
