"""The pipeline's reporting jobs: read tidy results, write what people read."""

from pathlib import Path

import pandas as pd

from causaldq.config import ReportSettings
from causaldq.files import write_csv, write_text
from causaldq.report import tables
from causaldq.report.labels import label
from causaldq.report.text import headline


def run_tables(add: Path, folder: Path, headline_file: Path) -> None:
    """LaTeX, a tidy twin for each table, and the headline table."""
    table = pd.read_csv(add)
    for name in tables.names(table):
        rows = tables.select(table, name)
        write_csv(folder / f"{name}.csv", rows)
        write_text(folder / f"{name}.tex", tables.delay_table(rows))
    write_text(headline_file, headline(table))


def run_figures(add: Path, curves: list[Path], folder: Path) -> None:
    """Delay curves of each scenario, training curves of each scenario with networks."""
    from causaldq.report.figures import delay_figure, reward_figure, save_both

    table = pd.read_csv(add)
    for scenario, rows in table.groupby("scenario", sort=False):
        save_both(lambda rows=rows: delay_figure(rows), folder / f"delay_{scenario}")  # type: ignore[misc]
    for scenario, logs in read_curves(curves).items():
        save_both(lambda logs=logs: reward_figure(logs), folder / f"training_{scenario}")  # type: ignore[misc]


def read_curves(curves: list[Path]) -> dict[str, pd.DataFrame]:
    """Training logs by scenario, with the columns that their file names carry."""
    logs: dict[str, list[pd.DataFrame]] = {}
    for path in curves:
        scenario, protocol, method, seed = path.stem.split(".")
        log = pd.read_csv(path).assign(protocol=protocol, method=method, training_seed=seed)
        logs.setdefault(scenario, []).append(log)
    return {scenario: pd.concat(parts, ignore_index=True) for scenario, parts in logs.items()}


def run_document(
    settings: ReportSettings, add: Path, table_files: list[Path], figures: list[Path], output: Path
) -> None:
    """The PDF."""
    from causaldq.report.document import compile_pdf, render

    table = pd.read_csv(add)
    source = render(
        "document.tex",
        title=settings.title,
        note=settings.note,
        tables=[
            {
                "name": path.stem,
                "caption": tables.caption(tables.select(table, path.stem), settings.note),
            }
            for path in table_files
        ],
        figures=[
            {"name": path.stem, "caption": f"{figure_caption(path.stem)} {settings.note}"}
            for path in figures
        ],
    )
    compile_pdf(source, table_files, figures, output)


def figure_caption(name: str) -> str:
    """A caption by the figure's kind and scenario."""
    kind, _, scenario = name.partition("_")
    where = f"scenario {label(scenario).lower()}"
    if kind == "delay":
        return (
            f"Average detection delay against the size of the shift, {where}, with 95\\%"
            " bootstrap bands. Dashed black: bounds, which know where the shift is."
        )
    return (
        f"Training, {where}: share of the shifted streams among the selected, mean over training"
        " seeds with a 95\\% band."
    )
