"""Rows a second by the clock that a fleet of 1,000 plants takes in, with one thread and with two.

On a machine with other work to do, the clock says more of that than of the fleet. So the
scheduler's own counts (Linux) are printed too: how long each thread ran, and how long it was ready
and waited for a core. The time by the clock less the waits is that of a quiet machine, or longer:
what a thread waits for Python's lock while the one that holds it waits for a core stays in.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from causaldq.fleet import Fleet
from causaldq.pipeline import command  # noqa: F401  (one thread of the linear algebra)
from causaldq.pipeline.bench.scale import PLANTS, some_plants

STREAMS, SENSORS, WARM = 50, 10, 3


def counted() -> dict[str, np.ndarray]:
    """Seconds that each thread of this process ran, and waited for a core."""
    threads = list(Path("/proc/self/task").iterdir())
    return {
        one.name: np.array((one / "schedstat").read_text().split()[:2], float) / 1e9
        for one in threads
    }


def main() -> None:
    """Both in turn, so that a busy hour hits both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    rounds = parser.parse_args().rounds
    fleets = {}
    for workers in (1, 2):
        monitors, _ = some_plants(STREAMS, SENSORS)
        fleets[workers] = Fleet(monitors, workers=workers)
    rng = np.random.default_rng(0)
    seen: dict[int, list[tuple[float, ...]]] = {workers: [] for workers in fleets}
    for number in range(rounds + WARM):
        values = rng.standard_normal((PLANTS, STREAMS))
        for workers, fleet in fleets.items():
            before, start = counted(), time.perf_counter()
            fleet.update(values)
            taken, after = time.perf_counter() - start, counted()
            spent = [after[one] - before[one] for one in before if one in after]
            busiest = sorted(spent, key=lambda both: -both[0])[:workers]
            if number >= WARM:
                ran, waits = zip(*busiest, strict=True)
                seen[workers].append((taken, max(ran), min(waits), taken - min(waits)))
    for workers, found in seen.items():
        clock, ran, waited, left = 1000 * np.median(found, axis=0)
        best = 1000 * np.min(found, axis=0)
        print(
            f"{workers} threads: {clock:.1f} ms by the clock (least {best[0]:.1f}), {ran:.1f} run"
            f" by the busiest, {waited:.1f} waited for a core, {left:.1f} without (least"
            f" {best[3]:.1f}): {1000 * PLANTS / left:,.0f} rows a second"
        )


if __name__ == "__main__":
    main()
