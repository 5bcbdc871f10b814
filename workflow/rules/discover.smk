"""Causal discovery: one graph for those who trust it, several for those who weigh them."""


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


rule possible_graphs:
    input:
        streams=STREAMS,
    output:
        POSSIBLE_GRAPHS,
    log:
        f"{LOGS}/possible_graphs/{{source}}.log",
    params:
        code=code_of("possible_graphs"),
        settings=lambda w: as_argument(PLAN.possible_graphs_job(w.source)),
    shell:
        "python scripts/possible_graphs.py --settings {params.settings:q}"
        " --streams {input.streams} --output {output} --log {log}"
