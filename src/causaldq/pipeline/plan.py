"""From settings to work: which units of work a config asks for, and which of them need which.

Snakemake asks here; nothing here knows of Snakemake. What a job is given, made from and makes is
in its own file, in `jobs`.
"""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from causaldq.methods.registry import BASELINES, has_shared_network, index_methods, is_bound
from causaldq.pipeline import places
from causaldq.pipeline.arguments import Files
from causaldq.pipeline.config import Config
from causaldq.pipeline.method_files import GRAPHS, NETWORK, MethodRun
from causaldq.pipeline.sources.catalogue import Catalogue, Credits, DataSet
from causaldq.pipeline.sources.registry import is_fetched, is_recorded
from causaldq.setting import Protocol, Settings
from causaldq.worlds.shifts import Cell
from causaldq.worlds.simulation import SimulationSource

if TYPE_CHECKING:
    from causaldq.pipeline.sources.base import FetchedSource, RecordedSource

__all__ = ["Files", "Network", "Plan", "Run"]
S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class Run:
    """A method to be calibrated and evaluated on a scenario, under all protocols."""

    scenario: str
    method: str
    seed: int | None
    """Training seed of a learned method."""

    @property
    def name(self) -> str:
        """Within its scenario."""
        return self.method if self.seed is None else f"{self.method}.s{self.seed}"

    @property
    def id(self) -> str:
        return f"{self.scenario}.{self.name}"


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

    def __init__(self, config: Config, catalogue: Catalogue | None = None) -> None:
        self.config = config
        self.data_sets: dict[str, DataSet] = {}
        """Those that some source may be made from."""
        if catalogue is not None:
            names = sorted({name for source in self.fetched().values() for name in source.datasets})
            self.data_sets = {name: catalogue[name] for name in names}
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

    @property
    def has_latex(self) -> bool:
        """Whether the PDF can be made here."""
        return shutil.which("latexmk") is not None

    def place(self, template: str, **names: str) -> str:
        """The path of a file."""
        return template.format(profile=self.config.profile, **names)

    def place_all(self, template: str, **names: Iterable[str]) -> list[str]:
        """The paths of several files, one for each name."""
        ((key, values),) = names.items()
        return [self.place(template, **{key: value}) for value in values]

    def streams_of(self, scenario: str) -> str:
        return self.place(places.STREAMS, source=self.source_of(scenario))

    def injected(self, scenario: str) -> str:
        return self.place(places.INJECTED, scenario=scenario)

    def events_of(self, scenario: str) -> list[str]:
        """Recorded events that a scenario is measured on."""
        source = self.source_of(scenario)
        is_asked = self.config.scenarios[scenario].events
        return [self.place(places.EVENTS, source=source)] if is_asked else []

    def cells(self, scenario: str) -> list[Cell]:
        """The shifts that a scenario injects."""
        wanted = self.config.scenarios[scenario]
        return [
            Cell(case=case, sigma=sigma, delta=delta)
            for case in wanted.cases
            for sigma in wanted.sigmas
            for delta in wanted.deltas
        ]

    def limits_file(self, run: Run) -> str:
        return self.place(places.LIMITS, limits=self.limits_of(run))

    def given_to(self, run: Run) -> dict[str, str]:
        """Files a run's method needs besides the streams: networks by protocol, graphs."""
        found = {}
        if self.weighs_graphs(run.method):
            found[GRAPHS] = self.place(places.POSSIBLE_GRAPHS, source=self.source_of(run.scenario))
        if shared := self.shared_network(run):
            found[NETWORK] = self.place(places.CHECKPOINT, network=shared)
        return found | {
            protocol: self.place(places.CHECKPOINT, network=network.id)
            for protocol, network in self.networks_of(run).items()
        }

    def given_to_all(self, runs: Iterable[Run], protocols: Iterable[Protocol]) -> dict[str, str]:
        """The same for a job that goes through several runs, under some of the protocols."""
        left_out = set(self.config.protocols) - set(protocols)
        return {
            f"{run.name}:{name}": path
            for run in runs
            for name, path in self.given_to(run).items()
            if name not in left_out
        }

    def credits(self) -> dict[str, Credits]:
        """What results say of the data sets that they were made from, by name."""
        return {name: data_set.part(Credits) for name, data_set in self.data_sets.items()}

    def share(self, model: type[S], *parts: Settings, **own: Any) -> S:
        """A job's share of the settings.

        Fields that are not its own are those of the same name in the parts of the config, or
        in the config as a whole: the first that has it.
        """
        for part in (*parts, self.config):
            names = model.model_fields.keys() & type(part).model_fields.keys()
            own = {name: getattr(part, name) for name in names} | own
        return model(**own)

    def monitoring(self, run: Run) -> dict[str, Any]:
        """What every job is told that runs a method: see MonitorSettings."""
        return {
            "seed": self.config.seed,
            "method": run.method,
            "m": self.config.scenarios[run.scenario].m,
            "protocols": self.config.protocols,
            "statistic": self.config.statistic_of(run.scenario),
            "options": self.config.options_of(run.method),
        }

    def listed(self, runs: Iterable[Run]) -> list[MethodRun]:
        """Runs for a job that goes through several."""
        return [
            MethodRun(
                method=run.method,
                options=self.config.options_of(run.method),
                seed=run.seed,
                limits=self.limits_of(run),
            )
            for run in runs
        ]

    def _runs(self, scenario: str, method: str) -> list[Run]:
        if has_shared_network(method):
            seeds = self.config.training_seeds
        elif method in index_methods():
            return [Run(scenario, method, None)]
        else:
            seeds = self.config.training_seeds_of(scenario)
        return [Run(scenario, method, seed) for seed in range(seeds)]

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

    def studied(self, scenario: str) -> list[Network]:
        """Networks whose training is compared."""
        study = self.config.scenarios[scenario].training_study
        if study is None:
            return []
        return [
            Network(Run(scenario, method, seed), protocol)
            for protocol in study.protocols
            for method in study.methods
            for seed in range(self.config.training_seeds_of(scenario))
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

    def recorded(self) -> dict[str, "RecordedSource"]:
        """Sources that are no simulations."""
        return {name: s for name, s in self.config.sources.items() if is_recorded(s)}

    def fetched(self) -> dict[str, "FetchedSource"]:
        """Of them, those whose files are fetched."""
        return {name: s for name, s in self.config.sources.items() if is_fetched(s)}

    def simulated(self) -> dict[str, SimulationSource]:
        return {n: s for n, s in self.config.sources.items() if isinstance(s, SimulationSource)}

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

    def limits_of(self, run: Run) -> str:
        """Id of the limits a run uses. Runs that cannot differ in them share them."""
        wanted = self.config.scenarios[run.scenario]
        method = index_methods().get(run.method)
        if method is None or method.limit_depends_on_shift:
            return run.id
        k = f".k{wanted.k}" if method.is_bound else ""
        decay = "" if wanted.decay is None else f".decay{wanted.decay:g}"
        return f"{wanted.source}.m{wanted.m}{k}{decay}.{self.shared_network(run) or run.method}"

    def with_causes(self) -> list[str]:
        """Scenarios on recorded faults whose origin is documented."""
        known = {name for name, source in self.recorded().items() if source.origins}
        return [name for name in self.with_events() if self.source_of(name) in known]

    def identifying_runs(self, scenario: str) -> list[Run]:
        """Runs that name causes: no bounds, and one network of each learned method."""
        return [
            run
            for run in self.runs.values()
            if run.scenario == scenario and run.seed in (None, 0) and not is_bound(run.method)
        ]

    def with_fault_table(self) -> list[str]:
        """Scenarios whose recorded faults are compared at a measured rate of false alarms."""
        wanted = self.config.faults
        if wanted is None or "fair" not in self.config.protocols:
            return []
        return [name for name in self.with_events() if name in wanted.scenarios]

    def watching_runs(self, scenario: str) -> list[Run]:
        """Runs that the table of faults compares, with methods that only it has."""
        named = self.identifying_runs(scenario)
        also = self.config.faults.also if self.config.faults else []
        known = {run.method for run in named}
        return [*named, *(Run(scenario, method, None) for method in also if method not in known)]

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

    def compared(self) -> list[str]:
        """Runs compared with the baselines over all shifts, if their scenario has several."""
        scenarios = {
            name
            for name, scenario in self.config.scenarios.items()
            if len(set(scenario.deltas) - {0.0}) > 1
            and not scenario.restart
            and "fair" in self.config.protocols
            and set(BASELINES) & set(self.config.methods_of(name))
        }
        return [name for name, run in self.runs.items() if run.scenario in scenarios]

    def policies(self) -> list[str]:
        """Runs whose method is put to work on the user's own plant."""
        if "fair" not in self.config.protocols:
            return []
        own = self.recorded().keys() - self.fetched().keys()
        return [
            name
            for name, run in self.runs.items()
            if self.source_of(run.scenario) in own and not is_bound(run.method)
        ]

    def showcase_runs(self) -> list[Run]:
        return [run for run in self.runs.values() if run.scenario == self.config.report.showcase]
