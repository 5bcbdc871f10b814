"""The PDF with all tables and figures."""

from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.pipeline import places
from causaldq.pipeline.config import Config
from causaldq.pipeline.evaluation.training import verdict
from causaldq.pipeline.report.catalogue import catalogue, training_shown
from causaldq.pipeline.report.claims import claims_summary
from causaldq.pipeline.report.latex import latex
from causaldq.pipeline.report.shown import caption
from causaldq.pipeline.report.theory import counterexamples
from causaldq.pipeline.report.tidy import Tidy

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


def inputs(plan: "Plan") -> "Files":
    from causaldq.pipeline.jobs.tidy_results import judged

    shown = catalogue(plan.config)
    return {
        "template": "src/causaldq/pipeline/report/templates/document.tex",
        "tidy": judged(plan),
        "provenance": plan.place(places.PROVENANCE),
        "tables": plan.place_all(places.TABLE, name=[table.name for table in shown.tables]),
        "figures": plan.place_all(places.FIGURE, name=[figure.name for figure in shown.figures]),
    }


OUTPUTS = {"output": "results/{profile}/paper.pdf"}


def run(
    config: Config, *, tidy: list[Path], provenance: Path, tables: list[Path],
    figures: list[Path], output: Path,
) -> None:  # fmt: skip
    """Put all tables and figures into one PDF. Needs LaTeX (latexmk)."""
    from causaldq.pipeline.report.document import compile_pdf, render
    from causaldq.pipeline.report.tidy import short_hash

    results, shown, note = Tidy(config, tidy), catalogue(config), config.report.note
    findings = verdict(training_shown(results)) if "training" in results.files else []
    holds = claims_summary(results.claims) if "claims" in results.files else []
    source = render(
        "document.tex",
        title=config.report.title,
        note=note,
        provenance=short_hash(provenance),
        claims=[latex(line) for line in holds],
        findings=[latex(line) for line in findings],
        counterexamples=counterexamples(results.theory) if config.theory else "",
        tables=[
            {
                "name": table.name,
                "caption": f"{caption(table, results)} {note}",
                "code": latex(f"{config.profile}:{table.name}"),
            }
            for table in shown.tables
        ],
        figures=[
            {
                "name": figure.name,
                "caption": f"{caption(figure, results)} {note}",
                "height": figure.height,
            }
            for figure in shown.figures
        ],
    )
    compile_pdf(source, tables, figures, output)
