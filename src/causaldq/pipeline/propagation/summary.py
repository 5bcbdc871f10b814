"""From graphs to statements: ratios of delays with intervals that include the graphs' variance."""

import numpy as np
import pandas as pd

from causaldq.estimates import error_of_mean, half_width
from causaldq.methods.registry import BASELINES

BEST = "best baseline"
KNOWN, ESTIMATED = ("causal_sr_known", "truth"), ("causal_sr", "rows")
NO_GRAPH, NO_GRAPH_ROWS = ("causal_sr_no_graph", "truth"), ("causal_sr_no_graph", "rows")
FILTER = ("bayes_posterior", "truth")
AGENTS = (("causal_dq", "truth"), ("non_causal", "truth"))
ANY_PLACE = (("causal_dq_eq", "truth"), ("non_causal_eq", "truth"))
LEARNED = (*AGENTS, *ANY_PLACE)
CONTROLS = tuple(
    (f"causal_sr_{name}", "truth") for name in ("correlation", "random_order", "reversed")
)
PAIRS = [
    *((one, (BEST, "truth")) for one in (KNOWN, ESTIMATED, NO_GRAPH, *CONTROLS, FILTER, *LEARNED)),
    (KNOWN, NO_GRAPH),
    (ESTIMATED, NO_GRAPH_ROWS),
    *((KNOWN, control) for control in CONTROLS),
    AGENTS,
    ANY_PLACE,
]
"""What is compared with what, each with what it is told."""
CELL = ["problem", "p", "m", "expected_degree", "roots", "delta"]
COLUMNS = [
    *CELL,
    *("method", "told", "against", "against_told", "against_method"),
    *("n_graphs", "ratio", "low", "high"),
]


def compared(rows: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Geometric mean over graphs of the ratio of two methods' delays, with a t interval.

    Methods run on the same graphs and streams, so that graphs are pairs. The best baseline
    is the one of the smallest mean in a cell, found on the same runs: an advantage for it.
    """
    found = []
    for key, cell in rows.groupby(CELL, sort=False):
        delays = cell.pivot_table("add", "graph", ["method", "told"])
        field = [(name, "truth") for name in BASELINES if (name, "truth") in delays]
        for one, other in PAIRS:
            if other[0] == BEST:
                if not field:
                    continue
                actual = min(field, key=lambda name: float(np.mean(delays[name])))
            else:
                actual = other
            if one not in delays or actual not in delays:
                continue
            ratio = (delays[one] / delays[actual]).to_numpy(dtype=float)
            logs = np.log(ratio[~np.isnan(ratio)])
            mean, half = logs.mean(), half_width(error_of_mean(logs), confidence)
            found.append(
                [*key, *one, *other, actual[0], len(logs)]
                + [float(np.exp(value)) for value in (mean, mean - half, mean + half)]
            )
    return pd.DataFrame(found, columns=COLUMNS)


def over_graphs(rows: pd.DataFrame, column: str, confidence: float) -> pd.DataFrame:
    """Mean of a column over graphs, and half the width of its t interval, for each cell."""
    by = rows.groupby([*CELL, "method", "told"], sort=False)[column]
    table = by.agg(
        mean="mean", half=lambda v: half_width(error_of_mean(v.to_numpy()), confidence), n="count"
    )
    return table.reset_index()
