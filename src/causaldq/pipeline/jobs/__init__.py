"""The pipeline's jobs, one file each, in this order:

- its settings, a model, if it is given less than the whole config;
- `settings(plan, unit)`: how they follow from the plan;
- `inputs(plan, unit)` and `OUTPUTS`, or `outputs(plan)`: files by name, outputs as templates;
- `run(job, *, ...)`: the work. It depends on its arguments and on nothing else.

`unit` is the wildcard of the outputs. The arguments of `run` are the inputs and outputs by name,
and the command line of scripts/<job>.py is made from them: see `causaldq.pipeline.arguments`. The
rule of the workflow takes all of this from here: see `causaldq.pipeline.rules`.
"""
