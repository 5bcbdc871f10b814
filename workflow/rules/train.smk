"""Training: each network once, however many tables use it."""


rule train:
    input:
        streams=lambda w: streams_of(PLAN.networks[w.network].scenario),
        graph=lambda w: GRAPH.format(
            graph=PLAN.graph_of(PLAN.networks[w.network].scenario)
        ),
    output:
        checkpoint=CHECKPOINT,
        facts=CHECKPOINT_FACTS,
        curve=CURVE,
    log:
        f"{LOGS}/train/{{network}}.log",
    params:
        code=code_of("train"),
        settings=lambda w: as_argument(PLAN.train_job(w.network)),
    shell:
        "python scripts/train.py --settings {params.settings:q}"
        " --streams {input.streams} --graph {input.graph}"
        " --output {output.checkpoint} --curve {output.curve} --log {log}"


rule summarise_training:
    input:
        curves=expand(CURVE, network=list(PLAN.networks)),
        summaries=expand(GRAPH_SUMMARY, graph=PLAN.graphs()),
        published="data/reference/published.csv",
    output:
        summary=TRAINING,
        curves=CURVES,
        graphs=GRAPHS,
    log:
        f"{LOGS}/summarise_training.log",
    params:
        code=code_of("summarise_training"),
        settings=as_argument(SETTINGS),
    shell:
        "python scripts/summarise_training.py --settings {params.settings:q}"
        " --curves {input.curves} --summaries {input.summaries} --published {input.published}"
        " --output {output.summary} --tidy {output.curves} --graphs {output.graphs} --log {log}"
