"""The tidy results of other jobs, which everything that people read is made from. No job itself."""

from typing import TYPE_CHECKING

from causaldq.pipeline.jobs import (
    aggregate,
    claims,
    describe,
    faults,
    flare_scale,
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
        flare_scale: plan.config.flare_scale is not None,
    }
    results = [path for job, is_made in others.items() if is_made for path in job.OUTPUTS.values()]
    watched = plan.with_fault_table()
    cited = ["data/reference/cited_delays.csv"] if watched else []
    return [
        *delays(plan),
        *map(plan.place, results),
        *plan.place_all(name_causes.OUTPUTS["output"], scenario=plan.with_causes()),
        *(
            path
            for place in faults.OUTPUTS.values()
            for path in plan.place_all(place, scenario=watched)
        ),
        *cited,
        "data/reference/hyperparameters.csv",
    ]


def judged(plan: "Plan") -> list[str]:
    """The same, with the verdicts on the paper's claims."""
    # Where none of the paper's tables is measured, nothing can be said of its claims.
    verdicts = claims.OUTPUTS.values() if concerns(plan.config) else []
    return [*measured(plan), *map(plan.place, verdicts)]
