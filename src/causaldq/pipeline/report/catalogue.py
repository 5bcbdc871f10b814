"""What is shown: every table and figure of a config, with its caption and how it is made.

The workflow asks for names and categories; the jobs make what is listed, from tidy results.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd

from causaldq.pipeline.config import Config
from causaldq.pipeline.plan import Plan
from causaldq.pipeline.report import (
    captions,
    claims,
    faults,
    flares,
    overall,
    paper_tables,
    propagation,
    tables,
    theory,
)
from causaldq.pipeline.report.latex import latex
from causaldq.pipeline.report.shown import Figure, Table, table
from causaldq.pipeline.report.tidy import TOGETHER, Tidy, table_name


@dataclass(frozen=True)
class Catalogue:
    """All that a config's report shows, in its order."""

    tables: list[Table]
    figures: list[Figure]
    notebooks: list[str]


def catalogue(config: Config) -> Catalogue:
    plan = Plan(config)
    sections = OF_A_PLANT if plan.is_plant else SECTIONS
    shown = [one for section in sections for one in section(plan)]
    return Catalogue(
        [one for one in shown if isinstance(one, Table)],
        [one for one in shown if isinstance(one, Figure)],
        _notebooks(config, plan),
    )


def _notebooks(config: Config, plan: Plan) -> list[str]:
    """Pages in the order in which they are best read."""
    wanted = {
        "data": not plan.is_plant,
        "graph": bool(plan.networks) and not plan.is_plant,
        "training": bool(plan.networks) and not plan.is_plant,
        "detection": not plan.is_plant,
        "faults": bool(plan.with_fault_table()),
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


def plain(name: str) -> str:
    """The name of a scenario in a sentence."""
    return name.replace("_", " ")


Shown = Iterator[Table | Figure]


def _claims(plan: Plan) -> Shown:
    def of_part(part: str) -> Table:
        def rows(tidy: Tidy) -> pd.DataFrame:
            return tidy.claims[tidy.claims["part"] == part]

        return table(f"claims_{part}", rows, claims.claims_table, claims.caption(part), "claims")

    if claims.concerns(plan.config):
        yield from map(of_part, claims.PARTS)
        name, caption = "comparison", claims.COMPARISON_CAPTION
        yield table(name, lambda t: t.comparison, claims.comparison_table, caption, name)


def _delays(plan: Plan) -> Shown:
    for name in plan.evaluated():
        if plan.config.scenarios[name].table not in TOGETHER:
            yield from _delay(name, plan.config)


def _delay(scenario: str, config: Config) -> Shown:
    def rows(tidy: Tidy) -> pd.DataFrame:
        return tidy.cells(scenario)

    def draw(tidy: Tidy) -> Any:
        from causaldq.pipeline.report import figures

        several = rows(tidy)["delta"].nunique() > 1
        return (figures.delay_figure if several else figures.bar_figure)(rows(tidy))

    def caption(tidy: Tidy) -> str:
        return captions.delays(rows(tidy), tidy.size(scenario), plain(scenario))

    wanted = config.scenarios[scenario]
    said = partial(tables.delay_caption, restart=wanted.restart)
    name = table_name(wanted.table, scenario)
    short = table(name, lambda t: tables.of_the_paper(rows(t)), tables.delay_table, said)
    yield replace(table(name, rows, tables.delay_table, said), short=short)
    yield Figure(f"delay_{scenario}", "Delays", "delay", draw, caption, rows=rows)


def _events(plan: Plan) -> Shown:
    for name in plan.with_events():
        yield from _event(name)


def _event(scenario: str) -> Shown:
    def rows(tidy: Tidy) -> pd.DataFrame:
        return tidy.events_of(scenario)

    def draw(tidy: Tidy) -> Any:
        from causaldq.pipeline.report.figures import event_figure

        return event_figure(rows(tidy))

    name = f"events_{scenario}"
    yield table(name, rows, tables.event_table, tables.event_table_caption)
    yield Figure(name, "Delays", "events", draw, lambda t: tables.event_caption(rows(t)), rows=rows)


def _training(plan: Plan) -> Shown:
    if plan.networks:
        yield Table(
            "training",
            lambda t: t.training,
            lambda t: tables.training_table(training_shown(t)),
            tables.TRAINING_CAPTION,
        )
        yield from map(_training_figure, _with_curves(plan.config, plan))


def _training_figure(scenario: str) -> Figure:
    def draw(tidy: Tidy) -> Any:
        from causaldq.pipeline.report.figures import training_figure

        return training_figure(tidy.curves_of(scenario))

    def caption(tidy: Tidy) -> str:
        return captions.training(tidy.size(scenario), plain(scenario))

    return Figure(f"training_{scenario}", "Training", "training", draw, caption)


def _paper_tables(plan: Plan) -> Shown:
    def sensitivity(tidy: Tidy) -> pd.DataFrame:
        return paper_tables.sensitivity_rows(tidy.table("sensitivity"), tidy.table("noise_free"))

    def quality(tidy: Tidy) -> str:
        name = "graph_quality"
        return paper_tables.quality_table(tidy.graph_table(name), tidy.table(name))

    config, made = plan.config, paper_tables
    in_tables = {t for s in config.scenarios.values() for t in (s.table, *s.also)}
    if not any(run.seed is not None for run in plan.runs.values()):
        # Its columns are learned methods; networks may be trained without being evaluated.
        in_tables.discard("train_test")
    changed = partial(
        made.of_problem, caption=made.SENSITIVITY_CAPTION, decay=config.statistic.decay
    )
    for one in (
        table(
            "train_test",
            lambda t: t.table("train_test"),
            made.train_test_table,
            made.TRAIN_TEST_CAPTION,
        ),
        table(
            "graph_metrics",
            lambda t: t.graph_table("graph_metrics"),
            made.metrics_table,
            made.METRICS_CAPTION,
        ),
        Table(
            "graph_quality",
            lambda t: t.table("graph_quality"),
            quality,
            lambda t: made.of_problem(t.table("graph_quality"), made.QUALITY_CAPTION),
        ),
        table("sensitivity", sensitivity, made.sensitivity_table, changed),
    ):
        if one.name in in_tables:
            yield one
    if plan.networks and in_tables & set(TABLES_OF_THE_PAPER):
        latex, caption = partial(made.hyperparameter_table, config), made.HYPERPARAMETER_CAPTION
        name = "hyperparameters"
        yield table(name, lambda t: t.hyperparameters, latex, caption, name)


def _data(plan: Plan) -> Shown:
    for source, scenario in plan.drawn().items():
        yield _streams_figure(source, scenario)
    if plan.networks:
        yield from map(_graph_figure, plan.config.sources)


def _streams_figure(source: str, scenario: str) -> Figure:
    def draw(tidy: Tidy) -> Any:
        from causaldq.pipeline.report.pictures import streams_figure

        return streams_figure(tidy.paths[tidy.paths["source"] == source])

    def caption(tidy: Tidy) -> str:
        return captions.streams(latex(source), tidy.size(scenario), plain(scenario))

    return Figure(f"streams_{source}", "Data", "streams", draw, caption)


def _graph_figure(source: str) -> Figure:
    def draw(tidy: Tidy) -> Any:
        from causaldq.pipeline.report.pictures import graph_figure

        return graph_figure(tidy.edges[tidy.edges["source"] == source])

    def caption(tidy: Tidy) -> str:
        rows = tidy.edges[tidy.edges["source"] == source]
        return captions.graph(latex(source), rows, tidy.config.sources[source].p)

    return Figure(f"graph_{source}", "Graphs", "graph", draw, caption, height=0.4)


def _showcase(plan: Plan) -> Shown:
    scenario, calibration = plan.config.report.showcase, plan.config.calibration
    if scenario is None:
        return
    steps = calibration.arl0 * calibration.horizon_factor
    said = {"scenario": plain(scenario), "steps": steps}

    def figure(name: str, caption: str) -> Figure:
        def draw(tidy: Tidy) -> Any:
            from causaldq.pipeline.report import showcase

            return getattr(showcase, f"{name}_figure")(getattr(tidy, name))

        return Figure(name, "Delays", name, draw, caption.format(**said))

    yield figure("watch", captions.WATCH)
    yield figure("tradeoff", captions.TRADEOFF)
    if any(run.seed is not None for run in plan.showcase_runs()):
        yield figure("places", captions.PLACES)
    if any(plan.shared_network(run) for run in plan.showcase_runs()):
        caption = overall.LOOKS_CAPTION.format(**said)
        yield Figure("looks", "Delays", "looks", lambda t: overall.looks_figure(t.looks), caption)


def _overall(plan: Plan) -> Shown:
    def rows(tidy: Tidy) -> pd.DataFrame:
        return tidy.overall

    if compared := plan.compared():
        baselines = overall.baselines_in_words({plan.runs[name].method for name in compared})
        caption = overall.OVERALL_CAPTION.format(baselines=baselines)
        yield table("overall", rows, overall.overall_table, caption)
        yield Figure(
            "overall",
            "Delays",
            "overall",
            lambda t: overall.overall_figure(rows(t)),
            overall.FIGURE_CAPTION.format(baselines=baselines),
            rows=rows,
        )
    if plan.config.cross is not None and plan.crossed():
        said = partial(overall.cross_caption, scenario=plan.config.cross.scenario)
        yield table("cross", lambda t: t.cross, overall.cross_table, said)


def _propagation(plan: Plan) -> Shown:
    study, made = plan.config.propagation, propagation
    if study is None:
        return

    def of_size(p: int) -> Table:
        def rows(tidy: Tidy) -> pd.DataFrame:
            return tidy.propagation[tidy.propagation["p"] == p]

        latex = partial(made.propagation_table, confidence=plan.config.evaluation.confidence)
        return table(f"propagation_p{p}", rows, latex, partial(made.caption, later=study.later))

    def rows(tidy: Tidy) -> pd.DataFrame:
        return tidy.propagation_compared

    yield from map(of_size, dict.fromkeys(problem.p for problem in study.problems.values()))
    baselines = overall.baselines_in_words(study.told_truth, always=())
    compared, ratios = (
        text.format(baselines=baselines) for text in (made.COMPARED_CAPTION, made.FIGURE_CAPTION)
    )
    yield table("propagation_compared", rows, made.compared_table, compared)
    for name, draw, caption in (
        ("propagation", lambda t: made.ratio_figure(rows(t)), ratios),
        ("root_cause", lambda t: made.cause_figure(t.root_cause), made.CAUSE_CAPTION),
    ):
        yield Figure(name, "Root causes", name, draw, caption)


def _named(plan: Plan) -> Shown:
    def of_scenario(scenario: str) -> Table:
        caption = partial(propagation.named_caption, m=plan.config.scenarios[scenario].m)
        name = f"named_{scenario}"
        return table(name, lambda t: t.named(scenario), propagation.named_table, caption, name)

    yield from map(of_scenario, plan.with_causes())


def _theory(plan: Plan) -> Shown:
    def of_part(name: str) -> Table:
        def rows(tidy: Tidy) -> pd.DataFrame:
            return pd.DataFrame(theory.parts(tidy.theory)[name]).drop(columns="witness")

        def made(tidy: Tidy) -> str:
            return theory.theory_table(theory.parts(tidy.theory)[name])

        return Table(name, rows, made, theory.CAPTION, "theory")

    if plan.config.theory is not None:
        yield from map(of_part, theory.PARTS)
        yield Figure(
            "theory",
            "Theory",
            "theory",
            lambda t: theory.theory_figure(t.theory_curves),
            theory.FIGURE_CAPTION,
        )


SECTIONS: tuple[Callable[[Plan], Shown], ...] = (
    _claims,
    _delays,
    faults.shown,
    flares.shown,
    _events,
    _training,
    _paper_tables,
    _data,
    _showcase,
    _overall,
    _propagation,
    _named,
    _theory,
)
"""In the order of the document. Each says what a plan has to show of it."""
OF_A_PLANT = (_delays, _events, _data)
"""Where rows are the user's own; the rest is about the paper."""
