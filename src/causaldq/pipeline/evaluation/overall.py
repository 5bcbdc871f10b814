"""Methods over all shift sizes at once, against the best baseline, paired."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from causaldq.estimates import (
    NONE,
    Error,
    error_of_mean,
    half_width,
    sum_of_errors,
)
from causaldq.methods.registry import BASELINES, is_bound
from causaldq.pipeline.config import Config
from causaldq.pipeline.evaluation.aggregate import delay_matrix
from causaldq.seeds import generator
from causaldq.types import Floats

COLUMNS = [
    *("scenario", "p", "m", "k", "seen", "method", "n_seeds", "geometric_mean"),
    *("against", "ratio", "low", "high"),
]
"""`seen`: p is among those that the network for all problems was trained on."""

CROSS_COLUMNS = ["policy", "statistic", "geometric_mean", "deltas", "n_rep", "limit"]


@dataclass(frozen=True)
class Cells:
    """Delays of one method: (cells, seeds, replications), NaN after a false alarm."""

    delays: Floats

    def geometric_mean(self) -> float:
        return float(np.exp(np.log(np.nanmean(self.delays, axis=(1, 2))).mean()))


def overall(config: Config, delays: pd.DataFrame, sizes: dict[str, int]) -> pd.DataFrame:
    """One row for each scenario and method under `fair`: geometric mean over shifts and cases.

    `sizes` gives p by scenario.
    """
    rows = []
    fair = delays[(delays["protocol"] == "fair") & delays["event"].isna() & (delays["delta"] > 0)]
    for name, group in fair.groupby("scenario", sort=False):
        scenario = config.scenarios[str(name)]
        methods = {
            method: _cells(group[group["method"] == method])
            for method in config.methods_of(str(name))
            if not is_bound(method)
        }
        field = {m: cells.geometric_mean() for m, cells in methods.items() if m in BASELINES}
        best = min(field, key=lambda method: field[method])
        for method, cells in methods.items():
            rng = generator(config.seed, str(name), method, "overall")
            compared = ratio(
                cells, methods[best], config.evaluation.confidence, config.evaluation.bootstrap, rng
            )
            rows.append(
                {
                    "scenario": name,
                    "p": sizes[str(name)],
                    "m": scenario.m,
                    "k": scenario.k,
                    "seen": int(sizes[str(name)] in config.equivariant.mixture.sizes),
                    "method": method,
                    "n_seeds": cells.delays.shape[1],
                    "geometric_mean": cells.geometric_mean(),
                    "against": best,
                    **dict(zip(("ratio", "low", "high"), compared, strict=True)),
                }
            )
    return pd.DataFrame(rows, columns=COLUMNS)


def _cells(runs: pd.DataFrame) -> Cells:
    cells = runs.groupby(["setting", "sigma", "delta"], sort=True)
    return Cells(np.stack([delay_matrix(part) for _, part in cells]))


def ratio(
    first: Cells, second: Cells, confidence: float, resamples: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Ratio of geometric means on common replications, with its interval.

    Its error has a part by replications, resampled together in all cells, and one by the first
    method's seeds. A replication counts in a cell if the second method, and the first with the
    seed in question, ran it without a false alarm.
    """
    n = first.delays.shape[2]
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=resamples)
    logs = _log_ratios(first.delays, second.delays[:, :1], np.vstack([np.ones(n), drawn]))
    by_replication = Error(float(np.nanvar(logs[1:])), n - 1.0)
    alone = [
        _log_ratios(seed[:, None], second.delays[:, :1], np.ones((1, n)))[0]
        for seed in first.delays.swapaxes(0, 1)
    ]
    by_seed = error_of_mean(np.array(alone)) if len(alone) > 1 else NONE
    half = half_width(sum_of_errors([by_replication, by_seed]), confidence)
    low, high = np.exp(logs[0] - half), np.exp(logs[0] + half)
    return float(np.exp(logs[0])), float(low), float(high)


def _log_ratios(first: Floats, second: Floats, weights: Floats) -> Floats:
    """Logarithms (b,) of ratios of geometric means, replications weighted (b, replications).

    The delays of the first are (cells, seeds, replications), those of the second have one seed.
    """
    common = ~np.isnan(first) & ~np.isnan(second)

    def means(delays: Floats) -> Floats:
        filled = np.where(common, delays, 0.0)
        total = np.einsum("csr,br->bc", filled, weights, optimize=True)
        count = np.einsum("csr,br->bc", common * 1.0, weights, optimize=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(total / count)

    return np.asarray((np.log(means(first)) - np.log(means(second))).mean(axis=1))


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
