"""Causal discovery."""


rule discover:
    input:
        streams=lambda w: STREAMS.format(source=w.graph.partition(".")[0]),
    output:
        graph=GRAPH,
        summary=GRAPH_SUMMARY,
    log:
        f"{LOGS}/discover/{{graph}}.log",
    params:
        code=code_of("discover"),
        settings=lambda w: as_argument(PLAN.discover_job(w.graph)),
    shell:
        "python scripts/discover.py --settings {params.settings:q}"
        " --streams {input.streams} --output {output.graph} --summary {output.summary}"
        " --log {log}"
