"""What people read: tables, figures, the PDF, notebooks, the HTML report."""

TABLES = job("tables")


rule tables:
    input:
        unpack(TABLES.inputs),
    output:
        **TABLES.outputs,
    log:
        TABLES.log,
    params:
        **TABLES.params,
    shell:
        TABLES.shell


CLAIMS = job("claims")


rule claims:
    input:
        unpack(CLAIMS.inputs),
    output:
        output=shown(CLAIMS.outputs["output"], "Claims", "verdicts", "claims"),
        cells=shown(
            CLAIMS.outputs["cells"],
            "Claims",
            "cells behind the verdicts",
            "claim_cells",
        ),
        compared=CLAIMS.outputs["compared"],
    log:
        CLAIMS.log,
    params:
        **CLAIMS.params,
    shell:
        CLAIMS.shell


FIGURES = {figure.name: figure for figure in catalogue(SETTINGS).figures}

# Most figures show no delays, and need not wait for them.
for part in ("figures", "pictures"):
    DRAWN = job("figures", record=part, of_delays=part == "figures")
    if not DRAWN.outputs["pdf"]:
        continue

    rule:
        name:
            part
        input:
            unpack(DRAWN.inputs),
        output:
            pdf=DRAWN.outputs["pdf"],
            png=[
                shown(
                    path,
                    FIGURES[Path(path).stem].category,
                    Path(path).stem.replace("_", " "),
                    FIGURES[Path(path).stem].kind,
                )
                for path in DRAWN.outputs["png"]
            ],
        log:
            DRAWN.log,
        params:
            **DRAWN.params,
        shell:
            DRAWN.shell


METRICS = job("metrics")


rule metrics:
    input:
        unpack(METRICS.inputs),
    output:
        **METRICS.outputs,
    log:
        METRICS.log,
    params:
        **METRICS.params,
    shell:
        METRICS.shell


SMALL_FILES = job("small_files")


rule small_files:
    input:
        unpack(SMALL_FILES.inputs),
    output:
        **SMALL_FILES.outputs,
    log:
        SMALL_FILES.log,
    params:
        **SMALL_FILES.params,
    shell:
        SMALL_FILES.shell


PROVENANCE = job("provenance")


rule provenance:
    input:
        unpack(PROVENANCE.inputs),
    output:
        **PROVENANCE.outputs,
    log:
        PROVENANCE.log,
    params:
        **PROVENANCE.params,
        # Other work may give the same results, and is to be told of all the same.
        work=code_of_everything(),
        settings=SETTINGS.as_argument(),
    shell:
        PROVENANCE.shell


DOCUMENT = job("document")


rule document:
    input:
        unpack(DOCUMENT.inputs),
    output:
        output=shown(
            DOCUMENT.outputs["output"],
            "Document",
            "the paper's tables and figures",
            "document",
        ),
        appendix=shown(
            DOCUMENT.outputs["appendix"],
            "Document",
            "all other tables and figures",
            "document",
        ),
    log:
        DOCUMENT.log,
    params:
        **DOCUMENT.params,
    shell:
        DOCUMENT.shell


NOTEBOOK = job("notebook")


rule notebook:
    input:
        unpack(NOTEBOOK.inputs),
    output:
        output=shown(NOTEBOOK.outputs["output"], "Notebooks", "{name}", "notebook"),
    log:
        NOTEBOOK.log,
    params:
        **NOTEBOOK.params,
    shell:
        NOTEBOOK.shell


CARDS = job("cards")


rule cards:
    input:
        unpack(CARDS.inputs),
    output:
        **CARDS.outputs,
    log:
        CARDS.log,
    params:
        **CARDS.params,
        # Other work may give the same results, and is to be told of all the same.
        work=code_of_everything(),
    shell:
        CARDS.shell


FRONT_PAGE = job("front_page")
if PLAN.is_plant:
    FRONT_PAGE = job("plant_page")


rule front_page:
    input:
        unpack(FRONT_PAGE.inputs),
    output:
        # The report sorts categories by name.
        output=shown(
            FRONT_PAGE.outputs["output"], "At a glance", "overview", "overview"
        ),
    log:
        FRONT_PAGE.log,
    params:
        **FRONT_PAGE.params,
    shell:
        FRONT_PAGE.shell


REPORT = job("report")


rule everything_to_report:
    input:
        unpack(REPORT.inputs),


rule report:
    input:
        unpack(REPORT.inputs),
    output:
        **REPORT.outputs,
    log:
        REPORT.log,
    params:
        **REPORT.params,
    shell:
        REPORT.shell
