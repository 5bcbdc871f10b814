"""Root causes: where shifts propagate downstream on random graphs, and of recorded faults."""

PROPAGATION = job("propagation")


rule propagation:
    input:
        unpack(PROPAGATION.inputs),
    output:
        **PROPAGATION.outputs,
    log:
        PROPAGATION.log,
    wildcard_constraints:
        study=names(PLAN.studies()),
    # Long: early, so that nobody waits for it in the end.
    priority: 10
    params:
        **PROPAGATION.params,
    shell:
        PROPAGATION.shell


GATHER_PROPAGATION = job("gather_propagation")


rule gather_propagation:
    input:
        unpack(GATHER_PROPAGATION.inputs),
    output:
        **GATHER_PROPAGATION.outputs,
    log:
        GATHER_PROPAGATION.log,
    params:
        **GATHER_PROPAGATION.params,
    shell:
        GATHER_PROPAGATION.shell


NAME_CAUSES = job("name_causes")


rule name_causes:
    input:
        unpack(NAME_CAUSES.inputs),
    output:
        **NAME_CAUSES.outputs,
    log:
        NAME_CAUSES.log,
    params:
        **NAME_CAUSES.params,
    shell:
        NAME_CAUSES.shell
