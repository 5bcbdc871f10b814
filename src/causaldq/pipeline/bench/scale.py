"""Very many streams, and very many plants: matrix and structure side by side, in CPU time."""

import json
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from causaldq.calibration import RunLength
from causaldq.comparison import evaluate
from causaldq.covariance import DENSE_MOST, CovarianceLike, FactorCovariance, Structured
from causaldq.fleet import Fleet
from causaldq.limits import Limit
from causaldq.methods.base import Problem
from causaldq.methods.bayes_posterior import BayesPosterior
from causaldq.models.factors import fit_factors
from causaldq.models.graph_covariance import GraphCovariance
from causaldq.models.graphs import fit_graph
from causaldq.models.rows import estimate_covariance
from causaldq.models.streams import StreamModel
from causaldq.monitor import Monitor
from causaldq.pipeline.bench.monitoring import a_covariance
from causaldq.pipeline.measure import Measurement, Target
from causaldq.run import step
from causaldq.seeds import generator
from causaldq.types import Floats
from causaldq.worlds.public import Shift, simulate

SIZES = (10, 30, 100, 300, 1000, 2000, 3000, 10_000)
SENSORS = 100
FACTORS = 8
STEPS = 25
PLANTS = 1000

WATCH = """
import json, sys, time
from pathlib import Path
import numpy as np
from causaldq import Monitor
monitor, rng, taken = Monitor.load(sys.argv[1]), np.random.default_rng(0), []
for _ in range(int(sys.argv[2])):
    values = rng.standard_normal(len(monitor.next))
    start = time.process_time()
    monitor.update(values)
    taken.append(time.process_time() - start)
# not of getrusage, which counts the process that this one was started from
(most,) = (line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
print(json.dumps({"seconds": taken, "MB": int(most.split()[1]) / 1e3}))
"""


def some_factors(p: int) -> FactorCovariance:
    """Variances are one, of which factors explain a tenth to four fifths."""
    rng = generator(8, "bench", "factors", p)
    loadings = rng.standard_normal((p, FACTORS))
    shared = rng.uniform(0.1, 0.8, p)
    loadings *= np.sqrt(shared / (loadings**2).sum(axis=1))[:, None]
    return FactorCovariance(loadings, 1.0 - shared)


def a_sparse_graph(p: int) -> GraphCovariance:
    """Three links a stream, one and a half of them from causes; variances are one."""
    rng = generator(8, "bench", "graph", p)
    order = rng.permutation(p)
    first, later = np.sort(rng.integers(p, size=(2, 3 * p // 2)), axis=0)
    edges = np.unique(order[np.stack([first, later], axis=1)[first < later]], axis=0)
    weights = rng.uniform(0.5, 1.0, len(edges)) * rng.choice([-1.0, 1.0], len(edges))
    scale = 1.0 / (1.0 + np.bincount(edges[:, 1], weights**2, p))
    found = GraphCovariance.of_graph(edges, weights * np.sqrt(scale[edges[:, 1]]), scale)
    return found.scaled(1.0 / np.sqrt(found.variance))


def growth_of_a_step() -> list[Measurement]:
    """A step of the filter from ten to ten thousand streams, with a matrix as far as it goes."""
    taken: dict[str, dict[int, float]] = {"matrix": {}, "factors": {}}
    memory: dict[str, dict[int, float]] = {"matrix": {}, "factors": {}}
    for p in SIZES:
        factors = some_factors(p)
        forms: dict[str, Callable[[], CovarianceLike]] = {"factors": lambda f=factors: f}  # type: ignore[misc]
        if p <= DENSE_MOST:
            forms["matrix"] = lambda f=factors: f.dense.copy()  # type: ignore[misc]
        for name, form in forms.items():
            taken[name][p], memory[name][p] = _step(form, p)
    first, last = 1000, SIZES[-1]
    power = float(np.log(taken["factors"][last] / taken["factors"][first]) / np.log(last / first))
    detail = {"seconds by p": taken, "MB by p": memory}
    what = f"a step of bayes_posterior with {FACTORS} factors, CPU time, p = {last}, m = {SENSORS}"
    return [
        Measurement(what, [1000 * taken["factors"][last]], "ms", Target("at most", 20.0), detail),
        Measurement(
            f"growth of it from p = {first} on, power of p", [power], target=Target("at most", 1.2)
        ),
    ]


def a_step_on_a_graph() -> list[Measurement]:
    """Ten thousand streams along a sparse graph that is known."""
    p = SIZES[-1]
    taken, memory = _step(lambda: a_sparse_graph(p), p)
    what = f"a step of bayes_posterior with a sparse graph, CPU time, p = {p}, m = {SENSORS}"
    target = Target("at most", 20.0)
    return [Measurement(what, [1000 * taken], "ms", target, {"MB": memory})]


def _step(form: Callable[[], CovarianceLike], p: int) -> tuple[float, float]:
    """CPU seconds of a step, and megabytes of covariance, method, state and step together."""
    rng, m = generator(8, "bench", "step"), min(max(p // 10, 1), SENSORS)
    tracemalloc.start()
    method = BayesPosterior(Problem(form(), m))
    state = method.start(1, None, rng)
    state, _, _ = step(method, state, rng.standard_normal((1, p)), rng)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    times = []
    for _ in range(STEPS):
        values = rng.standard_normal((1, p))
        start = time.process_time()
        state, _, _ = step(method, state, values, rng)
        times.append(time.process_time() - start)
    return median(times), most / 1e6


def a_fit() -> list[Measurement]:
    """Ten thousand streams from rows to a monitor, limit and all."""
    p, measured = SIZES[-1], []
    what = f"Monitor.fit on 2000 rows, CPU time, p = {p}, m = {SENSORS}"
    streams: dict[str, Structured] = {
        what: some_factors(p),
        f"{what}, streams of a sparse graph": a_sparse_graph(p),
    }
    for name, truth in streams.items():
        rows = truth.draw((2000,), generator(8, "bench", "rows"))
        start = time.process_time()
        monitor = Monitor.fit(rows, SENSORS, progress=False)
        taken = time.process_time() - start
        detail = {
            "covariance": monitor.facts["covariance"],
            "factors": monitor.facts.get("factors"),
            "reached": monitor.limit.reached.value,
        }
        measured.append(Measurement(name, [taken], "s", Target("at most", 60.0), detail))
    return measured


def a_watch() -> list[Measurement]:
    """A process that does nothing but watch ten thousand streams."""
    p = SIZES[-1]
    monitor = _monitor(some_factors(p), SENSORS, 0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.monitor"
        monitor.save(path)
        command = [sys.executable, "-c", WATCH, str(path), str(STEPS)]
        seen = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    size = f"p = {p}, m = {SENSORS}"
    times, limits = [1000 * t for t in seen["seconds"]], (20.0, 500.0)
    return [
        Measurement(f"Monitor.update, CPU time, {size}", times, "ms", Target("at most", limits[0])),
        Measurement(
            f"memory of the process that watches, {size}",
            [seen["MB"]],
            "MB",
            Target("at most", limits[1]),
        ),
    ]


def _monitor(covariance: CovarianceLike, m: int, seed: int) -> Monitor:
    """With a limit that is none of its own: a step costs the same."""
    p = len(covariance)
    return Monitor(
        BayesPosterior(Problem(covariance, m)),
        name="bayes_posterior",
        names=[f"x{i}" for i in range(p)],
        mean=np.zeros(p),
        sd=np.ones(p),
        limit=Limit(9.0, 200.0, RunLength(None, 1.0, None)),
        seed=seed,
    )


def delays_of_either() -> list[Measurement]:
    """Delays with a structure over those with a matrix, all estimated from 2,000 rows, p = 200."""
    p, rng = 200, generator(8, "bench", "delays")
    truth = some_factors(p)
    graph = simulate(p, degree=2.0, rows=2000, seed=8)
    worlds = {
        "few factors": (truth.draw((2000,), rng), truth),
        "a sparse graph": (graph.rows, None),
    }
    measured = []
    for name, (rows, known) in worlds.items():
        scaled = (rows - rows.mean(0)) / rows.std(0)
        covariance = graph.covariance if known is None else known.dense
        streams = StreamModel(graph.names, scaled, covariance, np.zeros((p, p)))
        forms: dict[str, CovarianceLike] = {
            "matrix": estimate_covariance(scaled).matrix,
            "factors": fit_factors(scaled).matrix,
            "a graph": fit_graph(scaled).matrix,
        }
        methods = {form: _fixed(matrix) for form, matrix in forms.items()}
        found = evaluate(
            methods, streams, 20, [Shift(1.0, streams=5)], arl0=50.0, paths=100,
            replications=200, horizon=60,
        ).set_index("method")  # fmt: skip
        detail = {"delay": found.delay.to_dict(), "se": found.se.to_dict()}
        for form in ("factors", "a graph"):
            ratio = float(found.delay[form] / found.delay["matrix"])
            fits = (form == "factors") == (known is not None)
            what = f"delay with {form} over that with a matrix, p = {p}, streams of {name}"
            bound = Target("at most", 1.05) if fits else None
            measured.append(Measurement(what, [ratio], target=bound, detail=detail))
    return measured


def _fixed(covariance: CovarianceLike) -> Callable[[Problem], BayesPosterior]:
    """A method that takes a covariance for true, whatever the streams' own."""
    return lambda problem: BayesPosterior(Problem(covariance, problem.m, problem.statistic))


def some_plants(p: int, m: int) -> tuple[list[Monitor], list[Floats]]:
    """Monitors of a thousand plants, and what makes rows of each from normal numbers."""
    monitors: list[Monitor] = []
    factors: list[Floats] = []
    for number in range(PLANTS):
        covariance = a_covariance(p, number)
        factors.append(np.asarray(np.linalg.cholesky(covariance), np.float64))
        monitors.append(_monitor(covariance, m, number))
    return monitors, factors


def fleet_speed(rounds: int) -> list[Measurement]:
    """A thousand plants of fifty streams: rows a second, by the clock and by CPU time."""
    p, m, rng = 50, 10, generator(8, "bench", "fleet")
    monitors, factors = some_plants(p, m)
    fleet = Fleet(monitors, workers=2)
    rates: dict[str, list[float]] = {"clock": [], "CPU": []}
    for number in range(rounds + 2):
        drawn = rng.standard_normal((PLANTS, p, 1))
        values = (np.stack(factors) @ drawn)[:, :, 0]
        clock, cpu = time.perf_counter(), time.process_time()
        fleet.update(values)
        if number > 1:  # once to warm up
            rates["clock"].append(PLANTS / (time.perf_counter() - clock))
            rates["CPU"].append(PLANTS / (time.process_time() - cpu))
    what = f"{PLANTS} monitors of p = {p}, m = {m} in a fleet"
    return [
        Measurement(
            f"{what}: rows in two seconds of CPU time, one on each core",
            [2 * rate for rate in rates["CPU"]], "1/s", Target("at least", 20_000.0),
        ),
        Measurement(f"{what}: rows a second by the clock, two threads", rates["clock"], "1/s"),
    ]  # fmt: skip


def scale(rounds: int) -> list[Measurement]:
    """All of it."""
    return [
        *growth_of_a_step(),
        *a_step_on_a_graph(),
        *a_fit(),
        *a_watch(),
        *delays_of_either(),
        *fleet_speed(rounds),
    ]
