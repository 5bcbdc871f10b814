"""From settings to work: which jobs a config asks for, and what each one is given.

Snakemake asks here; nothing here knows of Snakemake. A change of a setting reaches
exactly the jobs whose share of the settings, as given here, contains it.
"""

from dataclasses import dataclass

from causaldq.agent.settings import ShiftPlan, TrainingSettings, TrainJob
from causaldq.config import Config, ScenarioSettings
from causaldq.equivariant.settings import EquivariantJob
from causaldq.jobs.settings.cross import CrossJob
from causaldq.jobs.settings.data import FetchJob, PrepareJob, SimulateJob
from causaldq.jobs.settings.discover import DiscoverJob
from causaldq.jobs.settings.inject import InjectJob
from causaldq.jobs.settings.monitor import (
    CalibrateJob,
    Cell,
    EvaluateJob,
    PolicyJob,
    ShowcaseJob,
    ShowcaseRun,
)
from causaldq.jobs.settings.name_causes import NameCausesJob
from causaldq.jobs.settings.possible_graphs import PossibleGraphsJob
from causaldq.methods.registry import FIELD, has_shared_network, index_methods, is_bound
from causaldq.propagation.settings import Contestant, StudyJob
from causaldq.setting import Protocol
from causaldq.sources.settings import OwnSource, SimulationSource
from causaldq.theory.settings import TheoryJob


@dataclass(frozen=True)
class Run:
    """A method to be calibrated and evaluated on a scenario, under all protocols."""

    scenario: str
    method: str
    seed: int | None
    """Training seed of a learned method."""

    @property
    def id(self) -> str:
        return f"{self.scenario}.{self.method}" + ("" if self.seed is None else f".s{self.seed}")


@dataclass(frozen=True)
class Network:
    """A network to be trained."""

    run: Run
    protocol: Protocol

    @property
    def id(self) -> str:
        return f"{self.run.id}.{self.protocol}"


class Plan:
    """All units of work of one config, by id."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.runs = {
            run.id: run
            for scenario in config.scenarios
            for method in config.methods_of(scenario)
            for run in self._runs(scenario, method)
        }
        self.limits: dict[str, Run] = {}
        for run in self.runs.values():
            self.limits.setdefault(self.limits_of(run), run)
        needed = [n for run in self.runs.values() for n in self.networks_of(run).values()]
        studied = [n for scenario in config.scenarios for n in self.studied(scenario)]
        self.networks = {network.id: network for network in (*needed, *studied)}
        self.trained = {network.run.id: network.run for network in self.networks.values()}

    def _runs(self, scenario: str, method: str) -> list[Run]:
        if method in index_methods() and not has_shared_network(method):
            return [Run(scenario, method, None)]
        return [Run(scenario, method, seed) for seed in range(self.config.training_seeds)]

    def networks_of(self, run: Run) -> dict[Protocol, Network]:
        """Networks of its own that a run needs, by protocol; none if its method learns none."""
        if run.seed is None or has_shared_network(run.method):
            return {}
        return {protocol: Network(run, protocol) for protocol in self.config.protocols}

    def shared_network(self, run: Run) -> str | None:
        """Id of the network for all problems that a run uses, if it does."""
        return f"{run.method}.s{run.seed}" if has_shared_network(run.method) else None

    def shared_networks(self) -> dict[str, str]:
        """By id, the method that uses it."""
        found = {self.shared_network(run): run.method for run in self.runs.values()}
        for study in self.studies():
            found |= {name: method for method, name in self.study_networks(study).items()}
        return {name: method for name, method in found.items() if name is not None}

    def equivariant_job(self, network: str) -> EquivariantJob:
        config, kind = self.config, index_methods()[self.shared_networks()[network]]
        return EquivariantJob(
            seed=config.seed,
            network=network,
            causal=kind.graph != "none",
            training=config.equivariant,
            filter=config.baselines.bayes_posterior,
            statistic=config.statistic,
        )

    def studied(self, scenario: str) -> list[Network]:
        """Networks whose training is compared."""
        study = self.config.scenarios[scenario].training_study
        if study is None:
            return []
        return [
            Network(Run(scenario, method, seed), protocol)
            for protocol in study.protocols
            for method in study.methods
            for seed in range(self.config.training_seeds)
        ]

    def evaluated(self) -> list[str]:
        """Scenarios with a table of delays."""
        scenarios = self.config.scenarios.items()
        return [name for name, s in scenarios if self.config.methods_of(name) and s.deltas]

    def with_events(self) -> list[str]:
        """Scenarios measured on recorded events."""
        scenarios = self.config.scenarios.items()
        return [name for name, s in scenarios if self.config.methods_of(name) and s.events]

    def drawn(self) -> dict[str, str]:
        """By source, the scenario whose shifts are drawn: the first that injects any."""
        found: dict[str, str] = {}
        for name, scenario in self.config.scenarios.items():
            if scenario.deltas:
                found.setdefault(scenario.source, name)
        return found

    def source_of(self, scenario: str) -> str:
        return self.config.scenarios[scenario].source

    def kind_of(self, source: str) -> str:
        return self.config.sources[source].kind

    def sources_of(self, *kinds: str) -> list[str]:
        """Sources of some kinds."""
        return [name for name in self.config.sources if self.kind_of(name) in kinds]

    def simulate_job(self, source: str) -> SimulateJob:
        wanted = self.config.sources[source]
        if not isinstance(wanted, SimulationSource):
            raise TypeError(f"{source} is not simulated")
        return SimulateJob(seed=self.config.seed, source=source, simulation=wanted)

    def fetch_job(self, source: str) -> FetchJob:
        wanted = self.config.sources[source]
        if isinstance(wanted, SimulationSource | OwnSource):
            raise TypeError(f"{source} is not fetched")
        return FetchJob(source=source, wanted=wanted)

    def prepare_job(self, source: str) -> PrepareJob:
        wanted = self.config.sources[source]
        if isinstance(wanted, SimulationSource):
            raise TypeError(f"{source} is not recorded")
        return PrepareJob(seed=self.config.seed, source=source, wanted=wanted)

    def inject_job(self, scenario: str) -> InjectJob:
        wanted = self.config.scenarios[scenario]
        evaluation = self.config.evaluation
        return InjectJob(
            seed=self.config.seed,
            scenario=scenario,
            m=wanted.m,
            k=wanted.k,
            protocols=self.config.protocols,
            places=wanted.places,
            cases=wanted.cases,
            propagate=wanted.propagate,
            replications=evaluation.replications,
            in_control_steps=evaluation.in_control_steps,
            horizon=wanted.horizon,
        )

    def graph_of(self, scenario: str) -> str:
        """Id of the graph that a scenario's networks are given."""
        wanted = self.config.scenarios[scenario]
        quality = "" if wanted.graph == "estimated" else f".{wanted.graph}"
        return f"{wanted.source}{quality}"

    def graphs(self) -> list[str]:
        """Ids of all graphs: the estimated one of each source, and what scenarios ask for."""
        return list(
            dict.fromkeys([*self.config.sources, *map(self.graph_of, self.config.scenarios)])
        )

    def discover_job(self, graph: str) -> DiscoverJob:
        source, _, quality = graph.partition(".")
        return DiscoverJob.model_validate(
            {
                "seed": self.config.seed,
                "source": source,
                "discovery": self.config.discovery,
                "quality": quality or "estimated",
            }
        )

    def trainings(self) -> dict[tuple[Protocol, ...], list[Run]]:
        """What is trained in one job: a run's networks, by the protocols that it is needed for."""
        needed: dict[Run, list[Protocol]] = {}
        for network in self.networks.values():
            needed.setdefault(network.run, []).append(network.protocol)
        found: dict[tuple[Protocol, ...], list[Run]] = {}
        for run, protocols in needed.items():
            found.setdefault(tuple(protocols), []).append(run)
        return found

    def weighs_graphs(self, method: str) -> bool:
        """Whether a method is given several graphs."""
        kind = index_methods().get(method)
        return kind is not None and kind.graph == "estimated"

    def with_possible_graphs(self) -> list[str]:
        """Sources on which some method weighs graphs."""
        runs = [run for run in self.runs.values() if self.weighs_graphs(run.method)]
        return list(dict.fromkeys(self.source_of(run.scenario) for run in runs))

    def possible_graphs_job(self, source: str) -> PossibleGraphsJob:
        return PossibleGraphsJob(
            seed=self.config.seed,
            source=source,
            discovery=self.config.discovery,
            uncertainty=self.config.uncertainty,
        )

    def train_job(self, names: list[str]) -> TrainJob:
        return TrainJob(networks=[self.training(name) for name in names])

    def training(self, name: str) -> TrainingSettings:
        network = self.networks[name]
        wanted = self.config.scenarios[network.run.scenario]
        return TrainingSettings(
            seed=self.config.seed,
            network=name,
            m=wanted.m,
            method=self.config.learned[network.run.method],
            agent=self.config.agent,
            hyperparameters=self.config.hyperparameters[wanted.hyperparameters],
            statistic=self.config.statistic_of(network.run.scenario),
            plan=ShiftPlan(
                protocol=network.protocol,
                places=wanted.places,
                seed=self.config.seed,
                k=wanted.k,
                cases=wanted.cases,
                delta=wanted.delta_train,
                sigmas=wanted.sigmas,
                propagate=wanted.propagate,
                latest_change=self.config.agent.latest_change,
            ),
        )

    def limits_of(self, run: Run) -> str:
        """Id of the limits a run uses. Runs that cannot differ in them share them."""
        wanted = self.config.scenarios[run.scenario]
        method = index_methods().get(run.method)
        if method is None or method.limit_depends_on_shift:
            return run.id
        k = f".k{wanted.k}" if method.is_bound else ""
        decay = "" if wanted.decay is None else f".decay{wanted.decay:g}"
        return f"{wanted.source}.m{wanted.m}{k}{decay}.{self.shared_network(run) or run.method}"

    def calibrate_job(self, name: str) -> CalibrateJob:
        run = self.limits[name]
        config = self.config
        wanted = config.scenarios[run.scenario]
        method = index_methods().get(run.method)
        is_bound = method is not None and method.is_bound
        by_cell = method is not None and method.limit_depends_on_shift
        return CalibrateJob(
            seed=config.seed,
            unit=name,
            source=wanted.source,
            method=run.method,
            m=wanted.m,
            protocols=config.protocols,
            statistic=config.statistic_of(run.scenario),
            options=config.options_of(run.method),
            calibration=config.calibration,
            confidence=config.evaluation.confidence,
            bootstrap=config.evaluation.bootstrap,
            k=wanted.k if is_bound else None,
            cells=_cells(wanted) if by_cell else None,
            propagate=wanted.propagate if by_cell else False,
            places=wanted.places if is_bound else "first",
            grid=config.calibration.arl0_grid if self._is_shown(name) else [],
        )

    def _is_shown(self, limits: str) -> bool:
        return any(self.limits_of(run) == limits for run in self.showcase_runs())

    def theory_job(self) -> TheoryJob:
        if self.config.theory is None:
            raise TypeError("the config asks for no theory")
        return TheoryJob(seed=self.config.seed, theory=self.config.theory)

    def with_causes(self) -> list[str]:
        """Scenarios on recorded faults whose origin is documented."""
        return [name for name in self.with_events() if self.kind_of(self.source_of(name)) == "tep"]

    def accusers(self, scenario: str) -> list[Run]:
        """Runs that name causes: no bounds, and one network of each learned method."""
        return [
            run
            for run in self.runs.values()
            if run.scenario == scenario and run.seed in (None, 0) and not is_bound(run.method)
        ]

    def name_causes_job(self, scenario: str) -> NameCausesJob:
        config, runs = self.config, self.accusers(scenario)
        return NameCausesJob(
            seed=config.seed,
            scenario=scenario,
            method=runs[0].method,
            options={},
            m=config.scenarios[scenario].m,
            protocols=["fair"],
            statistic=config.statistic_of(scenario),
            runs=self._listed(runs),
            limits={run.id.removeprefix(f"{scenario}."): self.limits_of(run) for run in runs},
            leads=[
                config.evaluation.cause_lead + run * config.evaluation.cause_spacing
                for run in range(config.evaluation.event_runs)
            ],
            later=config.evaluation.cause_later,
        )

    def studies(self) -> dict[str, tuple[str, int]]:
        """Graphs of the study on propagation, by id: the problem and the graph's number."""
        wanted = self.config.propagation
        if wanted is None:
            return {}
        return {
            f"{problem}.g{graph}": (problem, graph)
            for problem in wanted.problems
            for graph in range(wanted.graphs)
        }

    def study_networks(self, name: str) -> dict[str, str]:
        """By method, its network for all problems; graphs take those of the seeds in turn."""
        wanted = self.config.propagation
        named = [*wanted.told_truth, *wanted.told_rows] if wanted else []
        _, graph = self.studies()[name]
        seed = graph % self.config.training_seeds
        return {method: f"{method}.s{seed}" for method in named if has_shared_network(method)}

    def _study_training(self, name: str, method: str) -> TrainingSettings | None:
        """Of the paper's agents: on shifts that begin anywhere, as few as the study has."""
        config, wanted = self.config, self.config.propagation
        if wanted is None or method not in config.learned:
            return None
        size = wanted.problems[self.studies()[name][0]]
        return TrainingSettings(
            seed=config.seed,
            network=f"propagation.{name}.{method}",
            m=size.m,
            method=config.learned[method],
            agent=config.agent,
            hyperparameters=config.hyperparameters[size.hyperparameters],
            statistic=config.statistic,
            plan=ShiftPlan(
                protocol="fair",
                places="first",
                seed=config.seed,
                k=min(wanted.roots),
                cases=["case_a"],
                delta=min(wanted.deltas),
                sigmas=[0.0],
                propagate=True,
                latest_change=config.agent.latest_change,
            ),
        )

    def study_job(self, name: str) -> StudyJob:
        config, wanted = self.config, self.config.propagation
        if wanted is None:
            raise TypeError("the config asks for no study of propagation")
        problem, graph = self.studies()[name]
        size = wanted.problems[problem]
        told = [(method, "truth") for method in wanted.told_truth]
        told += [(method, "rows") for method in wanted.told_rows]
        if graph >= wanted.agent_graphs:
            told = [(method, what) for method, what in told if method not in config.learned]
        return StudyJob(
            seed=config.seed,
            problem=problem,
            size=size,
            graph=graph,
            weights=(wanted.weight_low, wanted.weight_high),
            rows=wanted.rows,
            roots=wanted.roots,
            deltas=wanted.deltas,
            contestants=[
                Contestant.model_validate(
                    {
                        "method": method,
                        "options": config.options_of(method),
                        "told": what,
                        "training": self._study_training(name, method),
                    }
                )
                for method, what in told
            ],
            paths=wanted.paths,
            calibration_steps=int(wanted.horizon_factor * config.calibration.arl0),
            arl0=config.calibration.arl0,
            replications=wanted.replications,
            in_control_steps=config.evaluation.in_control_steps,
            horizon=wanted.horizon,
            later=wanted.later,
            statistic=config.statistic,
            discovery=config.discovery,
            uncertainty=config.uncertainty,
        )

    def crossed(self) -> dict[str, Run]:
        """Runs whose policy is tried with every statistic, by what they are called."""
        wanted = self.config.cross
        if wanted is None:
            return {}
        prefix = f"{wanted.scenario}."
        return {
            name.removeprefix(prefix): run
            for name, run in self.runs.items()
            if run.scenario == wanted.scenario
            and run.method in wanted.policies
            and run.seed in (None, 0)
        }

    def cross_job(self, name: str) -> CrossJob:
        config, run, wanted = self.config, self.crossed()[name], self.config.cross
        if wanted is None:
            raise TypeError("the config asks for no crossing")
        scenario = config.scenarios[run.scenario]
        return CrossJob(
            seed=config.seed,
            scenario=run.scenario,
            source=scenario.source,
            policy=name,
            method=run.method,
            options=config.options_of(run.method),
            m=scenario.m,
            protocols=["fair"],
            statistic=config.statistic_of(run.scenario),
            watchers=[
                ShowcaseRun(method=method, options=config.options_of(method), seed=None)
                for method in wanted.statistics
            ],
            deltas=[delta for delta in scenario.deltas if delta > 0],
            calibration=config.calibration,
        )

    def compared(self) -> list[str]:
        """Runs that are compared with the field over all shifts, if their scenario has several."""
        scenarios = {
            name
            for name, scenario in self.config.scenarios.items()
            if len(set(scenario.deltas) - {0.0}) > 1
            and not scenario.restart
            and "fair" in self.config.protocols
            and set(FIELD) & set(self.config.methods_of(name))
        }
        return [name for name, run in self.runs.items() if run.scenario in scenarios]

    def policies(self) -> list[str]:
        """Runs whose method is put to work on the user's own plant."""
        if "fair" not in self.config.protocols:
            return []
        own = self.sources_of("own")
        return [
            name
            for name, run in self.runs.items()
            if self.source_of(run.scenario) in own and not is_bound(run.method)
        ]

    def policy_job(self, name: str) -> PolicyJob:
        run = self.runs[name]
        wanted = self.config.scenarios[run.scenario]
        return PolicyJob(
            seed=self.config.seed,
            source=wanted.source,
            method=run.method,
            m=wanted.m,
            protocols=["fair"],
            statistic=self.config.statistic_of(run.scenario),
            options=self.config.options_of(run.method),
        )

    def _listed(self, runs: list[Run]) -> list[ShowcaseRun]:
        """Runs for a job that goes through several."""
        return [
            ShowcaseRun(
                method=run.method, options=self.config.options_of(run.method), seed=run.seed
            )
            for run in runs
        ]

    def showcase_runs(self) -> list[Run]:
        return [run for run in self.runs.values() if run.scenario == self.config.report.showcase]

    def showcase_job(self) -> ShowcaseJob:
        config = self.config
        name = config.report.showcase
        if name is None:
            raise TypeError("the config asks for no showcase")
        wanted, runs = config.scenarios[name], self.showcase_runs()
        deltas = [delta for delta in wanted.deltas if delta > 0]
        return ShowcaseJob(
            seed=config.seed,
            scenario=name,
            method=runs[0].method,
            m=wanted.m,
            protocols=config.protocols,
            statistic=config.statistic_of(name),
            options=config.options_of(runs[0].method),
            runs=self._listed(runs),
            limits={run.id: self.limits_of(run) for run in runs},
            arl0=config.calibration.arl0,
            arl0_grid=config.calibration.arl0_grid,
            delta=1.0 if 1.0 in deltas else deltas[0],
            deltas=deltas,
            confidence=config.evaluation.confidence,
            bootstrap=config.evaluation.bootstrap,
        )

    def evaluate_job(self, name: str) -> EvaluateJob:
        run = self.runs[name]
        wanted = self.config.scenarios[run.scenario]
        return EvaluateJob(
            seed=self.config.seed,
            scenario=run.scenario,
            method=run.method,
            m=wanted.m,
            protocols=self.config.protocols,
            statistic=self.config.statistic_of(run.scenario),
            options=self.config.options_of(run.method),
            cells=_cells(wanted),
            events=wanted.events,
            restart=wanted.restart,
            replications=self.config.evaluation.event_runs,
        )


def _cells(scenario: ScenarioSettings) -> list[Cell]:
    return [
        Cell(case=case, sigma=sigma, delta=delta)
        for case in scenario.cases
        for sigma in scenario.sigmas
        for delta in scenario.deltas
    ]
