"""Shifts that propagate downstream, on one random graph."""

from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.files import write_json, write_rows
from causaldq.learn.settings import ShiftPlan, TrainingSettings
from causaldq.pipeline import places
from causaldq.pipeline.propagation.example import example as told_in_full
from causaldq.pipeline.propagation.settings import Contestant, Knowledge, StudyJob
from causaldq.pipeline.propagation.study import COLUMNS, Study

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


def settings(plan: "Plan", study: str) -> StudyJob:
    config, wanted = plan.config, plan.config.propagation
    if wanted is None:
        raise TypeError("the config asks for no study of propagation")
    problem, graph = plan.studies()[study]
    size = wanted.problems[problem]
    # Of the paper's agents: on shifts that begin anywhere, as few as the study has.
    shifts = plan.share(
        ShiftPlan, config.agent, protocol="fair", places="first", k=min(wanted.roots),
        cases=["case_a"], delta=min(wanted.deltas), sigmas=[0.0], propagate=True,
    )  # fmt: skip

    def contestant(method: str, told: Knowledge) -> Contestant:
        training = None
        if learned := config.learned.get(method):
            training = plan.share(
                TrainingSettings,
                size,
                network=f"propagation.{study}.{method}",
                method=learned,
                hyperparameters=config.hyperparameters[size.hyperparameters],
                plan=shifts,
            )
        options = config.options_of(method)
        return Contestant(method=method, options=options, told=told, training=training)

    left_out = config.learned if graph >= wanted.agent_graphs else {}
    return plan.share(
        StudyJob,
        wanted,
        config.calibration,
        config.evaluation,
        problem=problem,
        size=size,
        graph=graph,
        weights=(wanted.weight_low, wanted.weight_high),
        contestants=[
            *(
                contestant(method, "truth")
                for method in wanted.told_truth
                if method not in left_out
            ),
            *(contestant(method, "rows") for method in wanted.told_rows if method not in left_out),
        ],
        calibration_steps=int(wanted.horizon_factor * config.calibration.arl0),
    )


def inputs(plan: "Plan", study: str) -> "Files":
    networks = plan.study_networks(study).items()
    return {"given": {name: plan.place(places.CHECKPOINT, network=one) for name, one in networks}}


OUTPUTS = {"output": places.STUDY, "example": places.STUDY_EXAMPLE}


def run(job: StudyJob, *, given: dict[str, Path], output: Path, example: Path) -> None:
    """Shift causes and their effects on one random graph: who alarms first and names the cause."""
    study = Study(job, given)
    write_rows(output, COLUMNS, list(study.results()))
    write_json(example, told_in_full(study))
