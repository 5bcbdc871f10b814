"""Causal discovery."""


rule discover:
    input:
        streams=STREAMS,
    output:
        graph=GRAPH,
        summary=GRAPH_SUMMARY,
    log:
        f"{LOGS}/discover/{{source}}.log",
    params:
        code=code_of("discover"),
        settings=lambda w: as_argument(PLAN.discover_job(w.source)),
    shell:
        "python scripts/discover.py --settings {params.settings:q}"
        " --streams {input.streams} --output {output.graph} --summary {output.summary}"
        " --log {log}"
