"""The tidy results of other jobs, which everything that people read is made from. No job itself."""

from typing import TYPE_CHECKING

from causaldq.pipeline.jobs import (
    aggregate,
    claims,
    describe,
    gather_propagation,
    name_causes,
    overall,
    showcase,
    summarise_training,
    theory,
)
from causaldq.pipeline.report.claims import concerns

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Plan


def delays(plan: "Plan") -> list[str]:
    """Delays of all runs."""
    return [plan.place(path) for job in (aggregate, overall) for path in job.OUTPUTS.values()]


def measured(plan: "Plan") -> list[str]:
    """All that was measured, and settings of the paper beside which ours are shown."""
    others = {
        describe: True,
        summarise_training: bool(plan.networks),
        theory: plan.config.theory is not None,
        showcase: plan.config.report.showcase is not None,
        gather_propagation: bool(plan.studies()),
    }
    results = [path for job, is_made in others.items() if is_made for path in job.OUTPUTS.values()]
    return [
        *delays(plan),
        *map(plan.place, results),
        *plan.place_all(name_causes.OUTPUTS["output"], scenario=plan.with_causes()),
        "data/reference/hyperparameters.csv",
    ]


def judged(plan: "Plan") -> list[str]:
    """The same, with the verdicts on the paper's claims."""
    # Where none of the paper's tables is measured, nothing can be said of its claims.
    verdicts = claims.OUTPUTS.values() if concerns(plan.config) else []
    return [*measured(plan), *map(plan.place, verdicts)]
