"""Causal discovery: one graph for those who trust it, several for those who weigh them."""

DISCOVER = job("discover")


rule discover:
    input:
        unpack(DISCOVER.inputs),
    output:
        **DISCOVER.outputs,
    log:
        DISCOVER.log,
    params:
        **DISCOVER.params,
    shell:
        DISCOVER.shell


POSSIBLE_GRAPHS = job("possible_graphs")


rule possible_graphs:
    input:
        unpack(POSSIBLE_GRAPHS.inputs),
    output:
        **POSSIBLE_GRAPHS.outputs,
    log:
        POSSIBLE_GRAPHS.log,
    params:
        **POSSIBLE_GRAPHS.params,
    shell:
        POSSIBLE_GRAPHS.shell
