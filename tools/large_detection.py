"""Delays among ten thousand streams: sensors that the filter asks for, in turn, and at random.

The evidence is the filter's each time; only the choice of sensors differs. `--plant factors`:
streams with eight common factors, watched by `bayes_posterior`. `--plant memory`: four factors and
memories of the streams' own, watched by the filter of `LargeMonitor`. The covariance, or the model,
is fitted to 2,000 rows; limits come from fresh quiet paths; all ways to choose watch the same
changes, some streams drawn at random that move up or down. Monitoring begins anew after a false
alarm before the change. A change not found within the steps watched counts as that many.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from large_delays import factor_plant

from causaldq.calibration import average_run_length, limit_for, run_lengths
from causaldq.many_streams import FactorFilter
from causaldq.methods.base import Method, Problem
from causaldq.methods.bayes_posterior import BayesPosterior
from causaldq.models.factors import fit_factors
from causaldq.models.fit_dynamics import fit_factor_dynamics
from causaldq.models.rows import fit_scale
from causaldq.pipeline.bench.scale import some_factors
from causaldq.run import delays, statistics
from causaldq.seeds import generator
from causaldq.types import Floats, Ints

STREAMS, SENSORS, ROWS = 10_000, 100, 2000
SHIFTS = ((10, 3.0), (100, 1.0), (100, 2.0), (1000, 0.5))
"""How many streams shift, and by how many of their deviations."""
ARL0, QUIET = 200.0, 400
"""Wanted steps to a false alarm, and steps of a quiet path."""
CHANGE, WATCHED = 100, 200
"""The step of the change, by which every stream can have been read once, and steps watched then."""
BATCH = 10
"""Paths at a time."""
RESAMPLES = 2000


def in_turn(method: Method[Any], state: Any, _: np.random.Generator) -> Ints:
    """Round robin."""
    first = state.time[:, None] * SENSORS
    return np.asarray((first + np.arange(SENSORS)) % method.problem.p, np.int64)


def at_random(method: Method[Any], state: Any, rng: np.random.Generator) -> Ints:
    """Any set as likely as another."""
    drawn = rng.random((len(state.time), method.problem.p))
    return np.sort(drawn.argpartition(SENSORS, axis=1)[:, :SENSORS], axis=1)


WAYS: dict[str, Callable[[Method[Any], Any, np.random.Generator], Ints] | None] = {
    "its own": None,
    "in turn": in_turn,
    "at random": at_random,
}


def told(method: Method[Any], way: Callable[..., Ints] | None) -> Method[Any]:
    """The method, with sensors chosen that way."""
    if way is not None:
        method.choose = lambda state, rng: way(method, state, rng)  # type: ignore[method-assign]
    return method


def factors(streams: int, seed: int) -> tuple[Callable[..., Floats], Callable[[], Method[Any]]]:
    """What draws rows (n, steps, p), and what makes the filter that was fitted to some."""
    plant = some_factors(streams)
    rows = plant.draw((ROWS,), generator(seed, "rows"))
    scale = fit_scale(rows, [str(i) for i in range(streams)])
    matrix = fit_factors(scale.apply(rows)).matrix

    def draw(n: int, steps: int, rng: np.random.Generator) -> Floats:
        return scale.apply(plant.draw((n, steps), rng))

    return draw, lambda: BayesPosterior(Problem(matrix, SENSORS))


def memory(streams: int, seed: int) -> tuple[Callable[..., Floats], Callable[[], Method[Any]]]:
    """The same of a plant whose rows follow from rows before."""
    plant = factor_plant(streams, generator(seed, "plant"))
    rows = plant.simulate(1, ROWS, generator(seed, "rows"))[0]
    scale = fit_scale(rows, [str(i) for i in range(streams)])
    model = fit_factor_dynamics(scale.apply(rows))

    def draw(n: int, steps: int, rng: np.random.Generator) -> Floats:
        return scale.apply(plant.simulate(n, steps, rng))

    return draw, lambda: FactorFilter(Problem(model.covariance, SENSORS), None, model)


PLANTS = {"factors": factors, "memory": memory}


def shifted(count: int, size: float, streams: int, rng: np.random.Generator) -> Floats:
    """Means (BATCH, p) after the change."""
    means = np.zeros((BATCH, streams))
    for row in means:
        row[rng.choice(streams, count, replace=False)] = size * rng.choice([-1.0, 1.0], count)
    return means


def bootstrap(summary: Callable[[Ints], Floats], runs: int) -> str:
    """A 95% interval over runs."""
    drawn = np.random.default_rng(0).integers(runs, size=(RESAMPLES, runs))
    low, high = np.quantile(summary(drawn), [0.025, 0.975])
    return f"{low:.2f} to {high:.2f}"


def main() -> None:
    """Print a row for each change and way to choose."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plant", choices=PLANTS, default="factors")
    parser.add_argument("--streams", type=int, default=STREAMS)
    parser.add_argument("--batches", type=int, default=3, help=f"of {BATCH} runs")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    draw, make = PLANTS[asked.plant](asked.streams, asked.seed)
    runs = BATCH * asked.batches
    found: dict[str, Floats] = {}
    missed: dict[str, Floats] = {}
    for name, way in WAYS.items():
        began, method = time.process_time(), told(make(), way)
        quiet, parts = [], []
        for batch in range(asked.batches):
            values = draw(BATCH, QUIET, generator(asked.seed, "quiet", batch))
            quiet.append(statistics(method, values, None, generator(asked.seed, name, batch)))
        seen = np.concatenate(quiet)
        limit = limit_for(seen, ARL0)
        reached = average_run_length(*run_lengths(seen, limit))
        for batch in range(asked.batches):
            rng = generator(asked.seed, "changes", batch)
            means = [shifted(*shift, asked.streams, rng) for shift in SHIFTS]
            values = draw(BATCH, CHANGE + WATCHED, rng)
            parts.append(
                delays(
                    method, values, CHANGE, means, [None] * len(means), limit,
                    generator(asked.seed, name, "changes", batch), restart=True,
                )
            )  # fmt: skip
        cases = [[part[i] for part in parts] for i in range(len(SHIFTS))]
        found[name] = np.array([np.concatenate([one.delay for one in case]) for case in cases])
        missed[name] = np.array([sum(one.censored.sum() for one in case) for case in cases])
        alarmed = int((~run_lengths(seen, limit)[1]).sum())
        print(
            f"{name}: limit {limit:.2f} from {alarmed} alarms in {runs} quiet paths"
            f" ({reached:.0f} steps to one), {time.process_time() - began:.0f} s of CPU time",
            flush=True,
        )
    print(f"streams shifted, size, sensors: mean delay (95%), found of {runs}, over in turn (95%)")
    base = found["in turn"]
    for i, (count, size) in enumerate(SHIFTS):
        for name, delay in found.items():
            mean = bootstrap(lambda rows, d=delay[i]: d[rows].mean(axis=1), runs)  # type: ignore[misc]
            ratio = bootstrap(
                lambda rows, d=delay[i], b=base[i]: d[rows].mean(axis=1) / b[rows].mean(axis=1),  # type: ignore[misc]
                runs,
            )
            over = delay[i].mean() / base[i].mean()
            print(
                f"{count}, {size}, {name}: {delay[i].mean():.1f} ({mean}),"
                f" {runs - missed[name][i]}, {over:.2f} ({ratio})"
            )


if __name__ == "__main__":
    main()
