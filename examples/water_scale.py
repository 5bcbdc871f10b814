"""One leak among 12,523 junctions: BWSN-2, read by 100 loggers, and what a step costs.

``python examples/water_scale.py`` takes a few minutes; the gallery tells what it printed.
"""

import resource
import time

import numpy as np
import pandas as pd
from water_network import Network, Normal

from causaldq import Monitor

DAYS, LOGGERS, ARL0 = 20, 100, 72
FLOW, START = 300.0, 9
"""Gallons a minute, 1.5% of what the network uses, and the hour."""
FOOT = 0.3048


def main() -> None:
    """Simulate, fit, watch, and say how long each took."""
    network = Network("BWSN_Network_2.inp")
    rng = np.random.default_rng(0)
    leak = int(rng.integers(network.p))
    began = time.process_time()
    pressures = network.readings(24 * DAYS, rng)
    normal = Normal.of(pressures)
    week = normal.scaled(network.readings(24 * 5, rng, (leak, FLOW, START)))
    print(f"{network.p} junctions simulated in {time.process_time() - began:.0f} s of one core")

    history = pd.DataFrame(normal.scaled(pressures), columns=network.names)
    before, began = memory(), time.process_time()
    monitor = Monitor.fit(history, sensors=LOGGERS, arl0=ARL0)
    print(f"fitted in {time.process_time() - began:.0f} s, {memory() - before:.0f} MB more")
    print(monitor.summary())

    took = []
    for hour, row in enumerate(week):
        values = pd.Series(row, network.names)[monitor.next]
        began = time.process_time()
        reading = monitor.update(values, time=hour)
        took.append(time.process_time() - began)
        if reading.alarm and hour >= START:
            break
        if reading.alarm:
            print(f"a false alarm in hour {hour}")
            monitor.reset()
    named = network.names.index(next(iter(reading.contributions)))
    away = FOOT * network.distances(leak)[named]
    print(f"{1000 * np.median(took):.1f} ms a step, at most {memory():.0f} MB in all")
    print(
        f"alarm {hour - START + 1} hours after the leak: {reading.alarm}; named {away:.0f} m away"
    )


def memory() -> float:
    """Largest so far, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
