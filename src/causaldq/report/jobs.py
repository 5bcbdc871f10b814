"""The pipeline's reporting jobs: read tidy results, write what people read."""

from functools import partial
from pathlib import Path

import pandas as pd

from causaldq.config import ReportSettings
from causaldq.evaluation.training import read_curves, verdict
from causaldq.files import read_json, write_csv, write_text
from causaldq.report import tables
from causaldq.report.claims import judge, read_claims
from causaldq.report.text import headline
from causaldq.report.theory import (
    CAPTION,
    FIGURE_CAPTION,
    counterexamples,
    parts,
    theory_figure,
    theory_table,
)

TRAINING = "training"
TRAINING_CAPTION = (
    "Training. Reward: the paper's, an episode, counted alike for all agents, mean of the last five"
    " epochs. Epoch: first at which the reward reaches 95\\% of its own final value. Hits: share of"
    " the shifted streams among the selected after the change, while exploring and with the frozen"
    " network. Gain: way from the non-causal agent's final reward to Causal DQ's. Means over"
    " training seeds with 95\\% $t$ intervals."
)


def run_tables(
    add: Path, training: Path | None, theory: Path, folder: Path, headline_file: Path
) -> None:
    """LaTeX, a tidy twin for each table, and the headline table."""
    table = pd.read_csv(add)
    for name in tables.names(table):
        rows = tables.select(table, name)
        write_csv(folder / f"{name}.csv", rows)
        write_text(folder / f"{name}.tex", tables.delay_table(rows))
    text = headline(table)
    if training is not None:
        summary = pd.read_csv(training)
        write_csv(folder / f"{TRAINING}.csv", summary)
        write_text(folder / f"{TRAINING}.tex", tables.training_table(summary))
        text += "\n" + "\n".join(f"- {line}" for line in verdict(summary)) + "\n"
    for name, checks in parts(read_json(theory)).items():
        write_text(folder / f"{name}.tex", theory_table(checks))
        write_csv(folder / f"{name}.csv", pd.DataFrame(checks).drop(columns="witness"))
    write_text(headline_file, text)


def run_claims(claims: Path, theory: Path, output: Path) -> None:
    """Every claim with its verdict."""
    write_csv(output, judge(read_claims(claims), read_json(theory)))


def run_figures(add: Path, curves: list[Path], theory: Path, folder: Path) -> None:
    """Delays and training of each scenario; the theorems' bounds beside measured errors."""
    from causaldq.report.figures import delay_figure, save_both, training_figure

    save_both(partial(theory_figure, pd.read_csv(theory)), folder / "theory")
    table = pd.read_csv(add)
    for scenario, rows in table.groupby("scenario", sort=False):
        save_both(partial(delay_figure, rows), folder / f"delay_{scenario}")
    if curves:
        for scenario, logs in read_curves(curves).groupby("scenario", sort=False):
            save_both(partial(training_figure, logs), folder / f"training_{scenario}")


def run_document(
    settings: ReportSettings,
    add: Path,
    training: Path | None,
    theory: Path,
    table_files: list[Path],
    figures: list[Path],
    output: Path,
) -> None:
    """The PDF."""
    from causaldq.report.document import compile_pdf, render

    table = pd.read_csv(add)
    captions = {
        name: tables.caption(tables.select(table, name), settings.note)
        for name in tables.names(table)
    }
    checks = read_json(theory)
    captions |= dict.fromkeys(parts(checks), f"{CAPTION} {settings.note}")
    findings: list[str] = []
    if training is not None:
        lines = verdict(pd.read_csv(training))
        findings = [line.replace("%", r"\%") for line in lines]
        captions[TRAINING] = f"{TRAINING_CAPTION} {settings.note}"
    source = render(
        "document.tex",
        title=settings.title,
        note=settings.note,
        findings=findings,
        counterexamples=counterexamples(checks),
        tables=[{"name": path.stem, "caption": captions[path.stem]} for path in table_files],
        figures=[
            {"name": path.stem, "caption": f"{figure_caption(path.stem)} {settings.note}"}
            for path in figures
        ],
    )
    compile_pdf(source, table_files, figures, output)


def figure_caption(name: str) -> str:
    """A caption by the figure's kind and scenario."""
    if name == "theory":
        return FIGURE_CAPTION
    kind, _, scenario = name.partition("_")
    where = f"scenario {scenario}"
    if kind == "delay":
        return (
            f"Average detection delay against the size of the shift, {where}, with 95\\%"
            " bootstrap bands. Black: bounds, which know where the shift is."
        )
    return (
        f"Training, {where}: the paper's reward an episode, counted alike for all agents whatever"
        " they are themselves rewarded for; mean over training seeds with a 95\\% band. Dots:"
        " where each method reaches 95\\% of its final value."
    )
