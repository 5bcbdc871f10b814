"""What people read: tables, figures, the PDF, notebooks, the HTML report."""

SHOWN = catalogue(SETTINGS)
TABLES = expand(
    f"{RESULTS}/tables/{{name}}.{{kind}}",
    name=[table.name for table in SHOWN.tables],
    kind=["tex", "csv"],
)
FIGURES = [figure.name for figure in SHOWN.figures]
HAS_LATEX = shutil.which("latexmk") is not None
DOCUMENT = [f"{RESULTS}/paper.pdf"] if HAS_LATEX else []
TIDY_RESULTS = [
    f"{RESULTS}/add.csv",
    f"{RESULTS}/events.csv",
    *([TRAINING, CURVES] if PLAN.networks else []),
    *([THEORY, THEORY_CURVES] if SETTINGS.theory else []),
]
CLAIMS = [f"{RESULTS}/claims.csv"] if SETTINGS.theory else []


rule tables:
    input:
        tidy=TIDY_RESULTS,
    output:
        TABLES,
        headline=f"{RESULTS}/headline.md",
    log:
        f"{LOGS}/tables.log",
    params:
        code=code_of("tables"),
        settings=as_argument(SETTINGS),
        folder=f"{RESULTS}/tables",
    shell:
        "python scripts/tables.py --settings {params.settings:q} --tidy {input.tidy}"
        " --folder {params.folder} --headline {output.headline} --log {log}"


rule claims:
    input:
        claims="data/reference/claims.yaml",
        theory=THEORY,
    output:
        report(
            f"{RESULTS}/claims.csv",
            category="Claims",
            labels={"what": "verdicts"},
            caption="../report/claims.rst",
        ),
    log:
        f"{LOGS}/claims.log",
    params:
        code=code_of("claims"),
    shell:
        "python scripts/claims.py --claims {input.claims} --theory {input.theory}"
        " --output {output} --log {log}"


rule figures:
    input:
        tidy=TIDY_RESULTS,
    output:
        pdf=expand(f"{RESULTS}/figures/{{name}}.pdf", name=FIGURES),
        png=[
            report(
                f"{RESULTS}/figures/{figure.name}.png",
                category=figure.category,
                labels={"what": figure.name.replace("_", " ")},
                caption=f"../report/{figure.kind}.rst",
            )
            for figure in SHOWN.figures
        ],
    log:
        f"{LOGS}/figures.log",
    params:
        code=code_of("figures"),
        settings=as_argument(SETTINGS),
        folder=f"{RESULTS}/figures",
    shell:
        "python scripts/figures.py --settings {params.settings:q} --tidy {input.tidy}"
        " --folder {params.folder} --log {log}"


rule document:
    input:
        template="src/causaldq/report/templates/document.tex",
        tidy=TIDY_RESULTS,
        tables=[path for path in TABLES if path.endswith(".tex")],
        figures=expand(f"{RESULTS}/figures/{{name}}.pdf", name=FIGURES),
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
        tidy=TIDY_RESULTS,
        figures=rules.figures.output.png,
    output:
        report(
            f"{RESULTS}/notebooks/{{name}}.html",
            category="Notebooks",
            labels={"what": "{name}"},
            caption="../report/notebook.rst",
        ),
    log:
        f"{LOGS}/notebook/{{name}}.log",
    # Kernels started side by side can pick the same port.
    retries: 2
    resources:
        kernel=1,
    params:
        code=code_of("notebook"),
        results=RESULTS,
    shell:
        "python scripts/notebook.py --notebook {input.notebook} --results {params.results}"
        " --output {output} --log {log}"


rule everything_to_report:
    input:
        f"{RESULTS}/add.csv",
        TABLES,
        CLAIMS,
        rules.figures.output,
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
        config=as_argument(SETTINGS),
    shell:
        "python scripts/report.py --config {params.config:q} --target everything_to_report"
        " --output {output} --log {log}"
