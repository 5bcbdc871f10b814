"""What is shown: every table and figure of a config, with its caption and how it is made.

The workflow asks for names and categories; the jobs make what is listed, from tidy results.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from causaldq.config import Config
from causaldq.plan import Plan
from causaldq.propagation.settings import StudySettings
from causaldq.report import claims, overall, paper_tables, propagation, tables, theory
from causaldq.report.tidy import TOGETHER, Tidy, table_name


@dataclass(frozen=True)
class Table:
    """A LaTeX table, with the rows behind it."""

    name: str
    rows: Callable[[Tidy], pd.DataFrame]
    latex: Callable[[Tidy], str]
    caption: Callable[[Tidy], str]
    source: str | None = None
    """The tidy result that its rows are, where they do not say themselves what they are from."""

    def twin(self, tidy: Tidy) -> pd.DataFrame:
        """Its rows; where they do not name their files, with the tidy result that they are from."""
        rows = self.rows(tidy)
        return rows if self.source is None else rows.assign(files=str(tidy.files[self.source]))


@dataclass(frozen=True)
class Figure:
    """A figure, for the document and the pages."""

    name: str
    category: str
    """Of the HTML report."""
    kind: str
    """Of the caption there."""
    draw: Callable[[Tidy], Any]
    caption: Callable[[Tidy], str]
    height: float = 0.85
    """Of a page, at most."""

    @property
    def of_delays(self) -> bool:
        """Whether it is drawn from the delays of all runs, and from nothing else."""
        return self.kind in ("delay", "events", "overall")


@dataclass(frozen=True)
class Catalogue:
    """All that a config's report shows, in its order."""

    tables: list[Table]
    figures: list[Figure]
    notebooks: list[str]


def catalogue(config: Config) -> Catalogue:
    plan = Plan(config)
    shown = Catalogue([], [], _notebooks(config, plan))
    if claims.concerns(config):
        shown.tables.extend(_claim_table(part) for part in claims.PARTS)
        shown.tables.append(
            Table(
                "comparison",
                lambda t: t.comparison,
                lambda t: claims.comparison_table(t.comparison),
                lambda _: claims.COMPARISON_CAPTION,
                source="comparison",
            )
        )
    for name in plan.evaluated():
        if config.scenarios[name].table not in TOGETHER:
            shown.tables.append(_delay_table(config, name))
            shown.figures.append(_delay_figure(name))
    for name in plan.with_events():
        shown.tables.append(_event_table(name))
        shown.figures.append(_event_figure(name))
    if plan.networks:
        shown.tables.append(
            Table(
                "training",
                lambda t: t.training,
                lambda t: tables.training_table(training_shown(t)),
                lambda _: tables.TRAINING_CAPTION,
            )
        )
    in_tables = {t for s in config.scenarios.values() for t in (s.table, *s.also)}
    if not any(run.seed is not None for run in plan.runs.values()):
        # Its columns are learned methods; networks may be trained without being evaluated.
        in_tables.discard("train_test")
    shown.tables.extend(table for table in _paper_tables() if table.name in in_tables)
    if plan.networks and in_tables & set(TABLES_OF_THE_PAPER):
        shown.tables.append(
            Table(
                "hyperparameters",
                lambda t: t.hyperparameters,
                lambda t: paper_tables.hyperparameter_table(t.config, t.hyperparameters),
                lambda _: paper_tables.HYPERPARAMETER_CAPTION,
                source="hyperparameters",
            )
        )
    shown.figures.extend(_training_figure(name) for name in _with_curves(config, plan))
    shown.figures.extend(_streams_figure(source, name) for source, name in plan.drawn().items())
    if plan.networks:
        shown.figures.extend(_graph_figure(source) for source in config.sources)
    if config.report.showcase is not None:
        shown.figures.extend(_showcase_figures(plan))
    if plan.compared():
        shown.tables.append(
            Table(
                "overall",
                lambda t: t.overall,
                lambda t: overall.overall_table(t.overall),
                lambda _: overall.OVERALL_CAPTION,
            )
        )
        shown.figures.append(
            Figure(
                "overall",
                "Delays",
                "overall",
                lambda t: overall.overall_figure(t.overall),
                lambda _: overall.FIGURE_CAPTION,
            )
        )
    if config.cross is not None and plan.crossed():
        shown.tables.append(_cross_table(config.cross.scenario))
    if config.propagation is not None:
        shown.tables.extend(_propagation_tables(config.propagation))
        shown.figures.extend(_propagation_figures())
    for name in plan.with_causes():
        shown.tables.append(_named_table(config, name))
    if config.theory is not None:
        for name in theory.PARTS:
            shown.tables.append(_theory_table(name))
        shown.figures.append(
            Figure(
                "theory",
                "Theory",
                "theory",
                lambda t: theory.theory_figure(t.theory_curves),
                lambda _: theory.FIGURE_CAPTION,
            )
        )
    return shown


def _notebooks(config: Config, plan: Plan) -> list[str]:
    """Pages in the order in which they are best read."""
    wanted = {
        "data": True,
        "graph": bool(plan.networks),
        "training": bool(plan.networks),
        "detection": True,
        "places": bool(plan.shared_networks()) and bool(plan.crossed()),
        "causes": config.propagation is not None,
        "claims": claims.concerns(config),
        "theory": config.theory is not None,
        "audit": True,
    }
    return [name for name, is_wanted in wanted.items() if is_wanted]


def headline_scenario(config: Config) -> str:
    """The scenario that is shown first."""
    return config.report.showcase or Plan(config).evaluated()[0]


TABLES_OF_THE_PAPER = ("noise_free", "noise", "extreme", "tep", "sfd", *TOGETHER)
WITH_CURVES = ("noise_free", "tep", "sfd")
"""Tables whose training the paper draws; own data are drawn as well."""


def _paper_tables() -> list[Table]:
    def sensitivity(tidy: Tidy) -> pd.DataFrame:
        return paper_tables.sensitivity_rows(tidy.table("sensitivity"), tidy.table("noise_free"))

    return [
        Table(
            "train_test",
            lambda t: t.table("train_test"),
            lambda t: paper_tables.train_test_table(t.table("train_test")),
            lambda _: paper_tables.TRAIN_TEST_CAPTION,
        ),
        Table(
            "graph_metrics",
            lambda t: t.graph_table("graph_metrics"),
            lambda t: paper_tables.metrics_table(t.graph_table("graph_metrics")),
            lambda _: paper_tables.METRICS_CAPTION,
        ),
        Table(
            "graph_quality",
            lambda t: t.table("graph_quality"),
            lambda t: paper_tables.quality_table(
                t.graph_table("graph_quality"), t.table("graph_quality")
            ),
            lambda _: paper_tables.QUALITY_CAPTION,
        ),
        Table(
            "sensitivity",
            sensitivity,
            lambda t: paper_tables.sensitivity_table(sensitivity(t)),
            lambda t: paper_tables.SENSITIVITY_CAPTION.format(decay=t.config.statistic.decay),
        ),
    ]


def _with_curves(config: Config, plan: Plan) -> list[str]:
    """Scenarios whose training is drawn: the first of each source in the tables that have it."""
    found: dict[str, str] = {}
    for network in plan.networks.values():
        scenario = config.scenarios[network.run.scenario]
        if scenario.table in WITH_CURVES or scenario.table not in TABLES_OF_THE_PAPER:
            found.setdefault(scenario.source, network.run.scenario)
    return sorted(found.values())


def training_shown(tidy: Tidy) -> pd.DataFrame:
    """Training of the scenarios that are drawn: not every network needs a line."""
    drawn = _with_curves(tidy.config, Plan(tidy.config))
    return tidy.training[tidy.training["scenario"].isin(drawn)]


def _showcase_figures(plan: Plan) -> list[Figure]:
    def draw(name: str) -> Callable[[Tidy], Any]:
        def drawn(tidy: Tidy) -> Any:
            from causaldq.report import showcase

            return getattr(showcase, f"{name}_figure")(getattr(tidy, name))

        return drawn

    calibration = plan.config.calibration
    steps = calibration.arl0 * calibration.horizon_factor
    captions = {
        "watch": "Where each method points its sensors in one replication: a mark is a reading, red"
        " where the stream is shifted. The line is the change, the triangle the alarm.",
        "tradeoff": "Delay against the number of steps to a false alarm that limits are set for,"
        f" fair protocol, with 95\\% intervals. Paths to set limits end after {steps:g} steps: for"
        " longer runs, limits rest on the rate of alarms up to there.",
        "places": "The same networks with the shift in the places they were trained on and"
        " anywhere, at limits of one run length. Lines: mean over seeds; dots: seeds.",
    }
    names = ["watch", "tradeoff"]
    if any(run.seed is not None for run in plan.showcase_runs()):
        names.append("places")
    found = [
        Figure(name, "Delays", name, draw(name), lambda _, text=captions[name]: text)  # type: ignore[misc]
        for name in names
    ]
    if any(plan.shared_network(run) for run in plan.showcase_runs()):
        scenario = plain(str(plan.config.report.showcase))
        found.append(
            Figure(
                "looks",
                "Delays",
                "looks",
                lambda t: overall.looks_figure(t.looks),
                lambda _: overall.LOOKS_CAPTION.format(scenario=scenario),
            )
        )
    return found


def plain(name: str) -> str:
    """The name of a scenario in a sentence."""
    return name.replace("_", " ")


def _claim_table(part: str) -> Table:
    def rows(tidy: Tidy) -> pd.DataFrame:
        return tidy.claims[tidy.claims["part"] == part]

    return Table(
        f"claims_{part}",
        rows,
        lambda t: claims.claims_table(rows(t)),
        lambda _: claims.caption(part),
        source="claims",
    )


def _delay_table(config: Config, scenario: str) -> Table:
    return Table(
        table_name(config.scenarios[scenario].table, scenario),
        lambda t: t.cells(scenario),
        lambda t: tables.delay_table(t.cells(scenario)),
        lambda t: tables.delay_caption(
            t.cells(scenario), restart=config.scenarios[scenario].restart
        ),
    )


def _delay_figure(scenario: str) -> Figure:
    def draw(tidy: Tidy) -> Any:
        from causaldq.report import figures

        rows = tidy.cells(scenario)
        several = rows["delta"].nunique() > 1
        return figures.delay_figure(rows) if several else figures.bar_figure(rows)

    def caption(tidy: Tidy) -> str:
        return (
            f"Average detection delay with {tidy.size(scenario)} (scenario {plain(scenario)}), with"
            " 95\\% intervals. Black: bounds, which know where the shift is."
        )

    return Figure(f"delay_{scenario}", "Delays", "delay", draw, caption)


def _event_table(scenario: str) -> Table:
    return Table(
        f"events_{scenario}",
        lambda t: t.events_of(scenario),
        lambda t: tables.event_table(t.events_of(scenario)),
        lambda t: tables.event_table_caption(t.events_of(scenario)),
    )


def _event_figure(scenario: str) -> Figure:
    def draw(tidy: Tidy) -> Any:
        from causaldq.report.figures import event_figure

        return event_figure(tidy.events_of(scenario))

    return Figure(
        f"events_{scenario}",
        "Delays",
        "events",
        draw,
        lambda t: tables.event_caption(t.events_of(scenario)),
    )


def _training_figure(scenario: str) -> Figure:
    def draw(tidy: Tidy) -> Any:
        from causaldq.report.figures import training_figure

        return training_figure(tidy.curves_of(scenario))

    def caption(tidy: Tidy) -> str:
        return (
            f"Training with {tidy.size(scenario)} (scenario {plain(scenario)}): the paper's reward"
            " an episode, counted alike for all agents whatever they are themselves rewarded for,"
            " and below it the share of the shifted streams among those that the frozen network"
            " selects. Thick: mean over training seeds, with a 95\\% band; thin: seeds. Dots: where"
            " each method's reward reaches 95\\% of its final value."
        )

    return Figure(f"training_{scenario}", "Training", "training", draw, caption)


def _streams_figure(source: str, scenario: str) -> Figure:
    def draw(tidy: Tidy) -> Any:
        from causaldq.report.pictures import streams_figure

        return streams_figure(tidy.paths[tidy.paths["source"] == source])

    def caption(tidy: Tidy) -> str:
        return (
            f"Streams of {tables.escaped(source)} in a problem with {tidy.size(scenario)} (scenario"
            f" {plain(scenario)}), first replication: some that shift and some that do not, in"
            " in-control standard deviations. Dotted: the change. Red: readings of a shifted"
            " stream. Black: its mean."
        )

    return Figure(f"streams_{source}", "Data", "streams", draw, caption)


def _graph_figure(source: str) -> Figure:
    def draw(tidy: Tidy) -> Any:
        from causaldq.report.pictures import graph_figure

        return graph_figure(tidy.edges[tidy.edges["source"] == source])

    def caption(tidy: Tidy) -> str:
        from causaldq.report.pictures import graph_caption

        rows = tidy.edges[tidy.edges["source"] == source]
        return f"Causal graph of {tables.escaped(source)}. {graph_caption(rows)}"

    return Figure(f"graph_{source}", "Graphs", "graph", draw, caption, height=0.4)


def _propagation_tables(study: StudySettings) -> list[Table]:
    def of_size(p: int) -> Table:
        return Table(
            f"propagation_p{p}",
            lambda t: t.propagation[t.propagation["p"] == p],
            lambda t: propagation.propagation_table(
                t.propagation, p, t.config.evaluation.confidence
            ),
            lambda t: propagation.caption(t.propagation[t.propagation["p"] == p], study.later),
        )

    sizes = dict.fromkeys(problem.p for problem in study.problems.values())
    compared = Table(
        "propagation_compared",
        lambda t: t.propagation_compared,
        lambda t: propagation.compared_table(t.propagation_compared),
        lambda _: propagation.COMPARED_CAPTION,
    )
    return [*map(of_size, sizes), compared]


def _named_table(config: Config, scenario: str) -> Table:
    m = config.scenarios[scenario].m
    return Table(
        f"named_{scenario}",
        lambda t: t.named(scenario),
        lambda t: propagation.named_table(t.named(scenario)),
        lambda t: propagation.named_caption(t.named(scenario), m),
        source=f"named_{scenario}",
    )


def _propagation_figures() -> list[Figure]:
    return [
        Figure(
            "propagation",
            "Root causes",
            "propagation",
            lambda t: propagation.ratio_figure(t.propagation_compared),
            lambda _: propagation.FIGURE_CAPTION,
        ),
        Figure(
            "root_cause",
            "Root causes",
            "root_cause",
            lambda t: propagation.cause_figure(t.root_cause),
            lambda _: propagation.CAUSE_CAPTION,
        ),
    ]


def _cross_table(scenario: str) -> Table:
    return Table(
        "cross",
        lambda t: t.cross,
        lambda t: overall.cross_table(t.cross),
        lambda t: overall.cross_caption(t.cross, scenario),
    )


def _theory_table(name: str) -> Table:
    def rows(tidy: Tidy) -> pd.DataFrame:
        return pd.DataFrame(theory.parts(tidy.theory)[name]).drop(columns="witness")

    return Table(
        name,
        rows,
        lambda t: theory.theory_table(theory.parts(t.theory)[name]),
        lambda _: theory.CAPTION,
        source="theory",
    )
