"""How training went: where it ends, and how soon it gets there."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from causaldq.estimates import Error, error_of_mean, half_width, sum_of_errors
from causaldq.types import Floats

SMOOTHING = 3
"""Epochs in the running mean."""
FINAL = 5
"""Last epochs whose mean is the final value."""
REACHED = 0.95
"""Share of the final value that counts as reached."""

LEAST_GAIN = 0.05
"""Gain, relative to the non-causal reward, below which it is not shared out."""

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
        row |= {"n_seeds": len(seeds), "confidence": confidence}
        for name, values in measured.items():
            mean, half = (
                float(np.mean(values)),
                half_width(error_of_mean(np.array(values)), confidence),
            )
            row |= {name: mean, f"{name}_low": mean - half, f"{name}_high": mean + half}
            row[f"{name}_sd"] = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
        rows.append(row)
    table = pd.DataFrame(rows)
    table["share_of_gain"] = [_share_of_gain(table, row) for _, row in table.iterrows()]
    return table


def _share_of_gain(table: pd.DataFrame, row: pd.Series) -> float:
    """How much of the way from the non-causal to the causal agent's final reward."""
    same = table[(table["scenario"] == row["scenario"]) & (table["protocol"] == row["protocol"])]
    final = same.set_index("method")["final_reward"]
    if not {"causal_dq", "non_causal"} <= set(final.index):
        return float("nan")
    gain = final["causal_dq"] - final["non_causal"]
    if gain < LEAST_GAIN * abs(final["non_causal"]):
        return float("nan")
    return float((row["final_reward"] - final["non_causal"]) / gain)


def combined(
    terms: Sequence[tuple[float, pd.Series]], name: str, confidence: float
) -> tuple[float, float, float]:
    """A weighted sum of means over seeds with its interval; without bounds for one seed."""
    value = float(sum(weight * row[name] for weight, row in terms))
    if min(row["n_seeds"] for _, row in terms) < 2:
        return value, -np.inf, np.inf
    errors = [
        Error((weight * row[f"{name}_sd"]) ** 2 / row["n_seeds"], row["n_seeds"] - 1.0)
        for weight, row in terms
    ]
    half = half_width(sum_of_errors(errors), confidence)
    return value, value - half, value + half


def verdict(summary: pd.DataFrame) -> list[str]:
    """Whether "Causal DQ converges faster" holds, in plain words, from the summary alone."""
    sentences, faster, settings = [], 0, 0
    confidence = float(summary["confidence"].iloc[0])
    for (scenario, protocol), group in summary.groupby(["scenario", "protocol"], sort=False):
        rows = {str(method): row for method, row in group.set_index("method").iterrows()}
        if not {"causal_dq", "non_causal"} <= set(rows):
            continue
        causal, plain = rows["causal_dq"], rows["non_causal"]
        gap = [(1.0, causal), (-1.0, plain)]
        _, low, _ = combined(gap, "final_reward", confidence)
        epochs, earliest, latest = combined(gap, "epochs_to_95", confidence)
        settings += 1
        faster += latest < 0
        end = "ends higher" if low > 0 else "does not end clearly higher"
        pace = "sooner" if latest < 0 else "later" if earliest > 0 else "neither sooner nor later"
        interval = f"from {earliest:+.1f} to {latest:+.1f}"
        if causal["n_seeds"] < 2:
            interval = "one seed, so no interval"
        text = (
            f"{scenario}, {protocol} protocol: Causal DQ {end} ({causal['final_reward']:.0f}"
            f" against {plain['final_reward']:.0f}) and reaches 95% of its own final reward"
            f" {pace} (epoch {causal['epochs_to_95']:.1f} against {plain['epochs_to_95']:.1f};"
            f" difference {epochs:+.1f}, {interval})."
        )
        parts = [part for part in PARTS if part in rows]
        if parts and low > 0:
            shares = ", ".join(
                f"{part.split('_')[1]} {100 * rows[part]['share_of_gain']:.0f}%" for part in parts
            )
            text += f" Of the gain in reward, each causal part alone brings: {shares}."
        sentences.append(text)
    if not settings:
        return []
    summary_line = (
        f"Causal DQ converges faster than the non-causal agent in {faster} of {settings} settings."
        " An agent that learns nothing reaches its final reward at once, so the rewards count, too."
    )
    return [summary_line, *sentences]


def read_curves(curves: list[Path]) -> pd.DataFrame:
    """All training logs, with what their file names say."""
    logs = []
    for path in curves:
        scenario, method, seed, protocol = path.stem.split(".")
        names = {"scenario": scenario, "protocol": protocol, "method": method}
        logs.append(pd.read_csv(path).assign(**names, training_seed=seed))
    return pd.concat(logs, ignore_index=True)
