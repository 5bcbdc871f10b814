"""Streams, and the shifts injected into them."""


rule simulate:
    output:
        STREAMS,
    log:
        f"{LOGS}/simulate/{{source}}.log",
    params:
        code=code_of("simulate"),
        settings=lambda w: as_argument(PLAN.simulate_job(w.source)),
    shell:
        "python scripts/simulate.py --settings {params.settings:q} --output {output} --log {log}"


rule inject:
    input:
        streams=lambda w: streams_of(w.scenario),
    output:
        INJECTED,
    log:
        f"{LOGS}/inject/{{scenario}}.log",
    params:
        code=code_of("inject"),
        settings=lambda w: as_argument(PLAN.inject_job(w.scenario)),
    shell:
        "python scripts/inject.py --settings {params.settings:q}"
        " --streams {input.streams} --output {output} --log {log}"
