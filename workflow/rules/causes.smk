"""Root causes: where shifts flow onwards on random graphs, and of recorded faults."""

STUDIES = list(PLAN.studies())
PROPAGATION = (
    [f"{RESULTS}/{name}.csv" for name in ("propagation", "propagation_compared")]
    + [f"{RESULTS}/root_cause.json"]
    if STUDIES
    else []
)


rule propagation:
    input:
        networks=lambda w: [
            CHECKPOINT.format(network=network)
            for network in PLAN.study_networks(w.study).values()
        ],
    output:
        delays=STUDY,
        example=STUDY_EXAMPLE,
    log:
        f"{LOGS}/propagation/{{study}}.log",
    wildcard_constraints:
        study=names(STUDIES),
    # Long: early, so that nobody waits for it in the end.
    priority: 10
    params:
        code=lambda w: code_of("propagation", PLAN.study_job(w.study)),
        settings=lambda w: as_argument(PLAN.study_job(w.study)),
        given=lambda w: " ".join(
            f"--given {method}={CHECKPOINT.format(network=network)}"
            for method, network in PLAN.study_networks(w.study).items()
        ),
    shell:
        "python scripts/propagation.py --settings {params.settings:q} {params.given}"
        " --output {output.delays} --example {output.example} --log {log}"


rule gather_propagation:
    input:
        graphs=expand(STUDY, study=STUDIES),
        example=expand(STUDY_EXAMPLE, study=STUDIES[:1]),
    output:
        delays=f"{RESULTS}/propagation.csv",
        compared=f"{RESULTS}/propagation_compared.csv",
        example=f"{RESULTS}/root_cause.json",
    log:
        f"{LOGS}/gather_propagation.log",
    params:
        code=code_of("gather_propagation"),
        confidence=SETTINGS.evaluation.confidence,
    shell:
        "python scripts/gather_propagation.py --graphs {input.graphs} --told {input.example}"
        " --confidence {params.confidence} --output {output.delays}"
        " --compared {output.compared} --example {output.example} --log {log}"


NAMED = f"{RESULTS}/named_{{scenario}}.csv"
WITH_CAUSES = expand(NAMED, scenario=PLAN.with_causes())


rule name_causes:
    input:
        streams=lambda w: streams_of(w.scenario),
        events=lambda w: events_of(w.scenario),
        origins="data/reference/tep_origins.yaml",
        limits=lambda w: [
            LIMITS.format(limits=PLAN.limits_of(run))
            for run in PLAN.accusers(w.scenario)
        ],
        given=lambda w: [
            path
            for run in PLAN.accusers(w.scenario)
            for name, path in given_to(run).items()
            if name != "paper"
        ],
    output:
        NAMED,
    log:
        f"{LOGS}/name_causes/{{scenario}}.log",
    params:
        code=lambda w: code_of("name_causes", PLAN.name_causes_job(w.scenario)),
        settings=lambda w: as_argument(PLAN.name_causes_job(w.scenario)),
        given=lambda w: given_by_run(
            PLAN.accusers(w.scenario), f"{w.scenario}.", without=["paper"]
        ),
    shell:
        "python scripts/name_causes.py --settings {params.settings:q} --streams {input.streams}"
        " --events {input.events} --origins {input.origins} --limits {input.limits}"
        " --given {params.given} --output {output} --log {log}"
