"""Streams, and the shifts injected into them."""


rule simulate:
    output:
        STREAMS,
    params:
        settings=lambda w: as_argument(PLAN.simulate_job(w.source)),
    log:
        LOGS + "/simulate/{source}.log",
    shell:
        "python scripts/simulate.py --settings {params.settings:q} --output {output} --log {log}"


rule inject:
    input:
        streams=lambda w: STREAMS.format(source=PLAN.source_of(w.scenario)),
    output:
        INJECTED,
    params:
        settings=lambda w: as_argument(PLAN.inject_job(w.scenario)),
    log:
        LOGS + "/inject/{scenario}.log",
    shell:
        "python scripts/inject.py --settings {params.settings:q}"
        " --streams {input.streams} --output {output} --log {log}"
