"""Training of networks."""

from pathlib import Path

from causaldq.agent.checkpoint import Checkpoint, save_checkpoint
from causaldq.agent.settings import TrainJob
from causaldq.agent.train import train
from causaldq.code import code_hash
from causaldq.discovery.graph import Graph
from causaldq.files import read_arrays, sha256, write_rows
from causaldq.streams.model import StreamModel


def run_train(
    job: TrainJob, streams: Path, graph: Path, outputs: list[Path], curves: list[Path]
) -> None:
    """Train each network; goes on from where a killed run had come."""
    model = StreamModel.load(streams)
    arrays = read_arrays(graph, "directed", "undirected", "effects")
    whole = Graph(arrays["directed"], arrays["undirected"])
    unfinished: list[Path] = []
    for settings, output, curve in zip(job.networks, outputs, curves, strict=True):
        causal = settings.method.causal_state
        found, effects = (whole, arrays["effects"]) if causal else (None, None)
        resume = output.with_suffix(".partial.safetensors")
        unfinished.append(resume)
        trained = train(model, effects, settings, resume, found)
        write_rows(curve, list(trained.log[0]), trained.log)
        save_checkpoint(
            output,
            Checkpoint(trained.online, effects, settings, model.p),
            graph_hash=sha256(graph),
            data_hash=sha256(streams),
            code=code_hash(Path(__file__)),
        )
    # Only now: where a kill ends the job, the workflow takes what it had finished for lost.
    for resume in unfinished:
        resume.unlink(missing_ok=True)
