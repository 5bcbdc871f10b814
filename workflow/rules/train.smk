"""Training: each network once, however many tables use it."""

# What all protocols need is trained by `train`, the rest by a rule that says for which.
for protocols, runs in PLAN.trainings().items():
    part = "" if protocols == tuple(SETTINGS.protocols) else "_" + "_".join(protocols)
    TRAIN = job("train", protocols=protocols)

    rule:
        name:
            f"train{part}"
        input:
            unpack(TRAIN.inputs),
        output:
            **TRAIN.outputs,
        log:
            TRAIN.log,
        wildcard_constraints:
            run=names(run.id for run in runs),
        params:
            **TRAIN.params,
        shell:
            TRAIN.shell


TRAIN_EQUIVARIANT = job("train_equivariant")


rule train_equivariant:
    output:
        **TRAIN_EQUIVARIANT.outputs,
    log:
        TRAIN_EQUIVARIANT.log,
    wildcard_constraints:
        network=names(PLAN.shared_networks()),
    priority: 10
    params:
        **TRAIN_EQUIVARIANT.params,
    shell:
        TRAIN_EQUIVARIANT.shell


SUMMARISE_TRAINING = job("summarise_training")


rule summarise_training:
    input:
        unpack(SUMMARISE_TRAINING.inputs),
    output:
        **SUMMARISE_TRAINING.outputs,
    log:
        SUMMARISE_TRAINING.log,
    params:
        **SUMMARISE_TRAINING.params,
    shell:
        SUMMARISE_TRAINING.shell
