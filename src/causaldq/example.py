"""A small plant of our own making, to show how own data are monitored."""

import numpy as np
import pandas as pd

from causaldq.types import Floats

STREAMS = {
    # name: (mean, standard deviation), in the plant's units
    "feed_flow": (12.0, 0.4),
    "feed_temperature": (35.0, 0.8),
    "steam_flow": (4.2, 0.15),
    "reactor_temperature": (121.0, 0.6),
    "reactor_pressure": (2.7, 0.05),
    "reactor_level": (61.0, 1.5),
    "product_flow": (9.4, 0.3),
    "product_purity": (98.2, 0.25),
}
CAUSES = [
    ("feed_flow", "reactor_level", 0.5),
    ("feed_flow", "product_flow", 0.6),
    ("feed_temperature", "reactor_temperature", 0.4),
    ("steam_flow", "reactor_temperature", 0.6),
    ("reactor_temperature", "reactor_pressure", 0.7),
    ("reactor_temperature", "product_purity", -0.5),
]
ROWS, FAULT = 900, 800
MEMORY = 0.3
"""Autocorrelation of every stream's own term."""


def plant(rng: np.random.Generator) -> pd.DataFrame:
    """Rows a minute apart; in the fault the reactor runs hot."""
    names = list(STREAMS)
    own: Floats = rng.standard_normal((ROWS, len(names)))
    for t in range(1, ROWS):
        own[t] = MEMORY * own[t - 1] + np.sqrt(1 - MEMORY**2) * own[t]
    own[FAULT:, names.index("reactor_temperature")] += 1.5
    values = np.zeros_like(own)
    for j, name in enumerate(names):
        parents = [(names.index(a), weight) for a, b, weight in CAUSES if b == name]
        rest = np.sqrt(1 - sum(weight**2 for _, weight in parents))
        values[:, j] = rest * own[:, j] + sum(weight * values[:, i] for i, weight in parents)
    mean, sd = np.array(list(STREAMS.values())).T
    table = pd.DataFrame((mean + sd * values).round(4), columns=names)
    table.insert(0, "minute", range(ROWS))
    return table


def example_plant() -> pd.DataFrame:
    """Rows of a made-up plant of eight streams, a minute apart; a fault sets in at row 800.

    Streams are correlated along a small causal graph and have a little memory. From minute 800
    on the reactor's own temperature is off by one and a half standard deviations, and pressure
    and purity follow it.

    Returns
    -------
    pandas.DataFrame
        900 rows, one column per stream, with the minute as the index; always the same.

    Examples
    --------
    >>> rows = example_plant()
    >>> rows.shape
    (900, 8)
    """
    return plant(np.random.default_rng(1)).set_index("minute")
