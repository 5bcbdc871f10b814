"""The paper's theorems, checked on problems that can be solved exactly."""

THEORY = job("theory")


rule theory:
    input:
        unpack(THEORY.inputs),
    output:
        **THEORY.outputs,
    log:
        THEORY.log,
    # Long, and nothing has to come before it: early, so that nobody waits for it in the end.
    priority: 10
    params:
        **THEORY.params,
    shell:
        THEORY.shell
