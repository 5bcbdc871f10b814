"""Training: each network once, however many tables use it."""

# What all protocols need is trained by `train`, the rest by a rule that says for which.
for protocols, runs in PLAN.trainings().items():
    part = "" if protocols == tuple(SETTINGS.protocols) else "_" + "_".join(protocols)

    rule:
        name:
            f"train{part}"
        input:
            streams=lambda w: streams_of(PLAN.trained[w.run].scenario),
            graph=lambda w: GRAPH.format(
                graph=PLAN.graph_of(PLAN.trained[w.run].scenario)
            ),
        output:
            checkpoints=of_protocols(CHECKPOINT, protocols),
            facts=of_protocols(CHECKPOINT_FACTS, protocols),
            curves=of_protocols(CURVE, protocols),
        log:
            f"{LOGS}/train/{{run}}.log",
        wildcard_constraints:
            run=names(run.id for run in runs),
        params:
            code=code_of("train"),
            # Of the wildcards alone: Snakemake does not compare what depends on the output.
            settings=lambda w, protocols=protocols: as_argument(
                PLAN.train_job([f"{w.run}.{protocol}" for protocol in protocols])
            ),
        shell:
            "python scripts/train.py --settings {params.settings:q}"
            " --streams {input.streams} --graph {input.graph}"
            " --output {output.checkpoints} --curve {output.curves} --log {log}"


rule train_equivariant:
    output:
        checkpoint=CHECKPOINT,
        facts=CHECKPOINT_FACTS,
        curve=CURVE,
    log:
        f"{LOGS}/train_equivariant/{{network}}.log",
    wildcard_constraints:
        network=names(PLAN.shared_networks()),
    priority: 10
    params:
        code=code_of("train_equivariant"),
        settings=lambda w: as_argument(PLAN.equivariant_job(w.network)),
    shell:
        "python scripts/train_equivariant.py --settings {params.settings:q}"
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
