"""Faults of random variation: what do hypotheses of the variance gain, by their settings?

`innovation_filter` on Tennessee Eastman's faults 8, 10 to 12 and 16 to 20, in recordings that the
fault table does not use: the classic training files (of the package bibmon) and run 1 of Rieth et
al. (`--rieth`, a folder with fault0.csv to fault20.csv: fault, run and sample, then the streams).
Each setting has one limit, such that it raises one alarm in 200 rows on the faults 3, 9 and 15,
which hardly show. Prints geometric means of the delays; writes nothing.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from causaldq.calibration import limit_for
from causaldq.methods.base import Problem
from causaldq.methods.innovation_filter import InnovationFilter, InnovationFilterSettings
from causaldq.models.in_control import InControl, fit_in_control
from causaldq.run import event_delays, statistics
from causaldq.types import Floats

FAULTS, HARMLESS = (8, 10, 11, 12, 16, 17, 18, 19, 20), (3, 9, 15)
ARL0, WATCHED, PART, RUNS = 200.0, 300, 160, 2
SETTINGS = {
    "none": InnovationFilterSettings(inflations=[2.0], variance_share=1e-9),
    ".1": InnovationFilterSettings(variance_share=0.1),
    "as it is": InnovationFilterSettings(),
    ".5": InnovationFilterSettings(variance_share=0.5),
    ".9": InnovationFilterSettings(variance_share=0.9),
    "by 1, 4": InnovationFilterSettings(inflations=[1.0, 4.0]),
    "by 8, 50": InnovationFilterSettings(inflations=[8.0, 50.0]),
    "by 2, 8, 50, 400": InnovationFilterSettings(inflations=[2.0, 8.0, 50.0, 400.0]),
    "any growth": InnovationFilterSettings(harmless=[0.0]),
}


@dataclass(frozen=True)
class Recordings:
    """Of one plant, scaled by its normal rows."""

    normal: InControl
    faults: Floats
    """(faults, rows, p)."""
    onset: int
    quiet: Floats
    """(parts, rows, p)."""


def recordings(rows_of: Callable[[int], Floats], onset: int) -> Recordings:
    healthy = rows_of(0)
    names = tuple(f"s{i}" for i in range(healthy.shape[1]))
    normal = fit_in_control(healthy, names, "state_space")
    faults = [normal.scale.apply(rows_of(k))[: onset + WATCHED] for k in FAULTS]
    quiet = [normal.scale.apply(rows_of(k))[onset : onset + 3 * PART] for k in HARMLESS]
    return Recordings(
        normal, np.array(faults), onset, np.concatenate([np.split(q, 3) for q in quiet])
    )


def classic(fault: int) -> Floats:
    import bibmon  # type: ignore[import-untyped]

    path = Path(bibmon.__file__).parent / f"tennessee_eastman/d{fault:02d}.dat"
    rows = np.loadtxt(path)
    return np.asarray((rows.T if len(rows) == 52 else rows)[:, 2:], np.float64)


def rieth(folder: Path, fault: int) -> Floats:
    rows = np.loadtxt(folder / f"fault{fault}.csv", delimiter=",", skiprows=1)
    return np.asarray(rows[:, 3:], np.float64)


def delays(plants: list[Recordings], m: int, settings: InnovationFilterSettings) -> Floats:
    """(plants, faults), at one limit for all."""
    made = [
        InnovationFilter(
            Problem(plant.normal.covariance.matrix, m, dynamics=plant.normal.dynamics), settings
        )
        for plant in plants
    ]
    quiet = [
        statistics(method, plant.quiet, None, np.random.default_rng(1))
        for method, plant in zip(made, plants, strict=True)
    ]
    limit = limit_for(np.concatenate(quiet), ARL0)
    found = []
    for method, plant in zip(made, plants, strict=True):
        rows = np.concatenate([plant.faults] * RUNS)
        which = np.arange(len(rows))
        start, onset = np.zeros_like(which), np.full_like(which, plant.onset)
        rng = np.random.default_rng(2)
        delay = event_delays(method, rows, which, start, onset, limit, rng).delay
        found.append(np.exp(np.log(delay).reshape(RUNS, -1).mean(axis=0)))
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rieth", type=Path, help="folder with fault0.csv to fault20.csv")
    parser.add_argument("--sensors", type=int, nargs="+", default=[5, 10, 50])
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    given = parser.parse_args()
    plants = [recordings(classic, 0)]
    if given.rieth:
        plants.append(recordings(partial(rieth, given.rieth), 20))
    else:
        print("Without --rieth: the classic files alone.")
    for m in given.sensors:
        found = {name: delays(plants, m, SETTINGS[name]) for name in given.settings}
        found["best of each, in hindsight"] = np.min(list(found.values()), axis=0)
        for name, delay in found.items():
            print(f"m = {m:<3} {name:27} {np.exp(np.log(delay).mean()):5.1f}", flush=True)


if __name__ == "__main__":
    main()
