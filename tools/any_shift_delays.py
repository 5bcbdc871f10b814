"""How early is `any_shift`, beside other methods, on streams that nothing was chosen on?

    python tools/any_shift_delays.py independent any_shift tssrp tras greedy bayes_posterior

The first method is compared with each of the others: mean delay of both (geometric mean over three
sizes of shifts), and their ratio on common runs with a 95% bootstrap interval. All see the same
values, each has a limit of its own, and none is given a graph. Minutes for each method.
"""

import argparse
from dataclasses import dataclass

import numpy as np

import causaldq
from causaldq.methods.resolve import resolved
from causaldq.run import delays, simulated_limit
from causaldq.types import Floats


@dataclass(frozen=True)
class World:
    p: int
    degree: int
    m: int
    shifted: tuple[int, ...]
    propagate: bool = False
    models: int = 1


WORLDS = {
    "independent": World(50, 0, 12, (1, 10, 24)),
    "few_sensors": World(50, 0, 3, (3,)),
    "correlated": World(50, 6, 12, (1, 10, 24), models=2),
    "propagating": World(30, 2, 6, (1,), propagate=True, models=2),
    "propagating_dense": World(30, 5, 6, (1,), propagate=True, models=2),
    "small": World(10, 0, 6, (5,)),
    "large": World(100, 0, 22, (20,)),
}
SIZES = (0.35, 0.7, 1.4)
ARL0, BEFORE, HORIZON, RUNS, PATHS = 200, 50, 200, 200, 180


def measured(method: str, world: World, seed: int) -> dict[int, Floats]:
    """Delays (sizes, runs) by the number of shifted streams; NaN after a false alarm."""
    found: dict[int, list[list[Floats]]] = {k: [] for k in world.shifted}
    for number in range(world.models):
        streams = causaldq.simulate(world.p, degree=world.degree, seed=seed + number)
        rng = [np.random.default_rng([seed, number, part]) for part in range(5)]
        made = resolved(method, causaldq.Problem(streams.covariance, world.m))
        limit = simulated_limit(made, streams.in_control(PATHS, 450, rng[0]), ARL0, rng[1])
        for k in world.shifted:
            n = RUNS // world.models
            values = streams.in_control(n, BEFORE + HORIZON, rng[2])
            unit = [  # the same places at every size
                causaldq.Shift(1.0, k, signs, world.propagate).means(streams, n // 2, rng[3])
                for signs in ("same", "alternating")
            ]
            means = [size * np.vstack(unit) for size in SIZES]
            outcomes = delays(made, values, BEFORE, means, [None] * len(means), limit, rng[4])
            found[k].append([np.where(o.false_alarm, np.nan, o.delay) for o in outcomes])
    return {k: np.concatenate(parts, axis=1) for k, parts in found.items()}


def log_mean(cells: Floats, weights: Floats) -> Floats:
    """Mean over sizes of the log mean delay; cells (sizes, runs), weights (draws, runs)."""
    counted = np.asarray(~np.isnan(cells), np.float64)
    by_size = np.log((np.nan_to_num(cells) @ weights.T) / (counted @ weights.T))
    return np.asarray(by_size.mean(axis=0))


def ratio(first: Floats, second: Floats, seed: int = 0) -> tuple[float, float, float]:
    """Ratio of geometric means on common runs, with a 95% bootstrap interval."""
    gone = np.isnan(first) | np.isnan(second)
    first, second = (np.where(gone, np.nan, cells) for cells in (first, second))
    n = first.shape[1]
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), 2000)
    weights = np.vstack([np.ones(n), drawn])
    found = np.exp(log_mean(first, weights) - log_mean(second, weights))
    low, high = np.quantile(found[1:], [0.025, 0.975])
    return float(found[0]), float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("world", choices=WORLDS)
    parser.add_argument("method", help="the one that is compared with the others")
    parser.add_argument("others", nargs="+")
    parser.add_argument("--seed", type=int, default=93000)
    given = parser.parse_args()
    world = WORLDS[given.world]
    ours = measured(given.method, world, given.seed)
    for name in given.others:
        for k, theirs in measured(name, world, given.seed).items():
            all_runs = np.ones((1, theirs.shape[1]))
            first, second = (np.exp(log_mean(cells, all_runs)[0]) for cells in (ours[k], theirs))
            compared = "{:.2f} ({:.2f} to {:.2f})".format(*ratio(ours[k], theirs))
            print(
                f"{given.world} k={k}: {given.method} {first:.2f}, {name} {second:.2f},"
                f" ratio {compared}",
                flush=True,
            )


if __name__ == "__main__":
    main()
