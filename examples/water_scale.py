"""Leaks among 12,523 junctions: BWSN-2, read by 100 loggers, and what a step costs.

``OMP_NUM_THREADS=1 python examples/water_scale.py`` takes a few minutes; the gallery tells what it
printed.
"""

import resource
import time

import numpy as np
import pandas as pd
from water_network import Network, Normal

from causaldq import Monitor

DAYS, LOGGERS, ARL0 = 20, 100, 72
FLOWS, START = (300.0, 1000.0, 3000.0), 9
"""Gallons a minute, 1.5, 5 and 14% of what the network uses, and the hour."""
LEAKS = 3
"""Junctions that leak, one after the other, by each flow."""
FOOT = 0.3048


def main() -> None:
    """Simulate, fit, watch, and say what came of each leak and how long a step took."""
    network = Network("BWSN_Network_2.inp")
    rng = np.random.default_rng(0)
    first = int(rng.integers(network.p))
    began = time.process_time()
    pressures = network.readings(24 * DAYS, rng)
    normal = Normal.of(pressures)
    print(f"{network.p} junctions simulated in {time.process_time() - began:.0f} s of one core")

    history = pd.DataFrame(normal.scaled(pressures), columns=network.names)
    before, began = memory(), time.process_time()
    monitor = Monitor.fit(history, sensors=LOGGERS, arl0=ARL0, covariance="factor")
    print(f"fitted in {time.process_time() - began:.0f} s, {memory() - before:.0f} MB more")
    print(monitor.summary())

    places = [first, *np.random.default_rng(5).choice(network.p, LEAKS - 1, replace=False).tolist()]
    quiet, took = network.readings(24 * 3, np.random.default_rng(77)), []
    for number, leak in enumerate(places):
        for flow in FLOWS:
            moved = moved_by(network, normal, quiet, leak, flow)
            rng = np.random.default_rng(100 + number)
            week = normal.scaled(network.readings(24 * 5, rng, (leak, flow, START)))
            monitor.reset()
            early, reading, hour = watched(monitor, week, took)
            named = network.names.index(next(iter(reading.contributions)))
            away = FOOT * network.distances(leak)[named]
            print(
                f"{network.names[leak]} leaks {flow:.0f}: junctions moved by half a deviation"
                f" {np.sum(moved > 0.5)}, by one {np.sum(moved > 1)}, itself by {moved[leak]:.1f};"
                f" {early} alarms before; alarm {hour - START + 1} hours after: {reading.alarm};"
                f" named {away:.0f} m away"
            )
    print(f"{1000 * np.median(took):.1f} ms a step, at most {memory():.0f} MB in all")


def moved_by(network, normal, quiet: np.ndarray, leak: int, flow: float) -> np.ndarray:
    """Deviations (p,) by which a leak moves pressures beside quiet rows of the same demands."""
    leaking = network.readings(len(quiet), np.random.default_rng(77), (leak, flow, 0))
    return np.abs(((leaking - quiet) / np.resize(normal.sd, quiet.shape)).mean(axis=0))


def watched(monitor: Monitor, week: np.ndarray, took: list):
    """Alarms before the leak, the reading that ended the watch, and its hour."""
    early = 0
    for hour, row in enumerate(week):
        values = pd.Series(row, monitor.names)[monitor.next]
        began = time.process_time()
        reading = monitor.update(values, time=hour)
        took.append(time.process_time() - began)
        if reading.alarm and hour >= START:
            break
        if reading.alarm:
            early += 1
            monitor.reset()
    return early, reading, hour


def memory() -> float:
    """Largest so far, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
