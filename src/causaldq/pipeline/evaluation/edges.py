"""Edge by edge: what discovery found beside what is there."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from causaldq.discovery.graph import Graph
from causaldq.types import Bools

RIGHT, OPEN, REVERSED, EXTRA, MISSED = "right", "direction open", "reversed", "extra", "missed"
FOUND, FOUND_OPEN = "found", "found, direction open"
KINDS = (RIGHT, OPEN, REVERSED, EXTRA, MISSED)
"""Where the true graph is known; `direction open` is a true edge found without its direction."""
UNJUDGED = (FOUND, FOUND_OPEN)
"""Where it is not."""
COLUMNS = ["source", "p", "cause", "effect", "cause_place", "effect_place", "kind"]


def edges(found: Graph, truth: Graph | None) -> Iterator[tuple[int, int, str]]:
    """Cause, effect and kind of every edge that was found or missed.

    Edges that are there stand in their true direction, others as they were found; one that was
    found without a direction stands once.
    """
    for kind, mask in _masks(found, truth):
        for cause, effect in np.argwhere(mask):
            yield int(cause), int(effect), kind


def _masks(found: Graph, truth: Graph | None) -> Iterator[tuple[str, Bools]]:
    once = np.triu(found.undirected)
    if truth is None:
        yield FOUND, found.directed
        yield FOUND_OPEN, once
        return
    true = truth.directed
    linked = true | true.T
    yield RIGHT, found.directed & true
    yield OPEN, found.undirected & true
    yield REVERSED, found.directed.T & true
    yield EXTRA, (found.directed | once) & ~linked
    yield MISSED, true & ~(found.directed | found.directed.T | found.undirected)


def edge_table(source: str, names: list[str], found: Graph, truth: Graph | None) -> pd.DataFrame:
    rows = [
        (source, len(names), names[cause], names[effect], cause, effect, kind)
        for cause, effect, kind in edges(found, truth)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def edge_counts(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each source whose graph is known: edges of each kind, SHD, TPR and FDR."""
    known = table[table["kind"].isin(KINDS)]
    counts = known.groupby(["source", "p"], sort=False)["kind"].value_counts().unstack(fill_value=0)
    counts = counts.reindex(columns=list(KINDS), fill_value=0)
    wrong = counts[REVERSED] + counts[EXTRA]
    right = counts[RIGHT] + counts[OPEN]
    counts["SHD"] = wrong + counts[MISSED]
    counts["TPR"] = right / (right + counts[REVERSED] + counts[MISSED])
    counts["FDR"] = wrong / (right + wrong)
    return counts.reset_index()
