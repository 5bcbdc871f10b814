"""How training went: where it ends, and how soon it gets there."""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from causaldq.types import Floats

SMOOTHING = 3
"""Epochs in the running mean."""
FINAL = 5
"""Last epochs whose mean is the final value."""
REACHED = 0.95
"""Share of the final value that counts as reached."""

PARTS = ["causal_state_only", "causal_reward_only", "causal_entropy_only"]


def final_value(curve: Floats) -> float:
    return float(curve[-FINAL:].mean())


def epochs_to_final(curve: Floats) -> int:
    """First epoch (from 1) at which the running mean reaches 95% of the final value."""
    means = np.array([curve[max(0, t - SMOOTHING + 1) : t + 1].mean() for t in range(len(curve))])
    final = final_value(curve)
    reached = means >= final - (1.0 - REACHED) * abs(final)
    return int(reached.argmax()) + 1


def summarise(logs: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """One row for each scenario, protocol and method, from all seeds' logs."""
    rows = []
    for key, group in logs.groupby(["scenario", "protocol", "method"], sort=False):
        seeds = [part.sort_values("epoch") for _, part in group.groupby("training_seed")]
        measured: dict[str, list[float]] = {
            "final_reward": [final_value(s["paper_reward"].to_numpy()) for s in seeds],
            "epochs_to_95": [epochs_to_final(s["paper_reward"].to_numpy()) for s in seeds],
            "final_hit_share": [final_value(s["hit_share"].to_numpy()) for s in seeds],
            "frozen_hit_share": [s["frozen_hit_share"].dropna().iloc[-1] for s in seeds],
        }
        row: dict[str, object] = dict(zip(("scenario", "protocol", "method"), key, strict=True))
        row["n_seeds"] = len(seeds)
        for name, values in measured.items():
            mean, half = float(np.mean(values)), half_width(values, confidence)
            row |= {name: mean, f"{name}_low": mean - half, f"{name}_high": mean + half}
        rows.append(row)
    table = pd.DataFrame(rows)
    table["share_of_gain"] = [_share_of_gain(table, row) for _, row in table.iterrows()]
    return table


def half_width(values: list[float], confidence: float) -> float:
    """Half the width of a t interval; NaN for a single value."""
    n = len(values)
    if n < 2:
        return float("nan")
    quantile = float(stdtrit(n - 1, 0.5 + confidence / 2))
    return quantile * float(np.std(values, ddof=1)) / float(np.sqrt(n))


def _share_of_gain(table: pd.DataFrame, row: pd.Series) -> float:
    """How much of the way from the non-causal to the causal agent's final reward."""
    same = table[(table["scenario"] == row["scenario"]) & (table["protocol"] == row["protocol"])]
    final = same.set_index("method")["final_reward"]
    if not {"causal_dq", "non_causal"} <= set(final.index):
        return float("nan")
    gain = final["causal_dq"] - final["non_causal"]
    return float((row["final_reward"] - final["non_causal"]) / gain) if gain else float("nan")


def verdict(summary: pd.DataFrame) -> str:
    """Whether "Causal DQ converges faster" holds, in plain words, from the summary alone."""
    sentences = []
    for (scenario, protocol), group in summary.groupby(["scenario", "protocol"], sort=False):
        rows: dict[str, dict[str, float]] = group.set_index("method").to_dict("index")  # type: ignore[assignment]
        if not {"causal_dq", "non_causal"} <= set(rows):
            continue
        causal, plain = rows["causal_dq"], rows["non_causal"]
        ends_higher = causal["final_reward_low"] > plain["final_reward_high"]
        sooner = causal["epochs_to_95_high"] < plain["epochs_to_95_low"]
        later = causal["epochs_to_95_low"] > plain["epochs_to_95_high"]
        pace = "sooner than" if sooner else "later than" if later else "not clearly sooner than"
        end = "ends higher than" if ends_higher else "does not end clearly higher than"
        text = (
            f"{scenario}, {protocol} protocol: Causal DQ {end} the non-causal agent"
            f" ({causal['final_reward']:.0f} against {plain['final_reward']:.0f}) and reaches 95%"
            f" of its own final reward {pace} it (epoch {causal['epochs_to_95']:.1f} against"
            f" {plain['epochs_to_95']:.1f})"
        )
        parts = [part for part in PARTS if part in rows]
        if parts and causal["final_reward"] > plain["final_reward"]:
            shares = ", ".join(
                f"{part.split('_')[1]} {100 * rows[part]['share_of_gain']:.0f}%" for part in parts
            )
            text += f". Of the gain, each causal part alone brings: {shares}"
        sentences.append(text + ".")
    return "\n".join(sentences)


def read_curves(curves: list[Path]) -> pd.DataFrame:
    """All training logs, with what their file names say."""
    logs = []
    for path in curves:
        scenario, protocol, method, seed = path.stem.split(".")
        names = {"scenario": scenario, "protocol": protocol, "method": method}
        logs.append(pd.read_csv(path).assign(**names, training_seed=seed))
    return pd.concat(logs, ignore_index=True)
