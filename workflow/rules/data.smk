"""Streams, simulated or recorded, and the shifts injected into them."""

SIMULATE = job("simulate")


rule simulate:
    output:
        **SIMULATE.outputs,
    log:
        SIMULATE.log,
    wildcard_constraints:
        source=names(PLAN.simulated()),
    params:
        **SIMULATE.params,
    shell:
        SIMULATE.shell


FETCH = job("fetch")


rule fetch:
    input:
        unpack(FETCH.inputs),
    output:
        **FETCH.outputs,
    log:
        FETCH.log,
    wildcard_constraints:
        source=names(PLAN.fetched()),
    # A cluster's nodes may not reach the network.
    localrule: True
    params:
        **FETCH.params,
        # Another mirror may have another data set.
        mirror=os.environ.get("CAUSALDQ_MIRROR", ""),
    shell:
        FETCH.shell


PREPARE = job("prepare")


rule prepare:
    input:
        unpack(PREPARE.inputs),
    output:
        **PREPARE.outputs,
    log:
        PREPARE.log,
    wildcard_constraints:
        source=names(PLAN.recorded()),
    params:
        **PREPARE.params,
    shell:
        PREPARE.shell


INJECT = job("inject")


rule inject:
    input:
        unpack(INJECT.inputs),
    output:
        **INJECT.outputs,
    log:
        INJECT.log,
    params:
        **INJECT.params,
    shell:
        INJECT.shell
