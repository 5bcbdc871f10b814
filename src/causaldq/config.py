"""The settings: their one definition. Values live in config/*.yaml, never here.

Jobs receive their share of the settings as one of these models, so that what a job used
is what it was given.
"""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from causaldq.setting import (
    Case,
    Count,
    Distinct,
    DistinctOrNone,
    GraphQualities,
    Name,
    NotNegative,
    Places,
    Positive,
    Protocol,
    Settings,
    Share,
)
from causaldq.sources.settings import OwnSettings
from causaldq.theory.settings import TheorySettings


class StatisticSettings(Settings):
    """The local statistic of the paper's section 4.2."""

    decay: Annotated[Share, Field(description="lambda, the share of memory lost at each step")]
    form: Annotated[
        Literal["normalised", "raw"],
        Field(description="normalised: chi-square null law; raw: as printed, chi2/(2-lambda)"),
    ]
    ridge: Annotated[Positive, Field(description="added to the precision so that solves are safe")]


class DiscoverySettings(Settings):
    """How the causal graph is found on in-control rows."""

    algorithm: Annotated[
        Literal["pc", "fci", "ges", "direct_lingam", "ground_truth", "file"],
        Field(description="causal-learn's algorithm, the simulation's own graph, or a given one"),
    ]
    file: Annotated[str | None, Field(description="CSV of edges, for `algorithm: file`")] = None
    level: Annotated[Share, Field(description="significance level of the independence tests")]
    max_directions: Annotated[
        Count,
        Field(description="admissible directions of undirected edges averaged in the effects"),
    ]
    low_tpr: Annotated[Share, Field(description="true edges that a graph of low quality keeps")]
    low_fdr: Annotated[Share, Field(description="false ones among the edges of such a graph")]

    @model_validator(mode="after")
    def _file_given(self) -> Self:
        if (self.algorithm == "file") != (self.file is not None):
            raise ValueError("file goes with algorithm: file, and only with it")
        return self


class SimulationSource(Settings):
    """Streams of a linear structural equation model on a random acyclic graph."""

    kind: Literal["simulation"]
    p: Annotated[int, Field(ge=2, description="streams")]
    expected_degree: Annotated[Positive, Field(description="edges of a stream, in and out")]
    weight_low: Positive
    weight_high: Positive
    rows: Annotated[int, Field(ge=10, description="in-control rows for causal discovery")]

    @model_validator(mode="after")
    def _weights_in_order(self) -> Self:
        if self.weight_low > self.weight_high:
            raise ValueError(f"weight_low {self.weight_low} exceeds weight_high {self.weight_high}")
        return self


class FetchedSource(Settings):
    """A data set of data/sources.yaml, or the first of several that can be had."""

    fetch: Annotated[
        Distinct[Literal["mirror", "package", "official"]],
        Field(description="where files may come from, in this order"),
    ]
    mirror: Annotated[
        str | None, Field(description="mirror folder; null: the variable CAUSALDQ_MIRROR")
    ]


class TepSource(FetchedSource):
    """The Tennessee Eastman Process: recorded rows in control, and under real faults."""

    kind: Literal["tep"]
    datasets: Annotated[
        Distinct[Literal["tep_rieth", "tep_rieth_run1", "tep_classic"]],
        Field(description="the first of these that can be had; all but the last from a mirror"),
    ]
    streams: Annotated[Distinct[str] | None, Field(description="variables; null: the paper's 50")]
    runs: Annotated[Count, Field(description="of a data set with many runs, how many are read")]
    faults: Annotated[list[Count], Field(description="faults whose rows are read")]
    held_out: Annotated[
        Share, Field(description="share of in-control rows kept for tests if there are no others")
    ]

    @property
    def p(self) -> int:
        from causaldq.sources.tep import PAPER_STREAMS

        return len(self.streams or PAPER_STREAMS)


WindowId = Annotated[str, BeforeValidator(str)]
"""Many are numbers, and arrive as such."""


class FlareWindows(Settings):
    """Which windows are used, by their ids."""

    train_quiet: WindowId
    train_flare: WindowId
    test_quiet: Annotated[
        list[WindowId], Field(min_length=1, description="`paper` uses the first, `fair` all")
    ]
    test_flare: Annotated[
        list[WindowId], Field(min_length=1, description="`paper` uses the first, `fair` all")
    ]
    reference: Annotated[
        list[WindowId], Field(description="more quiet windows, for the scale and the limits")
    ]


class FlareSource(FetchedSource):
    """Solar flares: quiet windows, into which rows of flare windows are inserted."""

    kind: Literal["flares"]
    datasets: Annotated[
        Distinct[Literal["flares_bigdata", "flares_swan", "flares_surrogate"]],
        Field(description="the first of these that can be had"),
    ]
    path: Annotated[
        str | None, Field(description="the user's own BigData file or folder of SWAN-SF windows")
    ]
    windows: Annotated[
        dict[Name, FlareWindows], Field(description="for each data set the windows to use")
    ]

    @property
    def p(self) -> None:
        """Not known before the windows are read."""
        return None

    @model_validator(mode="after")
    def _windows_given(self) -> Self:
        for name in self.datasets:
            if name not in self.windows:
                raise ValueError(f"windows of {name} are missing")
        return self


class OwnSource(OwnSettings):
    """The user's own CSV or Parquet file."""

    kind: Literal["own"]
    file: Annotated[str, Field(description="path of the file, from where snakemake is called")]
    held_out: Annotated[Share, Field(description="share of in-control rows kept for tests")]

    @property
    def p(self) -> None:
        """Not known before the file is read."""
        return None


Source = Annotated[
    SimulationSource | TepSource | FlareSource | OwnSource, Field(discriminator="kind")
]


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
    propagate: Annotated[bool, Field(description="let shifts flow to descendants")]
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
    training_study: Annotated[
        TrainingStudy | None, Field(description="networks trained to compare training itself")
    ] = None


class Hyperparameters(Settings):
    """One row of the paper's last table."""

    entropy_weight: Annotated[NotNegative, Field(description="alpha")]
    learning_rate: Positive
    discount: Annotated[Share, Field(description="gamma")]
    batch: Count
    temperature_decay: Annotated[Share, Field(description="tau, factor a training epoch")]


class RewardSettings(Settings):
    """The paper's reward: section 4.3."""

    hit: Annotated[NotNegative, Field(description="y, for each shifted stream selected")]
    hit_state: Annotated[NotNegative, Field(description="w, on the state's indicator")]
    miss: Annotated[float, Field(le=0, description="U, when no selected stream is shifted")]
    before: Annotated[float, Field(description="r1, before the change")]
    after: Annotated[float, Field(description="r2, after the shift's rewarded duration")]
    duration: Annotated[Count, Field(description="e, rewarded steps after the change")]
    credit: Annotated[
        Literal["per_stream", "team"],
        Field(description="regress each stream on its own share, or the set on the sum"),
    ]


class LearnedMethod(Settings):
    """Which causal parts an agent has, and how it explores."""

    causal_state: Annotated[bool, Field(description="phi in the state")]
    causal_reward: Annotated[
        bool, Field(description="every hit counts; else any hit counts the same")
    ]
    causal_entropy: Annotated[bool, Field(description="H_c in target and loss")]
    exploration: Literal["boltzmann", "epsilon_greedy"]
    hit: Annotated[NotNegative | None, Field(description="overrides reward.hit")] = None
    miss: Annotated[float | None, Field(le=0, description="overrides reward.miss")] = None


class AgentSettings(Settings):
    """The double Q-network and its training, the same for all learned methods."""

    hidden: Annotated[list[Count], Field(min_length=1)]
    optimiser: Literal["sgd", "adam"]
    replay: Annotated[Count, Field(description="transitions kept")]
    warmup: Annotated[Count, Field(description="transitions before the first update")]
    target_every: Annotated[Count, Field(description="updates between target copies")]
    temperature_start: Positive
    temperature_floor: Positive
    epsilon_start: Share
    epsilon_floor: Share
    unobserved_cap: Annotated[Count, Field(description="largest Y in the state")]
    episodes: Annotated[Count, Field(description="episodes run side by side")]
    episode_steps: Count
    latest_change: Annotated[
        int, Field(ge=0, description="change time is uniform between 0 and this")
    ]
    epochs: Annotated[Count, Field(description="rounds of side-by-side episodes")]
    updates_per_step: Count
    frozen_check_every: Annotated[Count, Field(description="epochs between frozen-policy checks")]
    save_every: Annotated[Count, Field(description="epochs between resume points")]
    reward: RewardSettings

    @model_validator(mode="after")
    def _change_within_episode(self) -> Self:
        if self.latest_change >= self.episode_steps:
            raise ValueError(
                f"latest_change {self.latest_change} must be below"
                f" episode_steps {self.episode_steps}"
            )
        return self


class CalibrationSettings(Settings):
    """How the alarm limit is set."""

    arl0: Annotated[Positive, Field(description="wanted steps to a false alarm")]
    nominal_level: Annotated[Share, Field(description="of the chi-square limit, `paper` protocol")]
    paths: Annotated[int, Field(ge=10, description="in-control paths to set the limit")]
    fresh_paths: Annotated[int, Field(ge=10, description="in-control paths to check it")]
    horizon_factor: Annotated[
        float, Field(gt=1, description="length of those paths, in units of arl0")
    ]
    arl0_grid: Annotated[
        Distinct[Positive], Field(description="more run lengths, for delay against false alarms")
    ]


class EvaluationSettings(Settings):
    """How delays are measured."""

    replications: Annotated[int, Field(ge=2)]
    in_control_steps: Annotated[int, Field(ge=0, description="steps before the change")]
    event_runs: Annotated[
        Count, Field(description="runs through a recorded event, begun at different rows before it")
    ]
    bootstrap: Annotated[int, Field(ge=100, description="resamples behind an interval")]
    confidence: Share


class TssrpSettings(Settings):
    """Thompson sampling on Shiryaev-Roberts-Pollak statistics."""

    shift: Annotated[Positive, Field(description="mu1, shift looked for, in deviations")]
    summed_streams: Annotated[
        Count | None, Field(description="r, streams summed in the alarm; null: one a sensor")
    ]


class AsmpSettings(Settings):
    """Adaptive sampling for multi-profile monitoring."""

    shift: Annotated[Positive, Field(description="u, shift looked for, in deviations")]
    limit_level: Annotated[
        Share, Field(description="quantile of in-control statistics that is its published limit")
    ]


class CmabSettings(Settings):
    """Combinatorial multi-armed bandit."""

    decay: Annotated[Share, Field(description="lambda, the share of memory lost at each step")]


class TrasSettings(Settings):
    """Top-r adaptive sampling on local CUSUMs."""

    shift: Annotated[Positive, Field(description="u, shift looked for, in deviations")]
    compensation: Annotated[
        NotNegative, Field(description="Delta, credit a step a stream goes unobserved")
    ]
    summed_streams: Annotated[
        Count | None, Field(description="r, streams summed in the alarm; null: one a sensor")
    ]


class BaselineSettings(Settings):
    """Parameters of the index policies; set once, never by cell."""

    exploration_bonus: Annotated[
        NotNegative, Field(description="greedy: credit a step a stream goes unobserved")
    ]
    tssrp: TssrpSettings
    asmp: AsmpSettings
    cmab: CmabSettings
    tras: TrasSettings


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
    hyperparameters: dict[Name, Hyperparameters]
    agent: AgentSettings
    learned: dict[Name, LearnedMethod]
    baselines: BaselineSettings
    calibration: CalibrationSettings
    evaluation: EvaluationSettings
    theory: Annotated[
        TheorySettings | None, Field(description="checks of the paper's theorems; null: none")
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
            if source.kind != "simulation" and scenario.graph in ("low", "ground_truth"):
                raise MisfitError(f"{place}.graph", scenario.graph, "estimated or no_edges")
            if source.kind != "simulation" and scenario.propagate:
                raise MisfitError(f"{place}.propagate", True, "false: the true graph is not known")
            known = source.kind == "tep" or (
                isinstance(source, OwnSource) and source.first_fault is not None
            )
            if scenario.events and not known:
                raise MisfitError(f"{place}.events", True, "false: the source has no such rows")
            if not (scenario.deltas or scenario.events):
                raise MisfitError(f"{place}.deltas", [], "at least one, or events: true")
            if source.kind == "flares" and scenario.deltas != [1.0]:
                raise MisfitError(f"{place}.deltas", scenario.deltas, "[1.0], flares as recorded")
            if scenario.setting is not None and len(scenario.cases) > 1:
                raise MisfitError(f"{place}.cases", scenario.cases, "one case to go with `setting`")
            for method in scenario.training_study.methods if scenario.training_study else []:
                if method not in self.learned:
                    raise MisfitError(
                        f"{place}.training_study.methods",
                        method,
                        f"one of {', '.join(self.learned)}",
                    )
            if scenario.hyperparameters not in self.hyperparameters:
                raise MisfitError(
                    f"{place}.hyperparameters",
                    scenario.hyperparameters,
                    f"one of {', '.join(self.hyperparameters)}",
                )
        return self

    def statistic_of(self, scenario: str) -> StatisticSettings:
        own = self.scenarios[scenario].decay
        return self.statistic if own is None else self.statistic.model_copy(update={"decay": own})

    def methods_of(self, scenario: str) -> list[str]:
        """Methods evaluated on a scenario, in table order."""
        own = self.scenarios[scenario].methods
        return self.methods if own is None else own


class MisfitError(ValueError):
    """A value at odds with another setting."""

    def __init__(self, key: str, value: object, allowed: str) -> None:
        super().__init__(f"{key}: {value!r} is not allowed here; give {allowed}")
