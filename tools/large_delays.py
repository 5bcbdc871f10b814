"""Delays of `innovation_filter` on few factors with own dynamics, over those on a matrix.

Both models are fitted to the same 2,000 rows of one plant of 200 streams, get limits for the same
run length from the same in-control paths, and watch the same changes. The plant has the form of one
model or of the other (`--plant`): factors with own memories, or own memories with innovations that
are correlated by a full matrix. A change that is not found within 120 steps counts as 121.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from causaldq.calibration import limit_for
from causaldq.many_streams import FactorFilter
from causaldq.methods.base import Problem
from causaldq.methods.innovation_filter import InnovationFilter
from causaldq.models.em import fit_state_space
from causaldq.models.factor_dynamics import FactorDynamics
from causaldq.models.fit_dynamics import fit_factor_dynamics
from causaldq.models.rows import fit_scale
from causaldq.models.state_space import StateSpace
from causaldq.run import statistics
from causaldq.types import Floats

SENSORS, SHIFTED, CHANGE, LATEST = 20, 5, 30, 120
ROWS = 2000


MEMORIES = (0.0, 0.3, 0.6, 0.9)


def factor_plant(p: int, rng: np.random.Generator) -> FactorDynamics:
    """Four factors; own memories of 0 to 0.9."""
    loadings, shared = rng.normal(size=(p, 4)), rng.uniform(0.2, 0.6, p)
    loadings *= np.sqrt(shared / (loadings**2).sum(axis=1))[:, None]
    memory = rng.choice(MEMORIES, p)
    noise = rng.uniform(0.1, 0.5, p) * (1 - shared)
    return FactorDynamics.of(loadings, [0.95, 0.8, 0.5, 0.2], memory, noise)


def dense_plant(p: int, rng: np.random.Generator) -> StateSpace:
    """Own memories of 0 to 0.9, innovations with a full covariance, noise; no factors.

    Innovations of streams i and j have correlation 0.8 ** |i - j|, so that no few directions stand
    out. Streams have variance one.
    """
    moves = 0.8 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    memory, noise = rng.choice(MEMORIES, p), rng.uniform(0.1, 0.5, p)
    spread = np.sqrt((1 - noise) * (1 - memory**2))
    plant = StateSpace.independent(np.diag(noise), np.inf)
    return replace(plant, a=memory, q=moves * np.outer(spread, spread))


PLANTS: dict[str, Callable[[int, np.random.Generator], FactorDynamics | StateSpace]] = {
    "factors": factor_plant,
    "dense": dense_plant,
}


def delays(method: InnovationFilter, quiet: Floats, changed: Floats, arl0: float) -> Floats:
    """Of each changed path (n, steps, p), the mean over paths without a false alarm before."""
    rng = np.random.default_rng(7)
    limit = limit_for(statistics(method, quiet, None, rng), arl0)
    over = statistics(method, changed, None, rng) > limit
    first = np.where(over.any(axis=1), over.argmax(axis=1), changed.shape[1])
    return np.where(first >= CHANGE, first - CHANGE + 1.0, np.nan)


def main() -> None:
    """Print both mean delays, how many changes were not found, and the ratio of the delays."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plant", choices=PLANTS, default="factors")
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--paths", type=int, default=100)
    parser.add_argument("--arl0", type=float, default=200.0)
    parser.add_argument("--size", type=float, default=1.5)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    p, n = asked.streams, asked.paths
    plant = PLANTS[asked.plant](p, rng)
    rows = plant.simulate(1, ROWS, rng)[0]
    scale = fit_scale(rows, [str(i) for i in range(p)])
    scaled = scale.apply(rows)
    factors, dense = fit_factor_dynamics(scaled), fit_state_space(scaled)
    quiet = scale.apply(plant.simulate(n, int(2 * asked.arl0), rng))
    changed = plant.simulate(n, CHANGE + LATEST, rng)
    for path in changed:
        path[CHANGE:, rng.choice(p, SHIFTED, replace=False)] += asked.size
    changed = scale.apply(changed)
    found = [
        delays(method, quiet, changed, asked.arl0)
        for method in (
            FactorFilter(Problem(factors.covariance, SENSORS), None, factors),
            InnovationFilter(Problem(dense.covariance, SENSORS, dynamics=dense)),
        )
    ]
    both = np.isfinite(found[0]) & np.isfinite(found[1])
    ours, theirs = found[0][both], found[1][both]
    ratio = ours.mean() / theirs.mean()
    error = np.std(ours - ratio * theirs, ddof=1) / np.sqrt(len(ours)) / theirs.mean()
    for name, one in ((f"{factors.factors} factors", ours), ("matrix", theirs)):
        print(f"{name}: {one.mean():.1f} steps, {np.sum(one > LATEST)} not found")
    print(f"ratio {ratio:.3f}, standard error {error:.3f}, {len(ours)} paths")


if __name__ == "__main__":
    main()
