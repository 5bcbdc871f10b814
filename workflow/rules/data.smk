"""Streams, simulated or recorded, and the shifts injected into them."""


rule simulate:
    output:
        streams=STREAMS,
        facts=STREAM_FACTS,
    log:
        f"{LOGS}/simulate/{{source}}.log",
    wildcard_constraints:
        source=names(PLAN.sources_of("simulation")),
    params:
        code=code_of("simulate"),
        settings=lambda w: as_argument(PLAN.simulate_job(w.source)),
    shell:
        "python scripts/simulate.py --settings {params.settings:q}"
        " --output {output.streams} --facts {output.facts} --log {log}"


rule fetch:
    input:
        catalogue="data/sources.yaml",
        given=lambda w: given_path(w.source),
    output:
        FETCHED,
    log:
        f"{LOGS}/fetch/{{source}}.log",
    wildcard_constraints:
        source=names(PLAN.sources_of("tep", "flares")),
    # A cluster's nodes may not reach the network.
    localrule: True
    params:
        code=code_of("fetch"),
        settings=lambda w: as_argument(PLAN.fetch_job(w.source)),
        # Another mirror may have another data set.
        mirror=os.environ.get("CAUSALDQ_MIRROR", ""),
    shell:
        "python scripts/fetch.py --settings {params.settings:q} --catalogue {input.catalogue}"
        " --folder data/raw --output {output} --log {log}"


rule prepare:
    input:
        given=lambda w: input_of(w.source),
        moments="data/reference/flare_moments.json",
    output:
        streams=STREAMS,
        facts=STREAM_FACTS,
        events=EVENTS,
        tidy=TIDY,
    log:
        f"{LOGS}/prepare/{{source}}.log",
    wildcard_constraints:
        source=names(PLAN.sources_of("tep", "flares", "own")),
    params:
        code=code_of("prepare"),
        settings=lambda w: as_argument(PLAN.prepare_job(w.source)),
    shell:
        "python scripts/prepare.py --settings {params.settings:q} --input {input.given:q}"
        " --moments {input.moments} --output {output.streams} --facts {output.facts}"
        " --events {output.events} --tidy {output.tidy} --log {log}"


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
