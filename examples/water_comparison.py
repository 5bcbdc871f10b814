"""Delays and named places of leaks in L-TOWN, by several methods at one rate of false alarms.

``python examples/water_comparison.py`` writes ``water_delays.csv`` beside itself; it takes about
ten minutes on one core, and the gallery shows what it wrote. Settings were fixed before the leaks
of the test were simulated.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from water_leaks import FilterFixed, FilterInTurn, LeakMixture, placed, watched
from water_network import Network, Normal

import causaldq
from causaldq.methods import BayesPosterior, Tssrp, TssrpCov
from causaldq.models.rows import estimate_covariance
from causaldq.models.streams import Records, StreamModel
from causaldq.seeds import generator

FILE = Path(__file__).with_name("water_delays.csv")
LOGGERS = (10, 20, 40)
ARL0 = 168.0
"""Hours to a false alarm: one a week."""
DAYS = {"fit": 60, "set": 100, "check": 100}
"""Of normal operation: for the covariance, to set limits, and to check them."""
PATHS = 50
LEAKS = 50
FLOWS = (3.0, 9.0)
"""Leaks are drawn evenly between these, m³/h: 2 to 5% of what the town uses."""
BEFORE, AFTER = 24, 96
"""Hours watched without and with the leak."""
RESAMPLES = 2000


def main() -> None:
    """Make the table."""
    network = Network()
    table = compared(network, LOGGERS, leaks=LEAKS, paths=PATHS, seed=0)
    table.to_csv(FILE, index=False, float_format="%.4g")
    print(table.round(1).to_string(index=False))


def compared(network: Network, loggers, leaks: int, paths: int, seed: int) -> pd.DataFrame:
    """A row for each method and number of loggers."""
    rows = {
        use: network.readings(24 * days, generator(seed, "normal", use))
        for use, days in DAYS.items()
    }
    normal = Normal.of(rows["fit"])
    scaled = {use: normal.scaled(found) for use, found in rows.items()}
    streams = StreamModel(
        tuple(network.names),
        scaled["set"],
        estimate_covariance(scaled["fit"]).matrix,
        np.zeros((network.p, network.p)),
        Records(*np.ones((2, network.p)), scaled["check"], *np.empty((2, 0, network.p)), 0),
    )
    signatures = network.signatures(np.mean(FLOWS)) / np.median(normal.sd, axis=0)
    places, recordings = leaking(network, normal, leaks, seed)
    apart = np.array([network.distances(place) for place in places])
    found = []
    for m in loggers:
        for name, method in methods(signatures, m).items():
            limit = causaldq.calibrate(
                method, streams, m, arl0=ARL0, paths=paths, horizon=2, seed=seed
            )
            made = method(causaldq.Problem(streams.covariance, m))
            rng = generator(seed, "watch")
            delay, missed, named = watched(made, recordings, BEFORE, limit.value, rng)
            metres = np.where(np.isnan(delay), np.nan, apart[np.arange(leaks), named])
            found.append(
                {"method": name, "loggers": m}
                | interval("delay", delay, np.mean, seed)
                | interval("metres", metres, np.median, seed)
                | {"missed": missed.mean(), "early": np.isnan(delay).mean(), "leaks": leaks}
                | {"asked": ARL0, "reached": limit.reached.value}
                | {"reached_low": limit.reached.low, "reached_high": limit.reached.high}
            )
            print(found[-1], flush=True)
    return pd.DataFrame(found)


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
