"""One random graph: every method on the same shifted streams, and the root causes identified."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from causaldq.discovery.effects import propagation_effects
from causaldq.discovery.graph import Graph
from causaldq.discovery.uncertainty import possible_graphs
from causaldq.learn.settings import TrainingSettings
from causaldq.methods.base import Method
from causaldq.methods.base import Problem as Given
from causaldq.methods.build import build, index_class
from causaldq.models.streams import StreamModel
from causaldq.pipeline.method_files import shared_weights
from causaldq.pipeline.propagation.settings import Contestant, StudyJob
from causaldq.progress import Reporter
from causaldq.rootcause import Suspicions, cause_ranks, causes_at_alarm, summarise_ranks
from causaldq.run import simulated_limit
from causaldq.seeds import generator
from causaldq.types import Bools, Floats
from causaldq.worlds.simulation import SimulationSource, simulate

COLUMNS = [
    *("problem", "p", "m", "expected_degree", "graph", "method", "told", "roots", "delta"),
    *("n_rep", "add", "censored", "false_alarm", "limit", "found"),
    *("top_1", "top_3", "mean_rank", "later_top_1", "later_top_3", "later_mean_rank"),
]
"""`found`: runs with an alarm after the change, which is when a cause can be named."""


@dataclass(frozen=True)
class Cells:
    """All combinations of cause count and shift, their replications one after the other."""

    roots: Floats
    """(cells * n,)"""
    delta: Floats
    """(cells * n,)"""
    causes: Bools
    """(cells * n, p), the streams that shift of themselves."""
    mean: Floats
    """(cells * n, p), how far each stream moves."""


@dataclass(frozen=True)
class Study:
    """A graph with its streams, drawn alike for every method."""

    job: StudyJob
    networks: Mapping[str, Path] = field(default_factory=dict)
    """By method, of those that have one network for all problems."""

    def rng(self, *purpose: object) -> np.random.Generator:
        """For a purpose on this graph, whatever the method."""
        job = self.job
        return generator(job.seed, "propagation", job.problem, job.graph, *map(str, purpose))

    @cached_property
    def model(self) -> StreamModel:
        job, (low, high) = self.job, self.job.weights
        source = SimulationSource(
            kind="simulation", p=job.size.p, expected_degree=job.size.expected_degree,
            weight_low=low, weight_high=high, rows=job.rows,
        )  # fmt: skip
        return simulate(source, self.rng("streams"))

    @cached_property
    def possible(self) -> Bools:
        """Graphs that the rows allow, (g, p, p)."""
        job = self.job
        return possible_graphs(self.model, job.discovery, job.uncertainty, self.rng("graphs"))

    def method(self, contestant: Contestant) -> Method[Any]:
        """With what it is told: the truth, or what the rows say of it."""
        kind = index_class(contestant.method)
        knows = contestant.told == "truth"
        covariance = self.model.covariance if knows else np.cov(self.model.rows, rowvar=False)
        graphs = None
        if kind is not None and kind.graph != "none":
            graphs = (self.model.effects != 0)[None] if knows else self.possible
        problem = Given(covariance, self.job.size.m, self.job.statistic, graphs)
        if kind is not None:
            weights = shared_weights(self.networks.get(contestant.method))
            return build(kind, problem, contestant.options, weights)
        if contestant.training is None or not knows:
            raise ValueError(f"{contestant.method} has to be trained, on streams that are known")
        return self.trained(problem, contestant.training)

    def trained(self, problem: Given, settings: TrainingSettings) -> Method[Any]:
        """The paper's agent, trained on this graph, which it is told if it has a use for it."""
        from causaldq.learn.checkpoint import Checkpoint
        from causaldq.learn.train import train
        from causaldq.methods.causal_dq import CausalDq
        from causaldq.methods.non_causal import NonCausal

        effects = None
        if settings.method.causal_state:
            deviation = np.sqrt(np.diag(problem.covariance))
            effects = propagation_effects(
                Graph.from_effects(self.model.effects),
                problem.covariance / np.outer(deviation, deviation),
                self.job.discovery.max_directions,
                self.rng("directions"),
            )
        online = train(self.model, effects, settings).online
        kind = CausalDq if effects is not None else NonCausal
        return Checkpoint(online, effects, settings, self.model.p).method(problem, kind)

    def limit(self, method: Method[Any], name: str) -> float:
        job = self.job
        paths = self.model.in_control(job.paths, job.calibration_steps, self.rng("calibration"))
        return simulated_limit(method, paths, job.arl0, self.rng(name, "limit"))

    @cached_property
    def cells(self) -> Cells:
        """The sizes of the shift share causes and signs; more causes include those of fewer."""
        job, p, n = self.job, self.model.p, self.job.replications
        rng = self.rng("causes")
        place = rng.random((n, p)).argsort(axis=1).argsort(axis=1)
        sign = rng.choice([-1.0, 1.0], (n, p))
        cells = list(product(job.roots, job.deltas))
        causes = np.concatenate([place < roots for roots, _ in cells])
        own = np.concatenate([delta * sign * (place < roots) for roots, delta in cells])
        roots, delta = np.repeat(np.array(cells, dtype=float), n, axis=0).T
        return Cells(roots, delta, causes, own @ self.model.total_effects())

    def watched(self, method: Method[Any], limit: float, name: str) -> Suspicions:
        """Every replication of every cell; all cells on the same in-control values."""
        job = self.job
        steps = job.in_control_steps + job.horizon + job.later
        paths = self.model.in_control(job.replications, steps, self.rng("test"))
        return causes_at_alarm(
            method, paths, job.in_control_steps, self.cells.mean, limit, job.later,
            self.rng(name, "test"),
        )  # fmt: skip

    def results(self) -> Iterator[dict[str, object]]:
        """A row for each method and cell."""
        job = self.job
        with Reporter(f"{job.problem}, graph {job.graph}", len(job.contestants), "method") as bar:
            for contestant in job.contestants:
                name = f"{contestant.method}.{contestant.told}"
                method = self.method(contestant)
                limit = self.limit(method, name)
                yield from self._rows(contestant, limit, self.watched(method, limit, name))
                bar.advance(name)

    def _rows(
        self, contestant: Contestant, limit: float, seen: Suspicions
    ) -> Iterator[dict[str, object]]:
        job, cells = self.job, self.cells
        ranks = cause_ranks(seen.at_alarm, cells.causes)
        later = cause_ranks(seen.later, cells.causes)
        for roots, delta in product(job.roots, job.deltas):
            here = (cells.roots == roots) & (cells.delta == delta)
            kept = here & ~seen.outcome.false_alarm
            now, then = summarise_ranks(ranks[here]), summarise_ranks(later[here])
            yield {
                "problem": job.problem,
                "p": job.size.p,
                "m": job.size.m,
                "expected_degree": job.size.expected_degree,
                "graph": job.graph,
                "method": contestant.method,
                "told": contestant.told,
                "roots": roots,
                "delta": delta,
                "n_rep": int(kept.sum()),
                "add": float(seen.outcome.delay[kept].mean()) if kept.any() else float("nan"),
                "censored": float(seen.outcome.censored[here].mean()),
                "false_alarm": float(seen.outcome.false_alarm[here].mean()),
                "limit": limit,
                "found": now.runs,
                "top_1": now.top_1,
                "top_3": now.top_3,
                "mean_rank": now.mean_rank,
                "later_top_1": then.top_1,
                "later_top_3": then.top_3,
                "later_mean_rank": then.mean_rank,
            }
