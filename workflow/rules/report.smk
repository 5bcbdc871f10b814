"""What people read: tables, figures, the PDF, notebooks, the HTML report."""

TABLES = expand(
    RESULTS + "/tables/{name}.{kind}",
    name=[f"{s.table}_{name}" for name, s in SETTINGS.scenarios.items()],
    kind=["tex", "csv"],
)
FIGURES = [f"delay_{name}" for name in SETTINGS.scenarios]
FIGURES += [
    f"training_{name}" for name in sorted({n.scenario for n in PLAN.networks.values()})
]
NOTEBOOKS = ["detection"]
HAS_LATEX = shutil.which("latexmk") is not None
DOCUMENT = [RESULTS + "/paper.pdf"] if HAS_LATEX else []


rule tables:
    input:
        add=RESULTS + "/add.csv",
    output:
        TABLES,
        headline=RESULTS + "/headline.md",
    params:
        folder=RESULTS + "/tables",
    log:
        LOGS + "/tables.log",
    shell:
        "python scripts/tables.py --add {input.add} --folder {params.folder}"
        " --headline {output.headline} --log {log}"


rule figures:
    input:
        add=RESULTS + "/add.csv",
        curves=expand(CURVE, network=list(PLAN.networks)),
    output:
        pdf=expand(RESULTS + "/figures/{name}.pdf", name=FIGURES),
        png=[
            report(
                RESULTS + f"/figures/{name}.png",
                category="Training" if name.startswith("training") else "Delays",
                labels={"what": name.replace("_", ", ")},
                caption=f"../report/{name.split('_')[0]}.rst",
            )
            for name in FIGURES
        ],
    params:
        folder=RESULTS + "/figures",
    log:
        LOGS + "/figures.log",
    shell:
        "python scripts/figures.py --add {input.add} --curves {input.curves}"
        " --folder {params.folder} --log {log}"


rule document:
    input:
        add=RESULTS + "/add.csv",
        tables=[path for path in TABLES if path.endswith(".tex")],
        figures=expand(RESULTS + "/figures/{name}.pdf", name=FIGURES),
    output:
        report(
            RESULTS + "/paper.pdf",
            category="Document",
            labels={"what": "all tables and figures"},
            caption="../report/document.rst",
        ),
    params:
        settings=as_argument(SETTINGS.report),
    log:
        LOGS + "/document.log",
    shell:
        "python scripts/document.py --settings {params.settings:q} --add {input.add}"
        " --tables {input.tables} --figures {input.figures} --output {output} --log {log}"


rule notebook:
    input:
        notebook="notebooks/{name}.ipynb",
        add=RESULTS + "/add.csv",
        figures=rules.figures.output.png,
    output:
        report(
            RESULTS + "/notebooks/{name}.html",
            category="Notebooks",
            labels={"what": "{name}"},
            caption="../report/notebook.rst",
        ),
    params:
        results=RESULTS,
    # Kernels started side by side can pick the same port.
    retries: 2
    resources:
        kernel=1,
    log:
        LOGS + "/notebook/{name}.log",
    shell:
        "python scripts/notebook.py --notebook {input.notebook} --results {params.results}"
        " --output {output} --log {log}"


rule everything_to_report:
    input:
        RESULTS + "/add.csv",
        TABLES,
        rules.figures.output,
        expand(RESULTS + "/notebooks/{name}.html", name=NOTEBOOKS),
        DOCUMENT,


rule report:
    input:
        rules.everything_to_report.input,
    output:
        RESULTS + "/report.html",
    params:
        config=as_argument(SETTINGS),
    log:
        LOGS + "/report.log",
    shell:
        "python scripts/report.py --config {params.config:q} --target everything_to_report"
        " --output {output} --log {log}"
