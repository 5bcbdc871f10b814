"""Alarm limits, delays, and the tidy table."""

CALIBRATE = job("calibrate")


rule calibrate:
    input:
        unpack(CALIBRATE.inputs),
    output:
        **CALIBRATE.outputs,
    log:
        CALIBRATE.log,
    params:
        **CALIBRATE.params,
    shell:
        CALIBRATE.shell


EVALUATE = job("evaluate")


rule evaluate:
    input:
        unpack(EVALUATE.inputs),
    output:
        **EVALUATE.outputs,
    log:
        EVALUATE.log,
    params:
        **EVALUATE.params,
    shell:
        EVALUATE.shell


POLICY = job("policy")


rule policy:
    input:
        unpack(POLICY.inputs),
    output:
        **POLICY.outputs,
    log:
        POLICY.log,
    params:
        **POLICY.params,
    shell:
        POLICY.shell


AGGREGATE = job("aggregate")


rule aggregate:
    input:
        unpack(AGGREGATE.inputs),
    output:
        add=shown(AGGREGATE.outputs["add"], "Delays", "all cells, tidy", "add"),
        events=AGGREGATE.outputs["events"],
    log:
        AGGREGATE.log,
    params:
        **AGGREGATE.params,
    shell:
        AGGREGATE.shell


CROSS = job("cross")


rule cross:
    input:
        unpack(CROSS.inputs),
    output:
        **CROSS.outputs,
    log:
        CROSS.log,
    wildcard_constraints:
        policy=names(PLAN.crossed()),
    params:
        **CROSS.params,
    shell:
        CROSS.shell


OVERALL = job("overall")


rule overall:
    input:
        unpack(OVERALL.inputs),
    output:
        **OVERALL.outputs,
    log:
        OVERALL.log,
    params:
        **OVERALL.params,
    shell:
        OVERALL.shell


DESCRIBE = job("describe")


rule describe:
    input:
        unpack(DESCRIBE.inputs),
    output:
        **DESCRIBE.outputs,
    log:
        DESCRIBE.log,
    params:
        **DESCRIBE.params,
    shell:
        DESCRIBE.shell


SHOWCASE = job("showcase")


rule showcase:
    input:
        unpack(SHOWCASE.inputs),
    output:
        **SHOWCASE.outputs,
    log:
        SHOWCASE.log,
    params:
        **SHOWCASE.params,
    shell:
        SHOWCASE.shell


FAULTS = job("faults")


rule faults:
    input:
        unpack(FAULTS.inputs),
    output:
        **FAULTS.outputs,
    log:
        FAULTS.log,
    wildcard_constraints:
        scenario=names(PLAN.with_fault_table()),
    # Long: early, so that nobody waits for it in the end.
    priority: 10
    params:
        **FAULTS.params,
    shell:
        FAULTS.shell


FLARE_SCALE = job("flare_scale")

if SETTINGS.flare_scale is not None:

    rule flare_scale:
        input:
            unpack(FLARE_SCALE.inputs),
        output:
            **FLARE_SCALE.outputs,
        log:
            FLARE_SCALE.log,
        params:
            **FLARE_SCALE.params,
        shell:
            FLARE_SCALE.shell
