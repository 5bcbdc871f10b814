"""What people read: tables, figures, the PDF, notebooks, the HTML report."""

SHOWN = catalogue(SETTINGS)
TABLES = expand(
    f"{RESULTS}/tables/{{name}}.{{kind}}",
    name=[table.name for table in SHOWN.tables],
    kind=["tex", "csv"],
)
FIGURES = expand(
    f"{RESULTS}/figures/{{name}}.{{kind}}",
    name=[figure.name for figure in SHOWN.figures],
    kind=["pdf", "png"],
)
HAS_LATEX = shutil.which("latexmk") is not None
DOCUMENT = [f"{RESULTS}/paper.pdf"] if HAS_LATEX else []
DELAYS = [f"{RESULTS}/add.csv", f"{RESULTS}/events.csv", OVERALL, CROSS]
TIDY_RESULTS = [
    *DELAYS,
    SOURCES,
    PATHS,
    EDGES,
    *([TRAINING, CURVES, GRAPHS] if PLAN.networks else []),
    *([THEORY, THEORY_CURVES] if SETTINGS.theory else []),
    *(rules.showcase.output if SETTINGS.report.showcase else []),
    *PROPAGATION,
    *WITH_CAUSES,
    "data/reference/hyperparameters.csv",
]
# Where none of the paper's tables is measured, nothing can be said of its claims.
CLAIMS = (
    [f"{RESULTS}/{name}.csv" for name in ("claims", "claim_cells", "comparison")]
    if "claims" in SHOWN.notebooks
    else []
)


rule tables:
    input:
        tidy=TIDY_RESULTS + CLAIMS,
    output:
        TABLES,
        headline=f"{RESULTS}/headline.md",
    log:
        f"{LOGS}/tables.log",
    params:
        code=code_of("tables"),
        settings=as_argument(SETTINGS),
        folder=lambda w, output: str(Path(output[0]).parent),
    shell:
        "python scripts/tables.py --settings {params.settings:q} --tidy {input.tidy}"
        " --folder {params.folder} --headline {output.headline} --log {log}"


rule claims:
    input:
        tidy=[*TIDY_RESULTS, "data/reference/published.csv"],
        claims="data/reference/claims.yaml",
        comparison="data/reference/comparison.yaml",
    output:
        claims=report(
            f"{RESULTS}/claims.csv",
            category="Claims",
            labels={"what": "verdicts"},
            caption="../report/claims.rst",
        ),
        cells=report(
            f"{RESULTS}/claim_cells.csv",
            category="Claims",
            labels={"what": "cells behind the verdicts"},
            caption="../report/claim_cells.rst",
        ),
        comparison=f"{RESULTS}/comparison.csv",
    log:
        f"{LOGS}/claims.log",
    params:
        code=code_of("claims"),
        settings=as_argument(SETTINGS),
    shell:
        "python scripts/claims.py --settings {params.settings:q} --tidy {input.tidy}"
        " --claims {input.claims} --comparison {input.comparison} --output {output.claims}"
        " --cells {output.cells} --compared {output.comparison} --log {log}"


# Most figures show no delays, and need not wait for them.
for part, drawn in {
    "figures": [figure for figure in SHOWN.figures if figure.of_delays],
    "pictures": [figure for figure in SHOWN.figures if not figure.of_delays],
}.items():
    if not drawn:
        continue

    rule:
        name:
            part
        input:
            tidy=[
                path
                for path in TIDY_RESULTS
                if (path in DELAYS) == (part == "figures")
            ],
        output:
            pdf=expand(
                f"{RESULTS}/figures/{{name}}.pdf",
                name=[figure.name for figure in drawn],
            ),
            png=[
                report(
                    f"{RESULTS}/figures/{figure.name}.png",
                    category=figure.category,
                    labels={"what": figure.name.replace("_", " ")},
                    caption=f"../report/{figure.kind}.rst",
                )
                for figure in drawn
            ],
        log:
            f"{LOGS}/{part}.log",
        params:
            code=code_of("figures"),
            settings=as_argument(SETTINGS),
            folder=lambda w, output: str(Path(output.pdf[0]).parent),
            names=[figure.name for figure in drawn],
        shell:
            "python scripts/figures.py --settings {params.settings:q} --tidy {input.tidy}"
            " --names {params.names} --folder {params.folder} --log {log}"


rule document:
    input:
        template="src/causaldq/report/templates/document.tex",
        tidy=TIDY_RESULTS + CLAIMS,
        tables=[path for path in TABLES if path.endswith(".tex")],
        figures=[path for path in FIGURES if path.endswith(".pdf")],
    output:
        report(
            f"{RESULTS}/paper.pdf",
            category="Document",
            labels={"what": "all tables and figures"},
            caption="../report/document.rst",
        ),
    log:
        f"{LOGS}/document.log",
    params:
        code=code_of("document"),
        settings=as_argument(SETTINGS),
    shell:
        "python scripts/document.py --settings {params.settings:q} --tidy {input.tidy}"
        " --tables {input.tables} --figures {input.figures} --output {output} --log {log}"


rule notebook:
    input:
        notebook="notebooks/{name}.ipynb",
        tidy=TIDY_RESULTS + CLAIMS,
        figures=[path for path in FIGURES if path.endswith(".png")],
    output:
        report(
            f"{RESULTS}/notebooks/{{name}}.html",
            category="Notebooks",
            labels={"what": "{name}"},
            caption="../report/notebook.rst",
        ),
    log:
        f"{LOGS}/notebook/{{name}}.log",
    params:
        code=code_of("notebook"),
        results=lambda w, input: str(Path(input.tidy[0]).parent),
    shell:
        "python scripts/notebook.py --notebook {input.notebook} --results {params.results}"
        " --output {output} --reads {input} --log {log}"


rule front_page:
    input:
        template="src/causaldq/report/templates/overview.html",
        tidy=TIDY_RESULTS + CLAIMS,
        figures=[path for path in FIGURES if path.endswith(".png")],
        notebooks=expand("notebooks/{name}.ipynb", name=SHOWN.notebooks),
    output:
        report(
            f"{RESULTS}/overview.html",
            # The report sorts categories by name.
            category="At a glance",
            labels={"what": "overview"},
            caption="../report/overview.rst",
        ),
    log:
        f"{LOGS}/front_page.log",
    params:
        code=code_of("front_page"),
        settings=as_argument(SETTINGS),
        document="--document" if HAS_LATEX else "",
    shell:
        "python scripts/front_page.py --settings {params.settings:q} --tidy {input.tidy}"
        " --figures {input.figures} --notebooks {input.notebooks} --template {input.template}"
        " {params.document} --output {output} --log {log}"


rule everything_to_report:
    input:
        rules.front_page.output,
        f"{RESULTS}/add.csv",
        TABLES,
        CLAIMS,
        FIGURES,
        expand(f"{RESULTS}/notebooks/{{name}}.html", name=SHOWN.notebooks),
        DOCUMENT,


rule report:
    input:
        rules.everything_to_report.input,
    output:
        f"{RESULTS}/report.html",
    log:
        f"{LOGS}/report.log",
    params:
        code=code_of("report"),
        config=as_argument(SETTINGS),
    shell:
        "python scripts/report.py --config {params.config:q} --target everything_to_report"
        " --output {output} --reads {input} --log {log}"
