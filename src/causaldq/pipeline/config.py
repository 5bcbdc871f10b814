"""The settings: their one definition. Values live in config/*.yaml, never here.

Jobs receive their share of the settings as one of these models, so that what a job used
is what it was given.
"""

from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, create_model, model_validator

from causaldq.calibration import CalibrationSettings
from causaldq.discovery.settings import DiscoverySettings, UncertaintySettings
from causaldq.learn.equivariant.settings import EquivariantSettings
from causaldq.learn.settings import AgentSettings, Hyperparameters, LearnedMethod
from causaldq.methods.build import method_class
from causaldq.methods.registry import is_bound, own_settings
from causaldq.pipeline.propagation.settings import StudySettings
from causaldq.pipeline.sources.registry import Source, is_recorded
from causaldq.pipeline.theory.settings import TheorySettings
from causaldq.setting import (
    Case,
    Count,
    Distinct,
    DistinctOrNone,
    GraphQualities,
    Moved,
    Name,
    NotNegative,
    Places,
    Positive,
    Protocol,
    Settings,
    Share,
)
from causaldq.statistic import StatisticSettings


class TrainingStudy(Settings):
    """Learned methods whose training is compared, whether or not they are evaluated."""

    methods: Distinct[Name]
    protocols: Distinct[Protocol]


class ScenarioSettings(Settings):
    """One monitoring problem: streams, sensors, where and how far the means shift."""

    table: Annotated[str, Field(description="id of the published table it belongs to")]
    setting: Annotated[
        str | None, Field(description="its setting in the published table; null: the case")
    ]
    source: Name
    m: Annotated[Count, Field(description="sensors: streams that can be read at a time")]
    k: Annotated[Count, Field(description="streams whose mean shifts")]
    cases: Distinct[Case]
    sigmas: Annotated[
        Distinct[NotNegative], Field(description="noise on the shifted means, one cell each")
    ]
    places: Annotated[
        Places,
        Field(description="`paper` shifts the first k streams, or k drawn once; `fair` draws anew"),
    ]
    deltas: Annotated[
        DistinctOrNone[NotNegative],
        Field(description="shift sizes at test; empty: recorded events only"),
    ]
    restart: Annotated[
        bool,
        Field(description="monitor anew after an alarm before the change; else leave the run out"),
    ]
    events: Annotated[bool, Field(description="also measure on the source's recorded faults")]
    delta_train: Annotated[Positive, Field(description="shift size in training")]
    propagate: Annotated[bool, Field(description="let shifts propagate downstream")]
    moves: Annotated[
        Moved, Field(description="mean: by delta deviations; deviation: by the factor 1 + delta")
    ]
    ramp: Annotated[Count, Field(description="steps over which means shift; 1: at once")]
    together: Annotated[
        bool, Field(description="shift a stream and those that correlate with it most")
    ]
    horizon: Annotated[
        Count, Field(description="steps after the change, or flare rows; undetected runs cost it")
    ]
    hyperparameters: Annotated[Name, Field(description="row of `hyperparameters`")]
    methods: Annotated[
        list[Name] | None, Field(description="instead of the config's methods; may be empty")
    ] = None
    graph: Annotated[
        GraphQualities, Field(description="what learned methods are given: estimated, or worse")
    ]
    decay: Annotated[
        Share | None, Field(description="instead of statistic.decay, for this scenario alone")
    ]
    also: Annotated[
        list[str], Field(description="other published tables that its results belong to")
    ]
    training_seeds: Annotated[
        Count | None, Field(description="instead of the config's, for networks of its own")
    ] = None
    training_study: Annotated[
        TrainingStudy | None, Field(description="networks trained to compare training itself")
    ] = None

    def settings_in(self, table: str) -> list[str]:
        """What its rows are called in a published table: by its setting in its own only."""
        return [self.setting] if self.setting and table == self.table else list(self.cases)


class CrossSettings(Settings):
    """Every policy with every statistic, so that nobody takes one for the other."""

    scenario: Name
    policies: Annotated[Distinct[Name], Field(description="if the scenario has them")]
    statistics: Annotated[Distinct[Name], Field(description="methods that are not learned")]


class FaultSettings(Settings):
    """Recorded faults, compared at a measured rate of false alarms."""

    scenarios: Annotated[Distinct[Name], Field(description="if the profile has them")]
    also: Annotated[
        DistinctOrNone[Name], Field(description="methods beside those of the scenarios; untrained")
    ]
    run_lengths: Annotated[
        Distinct[Positive], Field(description="measured steps to a false alarm, to compare at")
    ]
    stretch: Annotated[Count, Field(description="rows in control that count as one for intervals")]
    leads: Annotated[
        Distinct[Count], Field(description="rows before a fault at which it begins to be watched")
    ]


class FlareScaleSettings(Settings):
    """Surrogate flares whose quiet windows differ more and more."""

    scenario: Annotated[Name, Field(description="whose sensors and windows; a source of flares")]
    between: Annotated[
        Distinct[NotNegative],
        Field(description="how much windows differ: 0 not at all, 1 as active regions do"),
    ]
    draws: Annotated[Count, Field(description="of all windows")]
    methods: Annotated[Distinct[Name], Field(description="methods that are not learned")]


class EvaluationSettings(Settings):
    """How delays are measured."""

    replications: Annotated[int, Field(ge=2)] = 100
    in_control_steps: Annotated[int, Field(ge=0, description="steps before the change")] = 50
    event_runs: Annotated[
        Count, Field(description="runs through a recorded event, begun at different rows before it")
    ] = 20
    cause_lead: Annotated[
        Count, Field(description="steps before a recorded fault at which who names causes begins")
    ] = 20
    cause_spacing: Annotated[Count, Field(description="more of them for each further run")] = 5
    cause_later: Annotated[
        Count, Field(description="steps after an alarm at which the cause is named again")
    ] = 20
    bootstrap: Annotated[int, Field(ge=100, description="resamples behind an interval")] = 2000
    confidence: Share = 0.95


if TYPE_CHECKING:

    class BaselineSettings(Settings):
        def __getattr__(self, name: str) -> Any: ...

else:
    BaselineSettings = create_model(
        "BaselineSettings",
        __base__=Settings,
        __doc__="Parameters of the index policies; set once, never by cell.",
        **{name: (options, ...) for name, options in own_settings().items()},
    )


class ReportSettings(Settings):
    """What the documents say of this profile."""

    title: str
    showcase: Annotated[
        Name | None,
        Field(description="scenario to look at more closely: sensors, trade-off"),
    ]
    note: Annotated[str, Field(description="put into every caption")]


class Config(Settings):
    """Everything a run depends on."""

    profile: Name
    seed: Annotated[int, Field(ge=0)]
    training_seeds: Annotated[int, Field(ge=1, description="networks trained for each cell")]
    protocols: Distinct[Protocol]
    methods: Annotated[Distinct[Name], Field(description="which methods run, in table order")]
    sources: Annotated[dict[Name, Source], Field(min_length=1)]
    scenarios: Annotated[dict[Name, ScenarioSettings], Field(min_length=1)]
    statistic: StatisticSettings
    discovery: DiscoverySettings
    uncertainty: UncertaintySettings
    hyperparameters: dict[Name, Hyperparameters]
    agent: AgentSettings
    learned: dict[Name, LearnedMethod]
    equivariant: Annotated[
        EquivariantSettings, Field(description="the one network for all problems")
    ]
    baselines: BaselineSettings
    calibration: CalibrationSettings
    evaluation: EvaluationSettings
    theory: Annotated[
        TheorySettings | None, Field(description="checks of the paper's theorems; null: none")
    ]
    propagation: Annotated[
        StudySettings | None,
        Field(description="study of shifts that propagate downstream; null: none"),
    ]
    cross: Annotated[
        CrossSettings | None, Field(description="policies crossed with statistics; null: none")
    ]
    faults: Annotated[
        FaultSettings | None, Field(description="table of recorded faults; null: none")
    ]
    flare_scale: Annotated[
        FlareScaleSettings | None, Field(description="table of flares by scale; null: none")
    ]
    report: ReportSettings

    @model_validator(mode="after")
    def _references_hold(self) -> Self:
        shown = self.report.showcase
        if shown is not None and (
            shown not in self.scenarios
            or not any(self.scenarios[shown].deltas)
            or self.calibration.arl0 not in self.calibration.arl0_grid
        ):
            allowed = "a scenario with shifts (and arl0 in calibration.arl0_grid), or null"
            raise MisfitError("report.showcase", shown, allowed)
        if self.cross is not None and self.cross.scenario not in self.scenarios:
            allowed = f"one of {', '.join(self.scenarios)}"
            raise MisfitError("cross.scenario", self.cross.scenario, allowed)
        flares = self.flare_scale
        if flares is not None and not (
            flares.scenario in self.scenarios
            and getattr(self.sources[self.scenarios[flares.scenario].source], "kind", "")
            == "flares"
        ):
            raise MisfitError("flare_scale.scenario", flares.scenario, "a scenario of flares")
        for name, scenario in self.scenarios.items():
            place = f"scenarios.{name}"
            if scenario.source not in self.sources:
                raise MisfitError(
                    f"{place}.source", scenario.source, f"one of {', '.join(self.sources)}"
                )
            source = self.sources[scenario.source]
            for key, value in (("m", scenario.m), ("k", scenario.k)):
                if source.p is not None and value > source.p:
                    allowed = f"at most p = {source.p} of {scenario.source}"
                    raise MisfitError(f"{place}.{key}", value, allowed)
            if is_recorded(source):
                if scenario.graph in ("low", "ground_truth"):
                    raise MisfitError(f"{place}.graph", scenario.graph, "estimated or no_edges")
                if scenario.propagate:
                    allowed = "false: the true graph is not known"
                    raise MisfitError(f"{place}.propagate", True, allowed)
                if source.is_inserted and scenario.deltas != [1.0]:
                    allowed = "[1.0], as recorded"
                    raise MisfitError(f"{place}.deltas", scenario.deltas, allowed)
            if scenario.events and not (is_recorded(source) and source.has_events):
                raise MisfitError(f"{place}.events", True, "false: the source has no such rows")
            if not (scenario.deltas or scenario.events):
                raise MisfitError(f"{place}.deltas", [], "at least one, or events: true")
            bounds = [method for method in self.methods_of(name) if is_bound(method)]
            if bounds and scenario.together:
                # Their limits are set for places drawn one by one.
                raise MisfitError(f"{place}.methods", bounds[0], "methods that are no bounds")
            if scenario.moves == "deviation" and (scenario.propagate or any(scenario.sigmas)):
                allowed = "mean where shifts propagate or are noisy"
                raise MisfitError(f"{place}.moves", scenario.moves, allowed)
            if scenario.setting is not None and len(scenario.cases) > 1:
                raise MisfitError(f"{place}.cases", scenario.cases, "one case to go with `setting`")
            for method in scenario.training_study.methods if scenario.training_study else []:
                if method not in self.learned:
                    raise MisfitError(
                        f"{place}.training_study.methods",
                        method,
                        f"one of {', '.join(self.learned)}",
                    )
        rows = {f"scenarios.{name}": s.hyperparameters for name, s in self.scenarios.items()}
        if self.propagation is not None:
            problems = self.propagation.problems.items()
            rows |= {f"propagation.problems.{name}": p.hyperparameters for name, p in problems}
        for place, row in rows.items():
            if row not in self.hyperparameters:
                allowed = f"one of {', '.join(self.hyperparameters)}"
                raise MisfitError(f"{place}.hyperparameters", row, allowed)
        return self

    def statistic_of(self, scenario: str) -> StatisticSettings:
        own = self.scenarios[scenario].decay
        return self.statistic if own is None else self.statistic.model_copy(update={"decay": own})

    def options_of(self, method: str) -> dict[str, Any]:
        """Settings of a method itself; none if it has none. Relatives share theirs."""
        kind = method_class(method)
        wanted = kind.options if kind else None
        sections = [getattr(self.baselines, name) for name in BaselineSettings.model_fields]
        return next((own.model_dump() for own in sections if type(own) is wanted), {})

    def training_seeds_of(self, scenario: str) -> int:
        """How many networks are trained on a scenario for each of its learned methods."""
        return self.scenarios[scenario].training_seeds or self.training_seeds

    def methods_of(self, scenario: str) -> list[str]:
        """Methods evaluated on a scenario, in table order."""
        own = self.scenarios[scenario].methods
        return self.methods if own is None else own


class MisfitError(ValueError):
    """A value at odds with another setting."""

    def __init__(self, key: str, value: object, allowed: str) -> None:
        super().__init__(f"{key}: {value!r} is not allowed here; give {allowed}")
