"""The pipeline's reporting jobs: read tidy results, write what people read."""

from functools import partial
from pathlib import Path

import pandas as pd

from causaldq.config import Config
from causaldq.errors import DataError
from causaldq.evaluation.graphs import COLUMNS as GRAPH_COLUMNS
from causaldq.evaluation.training import verdict
from causaldq.files import write_csv, write_text
from causaldq.report.catalogue import catalogue, headline_scenario, training_shown
from causaldq.report.claims import claims_summary, compare_approaches, judge, latex, read_claims
from causaldq.report.gaps import gaps, promised
from causaldq.report.text import headline
from causaldq.report.theory import counterexamples
from causaldq.report.tidy import Tidy


def run_tables(config: Config, tidy: list[Path], folder: Path, headline_file: Path) -> None:
    """LaTeX, a tidy twin for each table, and the headline table."""
    results = Tidy(config, tidy)
    for table in catalogue(config).tables:
        write_csv(folder / f"{table.name}.csv", table.twin(results))
        write_text(folder / f"{table.name}.tex", table.latex(results))
    text = headline(results.cells(headline_scenario(config)))
    if "claims" in results.files:
        text += "\n" + "\n".join(f"- {line}" for line in claims_summary(results.claims)) + "\n"
    if "training" in results.files:
        text += "\n" + "\n".join(f"- {line}" for line in verdict(training_shown(results))) + "\n"
    write_text(headline_file, text)


def run_claims(
    config: Config,
    tidy: list[Path],
    claims: Path,
    comparison: Path,
    output: Path,
    cells: Path,
    compared: Path,
) -> None:
    """Every claim with its verdict, the cells behind it, and the paper's first table.

    Refused where a published number that the config promises to measure has none beside it.
    """
    results = Tidy(config, tidy)
    none = pd.DataFrame(columns=GRAPH_COLUMNS)
    graphs = results.graphs if "graphs" in results.files else none
    expected = promised(config, results.published)
    if missing := gaps(expected, results.add, graphs, list(config.protocols)):
        raise DataError(
            f"{len(missing)} published numbers have no measured one beside them, though the"
            f" settings ask for it: {'; '.join(missing)}"
        )
    verdicts, looked_at = judge(read_claims(claims), results)
    write_csv(output, verdicts)
    write_csv(cells, looked_at)
    write_csv(compared, compare_approaches(comparison, verdicts))


def run_figures(config: Config, tidy: list[Path], names: list[str], folder: Path) -> None:
    """Some of the figures, as PDF and PNG."""
    from causaldq.report.figures import save_both

    results = Tidy(config, tidy)
    for figure in catalogue(config).figures:
        if figure.name in names:
            save_both(partial(figure.draw, results), folder / figure.name)


def run_document(
    config: Config, tidy: list[Path], tables: list[Path], figures: list[Path], output: Path
) -> None:
    """The PDF."""
    from causaldq.report.document import compile_pdf, render

    results = Tidy(config, tidy)
    shown = catalogue(config)
    note = config.report.note
    has_training = "training" in results.files
    findings = verdict(training_shown(results)) if has_training else []
    holds = claims_summary(results.claims) if "claims" in results.files else []
    source = render(
        "document.tex",
        title=config.report.title,
        note=note,
        claims=[latex(line) for line in holds],
        findings=[latex(line) for line in findings],
        counterexamples=counterexamples(results.theory) if config.theory else "",
        tables=[
            {"name": table.name, "caption": f"{table.caption(results)} {note}"}
            for table in shown.tables
        ],
        figures=[
            {
                "name": figure.name,
                "caption": f"{figure.caption(results)} {note}",
                "height": figure.height,
            }
            for figure in shown.figures
        ],
    )
    compile_pdf(source, tables, figures, output)


def run_front_page(
    config: Config, tidy: list[Path], figures: list[Path], notebooks: list[Path],
    template: Path, output: Path, *, document: bool,
) -> None:  # fmt: skip
    """The page that a person reads first."""
    from causaldq.report.front_page import front_page

    results = Tidy(config, tidy)
    page = front_page(config, results, figures, notebooks, template, document=document)
    write_text(output, page)
