"""The numbers that two commits are compared by: headline delays and verdicts, for DVC."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from causaldq.files import write_csv, write_json
from causaldq.pipeline.config import Config
from causaldq.pipeline.report.catalogue import headline_scenario
from causaldq.pipeline.report.tidy import Tidy

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


def inputs(plan: "Plan") -> "Files":
    from causaldq.pipeline.jobs.tidy_results import judged

    return {"tidy": judged(plan)}


OUTPUTS = {
    "output": "results/{profile}/metrics.json",
    "curve": "results/{profile}/headline_curve.csv",
}


def run(config: Config, *, tidy: list[Path], output: Path, curve: Path) -> None:
    """Write the headline's delays and all verdicts, and the headline's curve."""
    results = Tidy(config, tidy)
    rows = results.cells(headline_scenario(config))
    # A scenario's cells can belong to several of the paper's tables; the headline is the first.
    for column in ("table", "setting", "sigma"):
        rows = rows[rows[column] == rows[column].iloc[0]]
    write_json(output, {"delay": delays(rows), "claims": verdicts(results)})
    write_csv(curve, headline_curve(rows))


def delays(rows: pd.DataFrame) -> dict[str, Any]:
    """By protocol, method and shift; to the digits of a table, so that a diff is no noise."""
    found: dict[str, Any] = {}
    for _, row in rows.iterrows():
        by_method = found.setdefault(row["protocol"], {}).setdefault(row["method"], {})
        by_method[f"delta={row['delta']:g}"] = None if pd.isna(row["add"]) else round(row["add"], 2)
    return found


def verdicts(results: Tidy) -> dict[str, str]:
    """By claim."""
    if "claims" not in results.files:
        return {}
    return dict(zip(results.claims["id"], results.claims["verdict"], strict=True))


def headline_curve(rows: pd.DataFrame) -> pd.DataFrame:
    """Delay against shift of the paper's method, or the first, with a column a protocol."""
    methods = list(rows["method"].unique())
    shown = rows[rows["method"] == ("causal_dq" if "causal_dq" in methods else methods[0])]
    return shown.pivot_table(index="delta", columns="protocol", values="add").reset_index()
