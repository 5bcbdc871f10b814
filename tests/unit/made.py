"""Methods as the defaults set them, or otherwise, and problems to try them on."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import yaml

from causaldq.calibration import CalibrationSettings
from causaldq.learn.equivariant.checkpoint import Equivariant
from causaldq.learn.equivariant.settings import EquivariantJob
from causaldq.learn.settings import TrainingSettings
from causaldq.methods.base import Method, Problem, Truth
from causaldq.methods.build import build
from causaldq.methods.causal_dq_eq import CausalDqEq
from causaldq.methods.equivariant_network import shapes
from causaldq.methods.registry import index_methods
from causaldq.pipeline.jobs import train
from causaldq.pipeline.plan import Plan
from causaldq.run import step
from causaldq.statistic import StatisticSettings

Form = Literal["normalised", "raw"]
DEFAULTS: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[2] / "config" / "defaults.yaml").read_text()
)
CALIBRATION = CalibrationSettings(
    arl0=50.0, nominal_level=0.95, paths=10, fresh_paths=10, horizon_factor=2.0, arl0_grid=[50.0]
)
FAMILIES = {
    **dict.fromkeys(("causal_dq_eq", "non_causal_eq"), "bayes_posterior"),
    "causal_sr_no_graph": "causal_sr",
    "cds": "tras",
    "tssrp_cov": "tssrp",
}


def training(plan: Plan, network: str) -> TrainingSettings:
    """What a network of a plan is trained with."""
    run, _, protocol = network.rpartition(".")
    (only,) = train.settings(plan, run, [protocol]).networks  # type: ignore[list-item]
    return only


def equivariant_job(*, causal: bool, **changed: Any) -> EquivariantJob:
    """The training of the defaults; keywords override its settings."""
    return EquivariantJob.model_validate(
        {
            "seed": 3,
            "network": "made",
            "causal": causal,
            "training": {**DEFAULTS["equivariant"], **changed},
            "filter": DEFAULTS["baselines"]["bayes_posterior"],
            "statistic": DEFAULTS["statistic"],
        }
    )


def made_network(*, causal: bool, seed: int = 0) -> Equivariant:
    """A network for all problems with weights drawn at random: it has opinions, if no sense."""
    rng = np.random.default_rng(seed)
    job = equivariant_job(causal=causal)
    drawn = {
        name: np.asarray(rng.normal(scale=0.3, size=shape), np.float32)
        for name, shape in shapes(job.training.hidden, causal=causal).items()
    }
    return Equivariant(drawn, job)


def made(name: str, problem: Problem, **changed: Any) -> Method[Any]:
    """An index method; keywords override its settings. Who weighs graphs is given a chain."""
    kind = index_methods()[name]
    if name in ("causal_sr", "causal_dq_eq") and problem.graphs is None:
        problem = replace(problem, graphs=np.eye(problem.p, k=1, dtype=bool)[None])
    options = {**DEFAULTS["baselines"].get(FAMILIES.get(name, name), {}), **changed}
    if issubclass(kind, CausalDqEq):
        settings = kind.options.model_validate(options)
        return kind(problem, settings, made_network(causal=kind.graph != "none").weights)  # type: ignore[arg-type]
    return build(kind, problem, options)


def a_covariance(p: int, seed: int = 0) -> np.ndarray:
    """Dense, with variances other than one."""
    mixing = np.random.default_rng(seed).standard_normal((p, p + 2))
    return mixing @ mixing.T / p + 0.3 * np.eye(p)


def course(
    method: Method[Any], paths: np.ndarray, truth: Any, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Streams read (steps, n, m) and statistics (steps, n)."""
    rng = np.random.default_rng(seed)
    state = method.start(len(paths), truth, rng)
    read, values = [], []
    for t in range(paths.shape[1]):
        state, streams, value = step(method, state, paths[:, t], rng)
        read.append(streams)
        values.append(value)
    return np.array(read), np.array(values)


def compared_in_another_order(
    method: Any, other: Any, values: np.ndarray, order: np.ndarray, scale: np.ndarray
) -> tuple[Any, Any]:
    """States of two methods that read the same streams of `values` (steps, p).

    The other has them in another order and scale, and must make the same of them.
    """
    rng = np.random.default_rng(0)
    one, two = method.start(1, None, rng), other.start(1, None, rng)
    place = np.argsort(order)
    for row in values:
        read = method.choose(one, rng)
        one = method.observe(one, read, np.take_along_axis(row[None], read, axis=1), rng)
        there = np.sort(place[read], axis=1)
        turned = (row * scale)[order][None]
        two = other.observe(two, there, np.take_along_axis(turned, there, axis=1), rng)
    assert other.statistic(two)[0] == pytest.approx(method.statistic(one)[0], abs=1e-6)
    np.testing.assert_allclose(other.posterior(two)[0], method.posterior(one)[0][order], atol=1e-7)
    return one, two


def a_problem(covariance: np.ndarray, m: int, *, form: Form = "normalised") -> Problem:
    # a tiny ridge, so that slow versions may do without one
    return Problem(covariance, m, StatisticSettings(decay=0.1, form=form, ridge=1e-9))


def paths_of(covariance: np.ndarray, n: int, steps: int, seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal((n, steps, len(covariance)))
    drift = np.linspace(0.0, 2.0, steps)[None, :, None]  # so that statistics go up as well as down
    signs = np.where(np.arange(len(covariance)) % 3 == 0, -1.0, 1.0)
    return noise @ np.linalg.cholesky(covariance).T + drift * signs


def assert_largest(index: list[float], chosen: np.ndarray) -> None:
    """The chosen streams have the largest index; ties may fall either way."""
    rest = [value for i, value in enumerate(index) if i not in set(chosen.tolist())]
    assert min(index[i] for i in chosen) >= max(rest) - 1e-9 * max(1.0, abs(max(rest)))


class Recorder(np.random.Generator):
    """Keeps the normal and the uniform draws it hands out."""

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.PCG64(seed))
        self.normals: list[np.ndarray] = []
        self.uniforms: list[np.ndarray] = []

    def standard_normal(self, *args: Any, **kwargs: Any) -> Any:
        drawn = super().standard_normal(*args, **kwargs)
        self.normals.append(np.array(drawn))
        return drawn

    def random(self, *args: Any, **kwargs: Any) -> Any:
        drawn = super().random(*args, **kwargs)
        self.uniforms.append(np.array(drawn))
        return drawn


def a_truth(n: int, p: int, k: int, seed: int, delta: float = 1.0) -> Truth:
    order = np.argsort(np.random.default_rng(seed).random((n, p)), axis=1)
    shifted = order < k
    return Truth(shifted, delta * shifted.astype(float))
