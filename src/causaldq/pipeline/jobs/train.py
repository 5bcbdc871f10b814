"""Training of networks."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.discovery.graph import Graph
from causaldq.files import read_arrays, sha256, write_rows
from causaldq.learn.settings import ShiftPlan, TrainingSettings
from causaldq.models.streams import StreamModel
from causaldq.pipeline import places
from causaldq.pipeline.code import code_hash
from causaldq.setting import Protocol, Settings

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


class TrainJob(Settings):
    """Networks trained one after the other: to start a job takes longer than it looks."""

    networks: list[TrainingSettings]


def settings(plan: "Plan", run: str, protocols: Iterable[Protocol]) -> TrainJob:
    config, wanted = plan.config, plan.trained[run]
    scenario = config.scenarios[wanted.scenario]

    def network(protocol: Protocol) -> TrainingSettings:
        shifts = {"protocol": protocol, "delta": scenario.delta_train}
        return plan.share(
            TrainingSettings,
            scenario,
            network=f"{run}.{protocol}",
            method=config.learned[wanted.method],
            hyperparameters=config.hyperparameters[scenario.hyperparameters],
            statistic=config.statistic_of(wanted.scenario),
            plan=plan.share(ShiftPlan, scenario, config.agent, **shifts),
        )

    return TrainJob(networks=[network(protocol) for protocol in protocols])


def inputs(plan: "Plan", run: str, protocols: Iterable[Protocol]) -> "Files":
    scenario = plan.trained[run].scenario
    graph = plan.place(places.GRAPH, graph=plan.graph_of(scenario))
    return {"streams": plan.streams_of(scenario), "graph": graph}


def outputs(plan: "Plan", protocols: Iterable[Protocol]) -> "Files":
    def of_protocols(template: str) -> list[str]:
        """One for each protocol, of one run."""
        return [template.replace("{network}", f"{{run}}.{protocol}") for protocol in protocols]

    return {
        "checkpoints": of_protocols(places.CHECKPOINT),
        "facts": of_protocols(places.CHECKPOINT_FACTS),
        "curves": of_protocols(places.CURVE),
    }


def run(
    job: TrainJob, *, streams: Path, graph: Path, checkpoints: list[Path], curves: list[Path]
) -> None:
    """Train double Q-networks in turn. Killed and started again, it resumes where it was."""
    from causaldq.learn.checkpoint import Checkpoint, save_checkpoint
    from causaldq.learn.train import train

    model = StreamModel.load(streams)
    arrays = read_arrays(graph, "directed", "undirected", "effects")
    whole = Graph(arrays["directed"], arrays["undirected"])
    unfinished: list[Path] = []
    code = code_hash(Path(__file__))
    for settings, output, curve in zip(job.networks, checkpoints, curves, strict=True):
        causal = settings.method.causal_state
        found, effects = (whole, arrays["effects"]) if causal else (None, None)
        resume = output.with_suffix(".partial.safetensors")
        unfinished.append(resume)
        trained = train(model, effects, settings, resume, found, code)
        write_rows(curve, list(trained.log[0]), trained.log)
        save_checkpoint(
            output,
            Checkpoint(trained.online, effects, settings, model.p),
            graph_hash=sha256(graph),
            data_hash=sha256(streams),
            code=code,
        )
    # Only now: where a kill ends the job, the workflow takes what it had finished for lost.
    for resume in unfinished:
        resume.unlink(missing_ok=True)
