"""What `innovation_filter` keeps and finds on the classic Tennessee Eastman files.

    python tools/innovation_delays.py 5

Fitted on `d00`, 200 rows to a false alarm asked, the given number of the 50 streams read at a time.
Prints the rows to a false alarm on rows in control that the fit has not seen, watching on after
each and up to the first, and the geometric mean delay over the 21 faults, at the limit that gives
200 rows to the first alarm on those rows.
"""

import argparse
from pathlib import Path

import bibmon  # type: ignore[import-untyped]
import numpy as np

from causaldq.calibration import limit_for
from causaldq.limits import known_from
from causaldq.memory_limits import bounding_limit, count_alarms, refitted_limit
from causaldq.methods.base import Problem
from causaldq.methods.innovation_filter import InnovationFilter
from causaldq.models.in_control import InControl, fit_in_control
from causaldq.run import event_delays, statistics
from causaldq.types import Floats

ARL0, STREAMS, ONSET = 200.0, 50, 160
NAMES = tuple(f"s{i}" for i in range(STREAMS))


def recording(name: str) -> Floats:
    """The rows of a file, with the paper's 50 streams."""
    values = np.loadtxt(Path(bibmon.__file__).parent / f"tennessee_eastman/{name}.dat")
    return np.asarray((values.T if len(values) == 52 else values)[:, 2:], np.float64)


def limit_of(normal: InControl, rows: int, m: int) -> float:
    """The bound; where most streams are read it is too cautious, and plants are simulated."""
    if 2 * m <= STREAMS:
        return bounding_limit(ARL0)
    return refitted_limit(
        lambda problem: InnovationFilter(problem),
        normal, rows, NAMES, m, None, arl0=ARL0, paths=80, seed=0,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sensors", type=int, help="streams read at a time, at most 50")
    m = parser.parse_args().sensors
    rows = recording("d00")
    normal = fit_in_control(rows, NAMES, "state_space")
    test = [normal.scale.apply(recording(f"d{k:02d}_te")) for k in range(22)]
    in_control = [test[0], *(test[k][:ONSET] for k in range(1, 22) if k != 5)]  # 4 is 5's
    method = InnovationFilter(Problem(normal.covariance.matrix, m, dynamics=normal.dynamics))
    rng = np.random.default_rng(0)
    limit = limit_of(normal, len(rows), m)
    alarms = np.array([count_alarms(method, one, limit, rng) for one in in_control])
    lengths = np.array([float(len(one)) for one in in_control])
    print("rows to a false alarm, watching on:", known_from(lengths, alarms), flush=True)
    parts = np.concatenate([test[0].reshape(-1, ONSET, STREAMS), np.array(in_control[1:])])
    seen = statistics(method, parts, None, rng)
    over = seen > limit
    steps = np.where(over.any(1), over.argmax(1) + 1.0, float(ONSET))
    first = known_from(steps, over.any(1).astype(float))
    print("rows to the first false alarm:", first, flush=True)
    which = np.arange(21)
    start, onset = np.zeros_like(which), np.full_like(which, ONSET)
    equal = limit_for(seen, ARL0)
    delay = event_delays(method, np.array(test[1:]), which, start, onset, equal, rng).delay
    print(f"delay at an equal rate: {np.exp(np.log(delay).mean()):.1f} rows; by fault:", *delay)


if __name__ == "__main__":
    main()
