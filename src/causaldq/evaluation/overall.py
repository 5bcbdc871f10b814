"""Methods over all shift sizes at once, against the best of the field, paired."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from causaldq.config import Config
from causaldq.evaluation.aggregate import delay_matrix
from causaldq.methods.registry import FIELD, is_bound
from causaldq.seeds import generator
from causaldq.types import Floats

COLUMNS = [
    *("scenario", "p", "m", "k", "seen", "method", "n_seeds", "geometric_mean"),
    *("against", "ratio", "low", "high"),
]
"""`seen`: p is among those that the network for all problems was trained on."""


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
        field = {m: cells.geometric_mean() for m, cells in methods.items() if m in FIELD}
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

    Replications are resampled together, the seeds of each method on their own. A replication
    counts in a cell if the second method, and the first with the seed in question, ran it
    without a false alarm.
    """
    _, seeds, n = first.delays.shape
    common = ~np.isnan(first.delays) & ~np.isnan(second.delays[:, :1])
    by_replication = np.vstack([np.ones(n), rng.multinomial(n, np.full(n, 1 / n), size=resamples)])
    by_seed = np.vstack(
        [np.ones(seeds), rng.multinomial(seeds, np.full(seeds, 1 / seeds), size=resamples)]
    )

    def means(delays: Floats) -> Floats:
        filled = np.where(common, delays, 0.0)
        total = np.einsum("bs,csr,br->bc", by_seed, filled, by_replication, optimize=True)
        count = np.einsum("bs,csr,br->bc", by_seed, common * 1.0, by_replication, optimize=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(total / count)

    logs = np.log(means(first.delays)) - np.log(means(second.delays[:, :1]))
    found = np.exp(logs.mean(axis=1))
    tail = (1.0 - confidence) / 2.0
    low, high = np.nanquantile(found[1:], [tail, 1.0 - tail])
    return float(found[0]), float(low), float(high)
