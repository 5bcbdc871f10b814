"""Causal DQ: from data to the tables and figures of the paper.

snakemake -j2                           the quick profile
snakemake -j2 --config profile=paper    the whole paper
"""

from snakemake.utils import min_version

min_version("9.0")


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/discover.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/theory.smk"
include: "workflow/rules/causes.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/targets.smk"


rule all:
    default_target: True
    input:
        rules.front_page.output if PLAN.is_plant else rules.report.output,
        rules.small_files.output,
        rules.metrics.output,
        rules.cards.output,
        list(DOCUMENT.outputs.values()) if PLAN.has_latex else [],
        PLAN.place_all(POLICY.outputs["output"], run=PLAN.policies()),
