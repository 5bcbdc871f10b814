"""Delays and named places of leaks in L-TOWN, by several methods at one rate of false alarms.

``python examples/water_comparison.py`` writes ``water_delays.csv`` beside itself; it takes about
five minutes of one core, and the gallery shows what it wrote. Methods, leaks and demands were fixed
before any of these leaks was watched. The limits were not: a first run set them on one half of the
quiet days, which left fixed loggers with fewer false alarms than asked for, and so later than they
need be; now both halves set them, for all methods.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from water_leaks import FilterFixed, FilterInTurn, LeakMixture, placed, watched
from water_network import Network, Normal

import causaldq
from causaldq.calibration import average_run_length, limit_at_most, limit_for, run_lengths
from causaldq.methods import BayesPosterior, Tssrp, TssrpCov
from causaldq.models.rows import block_bootstrap, estimate_covariance
from causaldq.run import statistics
from causaldq.seeds import generator

FILE = Path(__file__).with_name("water_delays.csv")
LOGGERS = (10, 20, 40)
ARL0 = 168.0
"""Hours to a false alarm: one a week."""
DAYS = {"fit": 60, "first": 100, "second": 100}
"""Of normal operation: for the covariance, and two halves for the limits."""
HALVES = ("first", "second")
PATHS, STEPS = 30, 336
"""Drawn from each half, in blocks of a day, and their length."""
LEAKS = 50
FLOWS = (3.0, 9.0)
"""Leaks are drawn evenly between these, m³/h: 2 to 5% of what the town uses."""
BEFORE, AFTER = 24, 96
"""Hours watched without and with the leak."""
RESAMPLES = 2000


def main() -> None:
    """Make the table."""
    network = Network()
    table = compared(network, LOGGERS, leaks=LEAKS, seed=0)
    table.to_csv(FILE, index=False, float_format="%.4g")
    print(table.round(1).to_string(index=False))


def compared(network: Network, loggers, leaks: int, seed: int) -> pd.DataFrame:
    """A row for each method and number of loggers."""
    rows = {
        use: network.readings(24 * days, generator(seed, "normal", use))
        for use, days in DAYS.items()
    }
    normal = Normal.of(rows["fit"])
    scaled = {use: normal.scaled(found) for use, found in rows.items()}
    covariance = estimate_covariance(scaled["fit"]).matrix
    quiet = np.concatenate([paths_of(scaled[use], seed, use) for use in HALVES])
    signatures = network.signatures(np.mean(FLOWS)) / np.median(normal.sd, axis=0)
    places, recordings = leaking(network, normal, leaks, seed)
    apart = np.array([network.distances(place) for place in places])
    found = []
    for m in loggers:
        for name, method in methods(signatures, m).items():
            made = method(causaldq.Problem(covariance, m))
            limit, reached = limited(made, quiet, seed)
            rng = generator(seed, "watch")
            delay, missed, named = watched(made, recordings, BEFORE, limit, rng)
            metres = np.where(np.isnan(delay), np.nan, apart[np.arange(leaks), named])
            found.append(
                {"method": name, "loggers": m}
                | interval("delay", delay, np.mean, seed)
                | interval("metres", metres, np.median, seed)
                | {"missed": missed.mean(), "early": np.isnan(delay).mean(), "leaks": leaks}
                | {"asked": ARL0, "reached": reached}
            )
            print(found[-1], flush=True)
    return pd.DataFrame(found)


def paths_of(rows, seed: int, half: str):
    """Paths (PATHS, STEPS, p) without a leak, of days in any order."""
    return block_bootstrap(rows, PATHS, STEPS, 24, generator(seed, "paths", half))


def limited(method, quiet, seed: int) -> tuple[float, float]:
    """The limit at which paths without a leak reach ARL0, and how far it can be trusted.

    The second number is what both halves reach if each is watched at the limit of the other.
    """
    rng = generator(seed, "quiet")
    seen = statistics(method, quiet, None, rng, lambda so_far: limit_at_most(so_far, 1.3 * ARL0))
    first, second = seen[:PATHS], seen[PATHS:]
    parts = [
        run_lengths(first, limit_for(second, ARL0)),
        run_lengths(second, limit_for(first, ARL0)),
    ]
    lengths, censored = (np.concatenate(part) for part in zip(*parts, strict=True))
    return limit_for(seen, ARL0), average_run_length(lengths, censored)


def methods(signatures, m: int) -> dict:
    """What is compared, by name: a function of the problem each."""
    fixed = placed(signatures, m)
    return {
        "leak mixture": lambda problem: LeakMixture(problem, signatures),
        "leak mixture, fixed": lambda problem: LeakMixture(problem, signatures, fixed),
        "filter": BayesPosterior,
        "filter, fixed": lambda problem: FilterFixed(problem, fixed),
        "filter, in turn": FilterInTurn,
        "TSSRP, covariance": TssrpCov,
        "TSSRP": Tssrp,
    }


def leaking(network: Network, normal: Normal, leaks: int, seed: int):
    """Junctions (leaks,), and rows (leaks, hours, p) in which they leak from hour BEFORE on.

    A leak begins at any hour of the day.
    """
    rng = generator(seed, "leaks")
    places = rng.choice(network.p, leaks, replace=False)
    flows, hours = rng.uniform(*FLOWS, leaks), rng.integers(24, size=leaks)
    recordings = np.empty((leaks, BEFORE + AFTER, network.p))
    for number, (place, flow, hour) in enumerate(zip(places, flows, hours, strict=True)):
        leak = (place, flow, hour + BEFORE)
        rows = normal.scaled(network.readings(24 + BEFORE + AFTER, rng, leak))
        recordings[number] = rows[hour : hour + BEFORE + AFTER]
    return places, recordings


def interval(name: str, values, summary, seed: int) -> dict[str, float]:
    """A mean or median over leaks with its 95% bootstrap interval; NaN are left out."""
    kept = values[~np.isnan(values)]
    drawn = generator(seed, "interval").choice(kept, (RESAMPLES, len(kept)))
    low, high = np.quantile(summary(drawn, axis=1), [0.025, 0.975])
    return {name: summary(kept), f"{name}_low": low, f"{name}_high": high}


if __name__ == "__main__":
    main()
