"""Two PDFs: the paper's own tables and figures, and an appendix with all others."""

from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.files import by_name
from causaldq.pipeline import places
from causaldq.pipeline.config import Config
from causaldq.pipeline.evaluation.training import verdict
from causaldq.pipeline.report.catalogue import catalogue, training_shown
from causaldq.pipeline.report.claims import claims_summary
from causaldq.pipeline.report.latex import latex
from causaldq.pipeline.report.parts import parts, place_in_paper
from causaldq.pipeline.report.shown import Figure, Table, caption
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


OUTPUTS = {"output": "results/{profile}/paper.pdf", "appendix": "results/{profile}/appendix.pdf"}


def run(
    config: Config, *, tidy: list[Path], provenance: Path, tables: list[Path],
    figures: list[Path], output: Path, appendix: Path,
) -> None:  # fmt: skip
    """Put the paper's own tables and figures into one PDF, the rest into another. Needs LaTeX."""
    from causaldq.pipeline.report.document import compile_pdf, render
    from causaldq.pipeline.report.tidy import short_hash

    results, note, files = Tidy(config, tidy), config.report.note, by_name([*tables])
    pictures = by_name([*figures])

    def item(one: Table | Figure, *, is_short: bool) -> dict[str, object]:
        """What the template needs to know, with the LaTeX of a table."""
        place = place_in_paper(one.name)
        called = f"({place[1]} of the paper.) " if place else ""
        if isinstance(one, Figure):
            said = {"height": one.height, "latex": ""}
        else:
            short = one.short if is_short else None
            made = short.latex(results) if short else files[one.name].read_text()
            one = short or one
            said = {"latex": made, "code": latex(f"{config.profile}:{one.name}")}
        return {"name": one.name, "caption": f"{called}{caption(one, results)} {note}", **said}

    first, rest = parts(catalogue(config))
    holds = claims_summary(results.claims) if "claims" in results.files else []
    findings = verdict(training_shown(results)) if "training" in results.files else []
    shared = {"note": note, "provenance": short_hash(provenance)}
    for path, title, shown, said in (
        (output, config.report.title, first, {"claims": holds, "findings": [], "examples": ""}),
        (
            appendix,
            f"{config.report.title}: appendix",
            rest,
            {
                "claims": [],
                "findings": findings,
                "examples": counterexamples(results.theory) if config.theory else "",
            },
        ),
    ):
        source = render(
            "document.tex",
            title=title,
            is_appendix=path is appendix,
            claims=[latex(line) for line in said["claims"]],
            findings=[latex(line) for line in said["findings"]],
            counterexamples=said["examples"],
            items=[item(one, is_short=path is output) for one in shown],
            **shared,
        )
        drawn = [pictures[one.name] for one in shown if isinstance(one, Figure)]
        compile_pdf(source, drawn, path)
