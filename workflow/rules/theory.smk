"""The paper's theorems, checked on problems that can be solved exactly."""


rule theory:
    output:
        checks=THEORY,
        curves=THEORY_CURVES,
    log:
        f"{LOGS}/theory.log",
    # Long, and nothing has to come before it: early, so that nobody waits for it in the end.
    priority: 10
    params:
        code=code_of("theory"),
        settings=lambda w: as_argument(PLAN.theory_job()),
    shell:
        "python scripts/theory.py --settings {params.settings:q}"
        " --output {output.checks} --curves {output.curves} --log {log}"
