"""Small monitors and rows for tests of a watch."""

from pathlib import Path
from typing import Any

import numpy as np

from causaldq import Monitor
from causaldq.calibration import RunLength
from causaldq.limits import Limit
from causaldq.methods.base import Problem
from causaldq.methods.resolve import resolved

NAMES = ("flow", "heat", "level", "purity", "speed", "steam")
MEAN = np.array([10.0, 300.0, 5.0, 98.0, -2.0, 4.0])
SD = np.array([1.0, 20.0, 0.1, 0.5, 3.0, 0.2])
COVARIANCE = 0.5 ** np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
GRAPH = np.eye(6, k=1, dtype=bool)


def monitor(
    method: str = "bayes_posterior", sensors: int = 3, limit: float = 6.0, **more: Any
) -> Monitor:
    problem = Problem(COVARIANCE, sensors, graphs=GRAPH[None] if "causal" in method else None)
    return Monitor(
        resolved(method, problem),
        name=method,
        names=NAMES,
        mean=MEAN,
        sd=SD,
        limit=Limit(limit, 200.0, RunLength(200.0, 150.0, 260.0)),
        **more,
    )


def rows(steps: int, seed: int = 0, fault: int | None = None, size: float = 2.0) -> np.ndarray:
    """Values (steps, 6) in the plant's units; from `fault` on the level is off."""
    rng = np.random.default_rng(seed)
    scaled = rng.standard_normal((steps, 6)) @ np.linalg.cholesky(COVARIANCE).T
    if fault is not None:
        scaled[fault:, 2] += size
    return np.asarray(MEAN + SD * scaled)


def csv_text(values: np.ndarray, first: int = 0) -> str:
    lines = [",".join(("time", *NAMES))]
    lines += [
        ",".join([str(first + t), *(f"{x:.6g}" for x in row)]) for t, row in enumerate(values)
    ]
    return "\n".join(lines) + "\n"


def saved(folder: Path, **kinds: Any) -> Path:
    path = folder / "plant.monitor"
    monitor(**kinds).save(path)
    return path
