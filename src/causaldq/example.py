"""A small plant of our own making, to show how own data are monitored."""

from pathlib import Path

import numpy as np
import pandas as pd

from causaldq.files import write_csv, write_text
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

SETTINGS = """\
# A plant of your own. Everything not said here is in config/defaults.yaml.
profile: plant
training_seeds: 1
methods: [bayes_posterior, causal_dq, causal_sr, greedy, tssrp, random]
sources:
  plant:
    kind: own
    file: {file}
    time: minute              # optional: rows must then be evenly spaced
    first_in_control: 1       # rows count from 1, without the header
    last_in_control: 700
    first_fault: 801          # optional: rows under a known fault, for a real test
scenarios:
  plant:
    table: own
    source: plant
    m: 3                      # sensors that can be read at a time
    k: 2                      # streams shifted in training and in the injected tests
    places: random
    deltas: [0.5, 1.0, 2.0]   # shifts injected, in standard deviations
    events: true              # measure on the fault rows too
    hyperparameters: p10
agent: {{epochs: 10}}
calibration: {{paths: 200, fresh_paths: 200}}
theory: null
report:
  title: My plant
  note: ""
"""


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


def write_example(file: Path, settings: Path) -> None:
    """The plant's rows, and settings that say how to monitor it."""
    write_csv(file, plant(np.random.default_rng(1)))
    write_text(settings, SETTINGS.format(file=file))
