"""Alarm limits, delays, and the tidy table."""


rule calibrate:
    input:
        streams=lambda w: streams_of(PLAN.limits[w.limits].scenario),
        given=lambda w: list(given_to(PLAN.limits[w.limits]).values()),
    output:
        LIMITS,
    log:
        f"{LOGS}/calibrate/{{limits}}.log",
    params:
        code=lambda w: code_of("calibrate", PLAN.calibrate_job(w.limits)),
        settings=lambda w: as_argument(PLAN.calibrate_job(w.limits)),
        given=lambda w: given_arguments(PLAN.limits[w.limits]),
    shell:
        "python scripts/calibrate.py --settings {params.settings:q}"
        " --streams {input.streams} {params.given} --output {output} --log {log}"


rule evaluate:
    input:
        streams=lambda w: streams_of(PLAN.runs[w.run].scenario),
        injected=lambda w: INJECTED.format(scenario=PLAN.runs[w.run].scenario),
        limits=lambda w: LIMITS.format(limits=PLAN.limits_of(PLAN.runs[w.run])),
        given=lambda w: list(given_to(PLAN.runs[w.run]).values()),
        events=lambda w: events_of(PLAN.runs[w.run].scenario),
    output:
        RUN,
    log:
        f"{LOGS}/evaluate/{{run}}.log",
    params:
        code=lambda w: code_of("evaluate", PLAN.evaluate_job(w.run)),
        settings=lambda w: as_argument(PLAN.evaluate_job(w.run)),
        given=lambda w: given_arguments(PLAN.runs[w.run]),
        events=lambda w, input: f"--events {input.events}" if input.events else "",
    shell:
        "python scripts/evaluate.py --settings {params.settings:q}"
        " --streams {input.streams} --injected {input.injected} --limits {input.limits}"
        " {params.given} {params.events} --output {output} --log {log}"


rule policy:
    input:
        streams=lambda w: streams_of(PLAN.runs[w.run].scenario),
        limits=lambda w: LIMITS.format(limits=PLAN.limits_of(PLAN.runs[w.run])),
        given=lambda w: list(given_to(PLAN.runs[w.run]).values()),
    output:
        POLICY,
    log:
        f"{LOGS}/policy/{{run}}.log",
    params:
        code=lambda w: code_of("policy", PLAN.policy_job(w.run)),
        settings=lambda w: as_argument(PLAN.policy_job(w.run)),
        given=lambda w: given_arguments(PLAN.runs[w.run]),
    shell:
        "python scripts/policy.py --settings {params.settings:q} --streams {input.streams}"
        " --limits {input.limits} {params.given} --output {output} --log {log}"


rule aggregate:
    input:
        runs=expand(RUN, run=list(PLAN.runs)),
        limits=expand(LIMITS, limits=list(PLAN.limits)),
        facts=expand(STREAM_FACTS, source=list(SETTINGS.sources)),
        published="data/reference/published.csv",
    output:
        add=report(
            f"{RESULTS}/add.csv",
            category="Delays",
            labels={"what": "all cells, tidy"},
            caption="../report/add.rst",
        ),
        events=f"{RESULTS}/events.csv",
    log:
        f"{LOGS}/aggregate.log",
    params:
        code=code_of("aggregate"),
        settings=as_argument(SETTINGS),
    shell:
        "python scripts/aggregate.py --settings {params.settings:q} --runs {input.runs}"
        " --limits {input.limits} --facts {input.facts} --published {input.published}"
        " --output {output.add} --events {output.events} --log {log}"


rule cross:
    input:
        streams=lambda w: streams_of(SETTINGS.cross.scenario),
        injected=lambda w: INJECTED.format(scenario=SETTINGS.cross.scenario),
        given=lambda w: list(given_to(PLAN.crossed()[w.policy]).values()),
    output:
        CROSSED,
    log:
        f"{LOGS}/cross/{{policy}}.log",
    wildcard_constraints:
        policy=names(PLAN.crossed()),
    params:
        code=lambda w: code_of("cross", PLAN.cross_job(w.policy)),
        settings=lambda w: as_argument(PLAN.cross_job(w.policy)),
        given=lambda w: given_by_run(
            [PLAN.crossed()[w.policy]],
            f"{SETTINGS.cross.scenario}.",
            without=["paper"],
        ),
    shell:
        "python scripts/cross.py --settings {params.settings:q} --streams {input.streams}"
        " --injected {input.injected} --given {params.given} --output {output} --log {log}"


rule overall:
    input:
        runs=expand(RUN, run=PLAN.compared()),
        facts=expand(STREAM_FACTS, source=list(SETTINGS.sources)),
        crossed=expand(CROSSED, policy=list(PLAN.crossed())),
    output:
        overall=OVERALL,
        cross=CROSS,
    log:
        f"{LOGS}/overall.log",
    params:
        code=code_of("overall"),
        settings=as_argument(SETTINGS),
    shell:
        "python scripts/overall.py --settings {params.settings:q} --runs {input.runs}"
        " --facts {input.facts} --crossed {input.crossed} --output {output.overall}"
        " --cross {output.cross} --log {log}"


rule describe:
    input:
        catalogue="data/sources.yaml",
        facts=expand(STREAM_FACTS, source=list(SETTINGS.sources)),
        injected=expand(INJECTED, scenario=PLAN.drawn().values()),
        # Where nothing is trained, nobody needs a graph.
        streams=expand(STREAMS, source=list(SETTINGS.sources) if PLAN.networks else []),
        graphs=expand(GRAPH, graph=list(SETTINGS.sources) if PLAN.networks else []),
    output:
        sources=SOURCES,
        paths=PATHS,
        edges=EDGES,
    log:
        f"{LOGS}/describe.log",
    params:
        code=code_of("describe"),
        settings=as_argument(SETTINGS),
    shell:
        "python scripts/describe.py --settings {params.settings:q} --catalogue {input.catalogue}"
        " --facts {input.facts} --injected {input.injected} --streams {input.streams}"
        " --graphs {input.graphs} --sources {output.sources} --paths {output.paths}"
        " --edges {output.edges} --log {log}"


rule showcase:
    input:
        streams=lambda w: streams_of(SETTINGS.report.showcase),
        injected=INJECTED.format(scenario=SETTINGS.report.showcase),
        limits=sorted(
            {LIMITS.format(limits=PLAN.limits_of(run)) for run in PLAN.showcase_runs()}
        ),
        given=[path for run in PLAN.showcase_runs() for path in given_to(run).values()],
    output:
        watch=f"{RESULTS}/watch.csv",
        tradeoff=f"{RESULTS}/tradeoff.csv",
        places=f"{RESULTS}/places.csv",
        looks=f"{RESULTS}/looks.csv",
    log:
        f"{LOGS}/showcase.log",
    params:
        code=lambda w: code_of("showcase", PLAN.showcase_job()),
        settings=lambda w: as_argument(PLAN.showcase_job()),
        given=given_by_run(PLAN.showcase_runs()),
    shell:
        "python scripts/showcase.py --settings {params.settings:q} --streams {input.streams}"
        " --injected {input.injected} --limits {input.limits}"
        " --given {params.given} --watch {output.watch}"
        " --tradeoff {output.tradeoff} --places {output.places}"
        " --looks {output.looks} --log {log}"
