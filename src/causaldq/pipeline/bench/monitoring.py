"""Monitoring: what a step costs as the streams get more, and what a cell of the tables costs."""

import time
import tracemalloc
from dataclasses import replace
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

from causaldq.learn.checkpoint import Checkpoint
from causaldq.learn.equivariant.settings import EquivariantJob
from causaldq.learn.settings import TrainingSettings
from causaldq.methods.base import Method, Problem, Truth
from causaldq.methods.build import build
from causaldq.methods.causal_dq import Perceptron
from causaldq.methods.causal_dq_eq import CausalDqEq
from causaldq.methods.causal_sr_known import CausalSrKnown
from causaldq.methods.equivariant_network import shapes
from causaldq.methods.registry import index_methods
from causaldq.models.streams import StreamModel
from causaldq.pipeline.config import Config
from causaldq.pipeline.measure import Measurement, Target, seconds
from causaldq.run import delays, step
from causaldq.seeds import generator
from causaldq.statistic import solve_positive
from causaldq.types import Floats
from causaldq.worlds.simulation import SimulationSource, simulate

SIZES = (10, 30, 100, 300, 1000)
STEPS = 15
WEIGH_CAUSES = ("causal_sr", "causal_sr_no_graph")
METHODS = (*(n for n in index_methods() if n not in WEIGH_CAUSES), "causal_dq", "non_causal")


def scaling(config: Config, settings: TrainingSettings) -> list[Measurement]:
    """Time and memory of one step of each method, one replication, m = p / 10."""
    steps, memory, growth = [], {}, {}
    for name in METHODS:
        taken: dict[int, list[float]] = {}
        for p in SIZES:
            problem = Problem(a_covariance(p), p // 10, config.statistic)
            taken[p], memory[name] = step_cost(built(name, problem, config, settings), problem)
        typical = {p: median(times) for p, times in taken.items()}
        growth[name] = exponent(typical)
        steps.append(
            Measurement(
                f"a step of {name}, p = {SIZES[-1]}, m = {SIZES[-1] // 10}",
                [1000 * t for t in taken[SIZES[-1]]],
                "ms",
                Target("at most", 20.0),
                {"seconds by p": typical, "power of p": growth[name], "MB": memory[name]},
            )
        )
    p, rng = SIZES[-1], generator(3, "bench", "solve")
    matrix, right = a_covariance(p)[None], rng.standard_normal((1, p))
    solve = partial(solve_positive, matrix, config.statistic.ridge, right)
    factors = [1000 * seconds(lambda: (solve(), solve())) for _ in range(STEPS)]
    most, fastest = max(memory, key=lambda n: memory[n]), max(growth, key=lambda n: growth[n])
    return [
        *steps,
        Measurement(f"two equations of {p} unknowns, as causal_dq solves in a step", factors, "ms"),
        Measurement(
            f"memory of a step at p = {SIZES[-1]}, most ({most})",
            [memory[most]],
            "MB",
            Target("at most", 200.0),
        ),
        Measurement(
            f"growth of a step, power of p, fastest ({fastest})",
            [growth[fastest]],
            target=Target("at most", 2.0),
        ),
    ]


def root_cause_step(config: Config) -> list[Measurement]:
    """One step of the mixture over root causes, with the true graph of a dense model."""
    p, m = 100, 12
    source = SimulationSource(
        kind="simulation", p=p, expected_degree=5.0, weight_low=0.5, weight_high=1.0, rows=10
    )
    model = simulate(source, generator(3, "bench", "causes"))
    problem = Problem(model.covariance, m, config.statistic, (model.effects != 0)[None])
    method = CausalSrKnown(problem, config.baselines.causal_sr)
    taken, _ = step_cost(method, problem)
    what = f"a step of causal_sr with the true graph, p = {p}, m = {m}"
    return [Measurement(what, [1000 * t for t in taken], "ms", Target("at most", 1.0))]


def decision(config: Config, settings: TrainingSettings) -> list[Measurement]:
    """Choosing the next sensors alone, with the network for all problems."""
    p = SIZES[-1]
    problem = Problem(a_covariance(p), p // 10, config.statistic)
    method, rng = built("causal_dq_eq", problem, config, settings), generator(4, "bench", "choose")
    state = method.start(1, None, rng)
    for _ in range(STEPS):
        state, _, _ = step(method, state, rng.standard_normal((1, p)), rng)
    taken = []
    for _ in range(STEPS):
        start = time.perf_counter()
        method.choose(state, rng)
        taken.append(1000 * (time.perf_counter() - start))
    what = f"a decision of causal_dq_eq, p = {p}, m = {p // 10}"
    return [Measurement(what, taken, "ms", Target("at most", 5.0))]


def a_covariance(p: int, *names: int) -> Floats:
    """Dense, with variances one; another one by other names."""
    mixing = generator(3, "bench", p, *names).standard_normal((p, 2 * p))
    covariance = mixing @ mixing.T / (2 * p)
    deviation = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(deviation, deviation))


def built(name: str, problem: Problem, config: Config, settings: TrainingSettings) -> Method[Any]:
    """A method; learned ones have random weights, which cost the same."""
    p, rng = problem.p, generator(3, "bench", name)
    kind = index_methods().get(name)
    if kind is not None and issubclass(kind, CausalDqEq):
        causal = kind.graph != "none"
        wanted = shapes(config.equivariant.hidden, causal=causal)
        weights = {
            part: np.asarray(rng.standard_normal(shape) / 10, np.float32)
            for part, shape in wanted.items()
        }
        job = EquivariantJob(
            seed=0,
            network="bench",
            causal=causal,
            training=config.equivariant,
            filter=config.baselines.bayes_posterior,
            statistic=config.statistic,
        )
        chain = replace(problem, graphs=np.eye(p, k=1, dtype=bool)[None])
        return kind(chain, job.filter, weights)
    if kind is not None:
        return build(kind, problem, config.options_of(name))
    inputs = (3 if name == "causal_dq" else 2) * p
    sizes = [inputs, *settings.agent.hidden, p]
    layers = tuple(
        (rng.standard_normal((a, b)).astype(np.float32) / a**0.5, np.zeros(b, np.float32))
        for a, b in pairwise(sizes)
    )
    effects = np.eye(p) if name == "causal_dq" else None
    return Checkpoint(Perceptron(layers), effects, settings, p).method(problem)


def step_cost(method: Method[Any], problem: Problem) -> tuple[list[float], float]:
    """Seconds of each of some steps, and the most memory that one took, in megabytes.

    Before, every stream is read once, whatever the policy would do: few streams are cheap.
    """
    rng, p = generator(4, "bench", "steps"), problem.p
    shifted = np.arange(p)[None] < problem.m
    truth = Truth(shifted, shifted.astype(np.float64)) if method.is_bound else None
    state = method.start(1, truth, rng)
    for first in range(0, 0 if method.is_bound else p, problem.m):
        streams = np.arange(first, first + problem.m)[None] % p
        state = method.observe(state, streams, rng.standard_normal(streams.shape), rng)
    taken = []
    for _ in range(STEPS):
        values = rng.standard_normal((1, p))
        start = time.perf_counter()
        state, _, _ = step(method, state, values, rng)
        taken.append(time.perf_counter() - start)
    tracemalloc.start()
    state = step(method, state.take(np.arange(1)), rng.standard_normal((1, p)), rng)[0]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return taken, peak / 1e6


def exponent(seconds_by_p: dict[int, float]) -> float:
    """b of the least-squares fit of seconds = a p^b."""
    p, taken = np.array(list(seconds_by_p)), np.array(list(seconds_by_p.values()))
    return float(np.polyfit(np.log(p), np.log(taken), 1)[0])


def cell_cost(
    config: Config, model: StreamModel, settings: TrainingSettings, rounds: int
) -> list[Measurement]:
    """Evaluation of one cell: the delays of all replications under one shift."""
    rng, evaluation = generator(5, "bench", "cell"), config.evaluation
    n, change = evaluation.replications, evaluation.in_control_steps
    paths = model.in_control(n, change + 200, rng)
    shifted = np.argsort(rng.random((n, model.p)), axis=1) < settings.plan.k
    mean = 0.5 * shifted.astype(np.float64)
    problem = Problem(model.covariance, settings.m, config.statistic)
    taken: dict[str, list[float]] = {}
    for name in METHODS:
        method = built(name, problem, config, settings)
        truth = Truth(shifted, mean) if method.is_bound else None
        # A limit that is never reached: the most that a cell can cost.
        cell = partial(delays, method, paths, change, [mean], [truth], 1e6, rng)
        taken[name] = [seconds(cell) for _ in range(rounds)]
    together = [sum(times) for times in zip(*taken.values(), strict=True)]
    what = f"evaluation of a cell, {n} replications, all {len(METHODS)} methods, p = {model.p}"
    return [Measurement(what, together, "s", detail=dict(taken))]
