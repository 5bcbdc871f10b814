"""Causal discovery."""


rule discover:
    input:
        streams=STREAMS,
    output:
        graph=GRAPH,
        summary=GRAPH_SUMMARY,
    params:
        settings=lambda w: as_argument(PLAN.discover_job(w.source)),
    log:
        LOGS + "/discover/{source}.log",
    shell:
        "python scripts/discover.py --settings {params.settings:q}"
        " --streams {input.streams} --output {output.graph} --summary {output.summary}"
        " --log {log}"
