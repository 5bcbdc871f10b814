"""What people read: tables, figures, the PDF, notebooks, the HTML report."""

TABLES = expand(
    f"{RESULTS}/tables/{{name}}.{{kind}}",
    name=[f"{SETTINGS.scenarios[name].table}_{name}" for name in PLAN.evaluated()]
    + (["training"] if PLAN.networks else [])
    + ["theory_values", "theory_errors"],
    kind=["tex", "csv"],
)
FIGURES = [f"delay_{name}" for name in PLAN.evaluated()]
FIGURES += [
    f"training_{name}" for name in sorted({n.scenario for n in PLAN.networks.values()})
]
FIGURES += ["theory"]
NOTEBOOKS = ["detection", "theory"]
HAS_LATEX = shutil.which("latexmk") is not None
DOCUMENT = [f"{RESULTS}/paper.pdf"] if HAS_LATEX else []


rule tables:
    input:
        add=f"{RESULTS}/add.csv",
        training=[TRAINING] if PLAN.networks else [],
        theory=THEORY,
        claims="data/reference/claims.yaml",
    output:
        TABLES,
        headline=f"{RESULTS}/headline.md",
        claims=report(
            f"{RESULTS}/claims.csv",
            category="Claims",
            labels={"what": "verdicts"},
            caption="../report/claims.rst",
        ),
    log:
        f"{LOGS}/tables.log",
    params:
        code=code_of("tables"),
        folder=lambda w, output: str(Path(output[0]).parent),
        training=training_argument(),
    shell:
        "python scripts/tables.py --add {input.add} {params.training} --theory {input.theory}"
        " --claims {input.claims} --verdicts {output.claims} --folder {params.folder}"
        " --headline {output.headline} --log {log}"


rule figures:
    input:
        add=f"{RESULTS}/add.csv",
        curves=expand(CURVE, network=list(PLAN.networks)),
        theory=THEORY_CURVES,
    output:
        pdf=expand(f"{RESULTS}/figures/{{name}}.pdf", name=FIGURES),
        png=[
            report(
                f"{RESULTS}/figures/{name}.png",
                category={"training": "Training", "theory": "Theory"}.get(
                    name.split("_")[0], "Delays"
                ),
                labels={"what": name.replace("_", ", ")},
                caption=f"../report/{name.split('_')[0]}.rst",
            )
            for name in FIGURES
        ],
    log:
        f"{LOGS}/figures.log",
    params:
        code=code_of("figures"),
        folder=lambda w, output: str(Path(output.pdf[0]).parent),
    shell:
        "python scripts/figures.py --add {input.add} --curves {input.curves}"
        " --theory {input.theory}"
        " --folder {params.folder} --log {log}"


rule document:
    input:
        template="src/causaldq/report/templates/document.tex",
        add=f"{RESULTS}/add.csv",
        training=[TRAINING] if PLAN.networks else [],
        theory=THEORY,
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
        settings=as_argument(SETTINGS.report),
        training=training_argument(),
    shell:
        "python scripts/document.py --settings {params.settings:q} --add {input.add}"
        " {params.training} --theory {input.theory}"
        " --tables {input.tables} --figures {input.figures} --output {output} --log {log}"


rule notebook:
    input:
        notebook="notebooks/{name}.ipynb",
        add=f"{RESULTS}/add.csv",
        figures=rules.figures.output.png,
        theory=THEORY,
        theory_curves=THEORY_CURVES,
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
        results=lambda w, input: str(Path(input.add).parent),
    shell:
        "python scripts/notebook.py --notebook {input.notebook} --results {params.results}"
        " --output {output} --log {log}"


rule everything_to_report:
    input:
        f"{RESULTS}/add.csv",
        TABLES,
        rules.figures.output,
        expand(f"{RESULTS}/notebooks/{{name}}.html", name=NOTEBOOKS),
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
