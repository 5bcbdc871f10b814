"""Training of one network."""

from pathlib import Path

import pandas as pd

from causaldq.agent.checkpoint import Checkpoint, save_checkpoint
from causaldq.agent.settings import TrainingSettings
from causaldq.agent.train import train
from causaldq.code import code_hash
from causaldq.discovery.graph import Graph
from causaldq.files import read_arrays, sha256, write_csv
from causaldq.streams.model import StreamModel


def run_train(job: TrainingSettings, streams: Path, graph: Path, output: Path, log: Path) -> None:
    """Train one network; goes on from where a killed run had come."""
    model = StreamModel.load(streams)
    arrays = read_arrays(graph, "directed", "undirected", "effects")
    found = Graph(arrays["directed"], arrays["undirected"]) if job.method.causal_state else None
    effects = arrays["effects"] if job.method.causal_state else None
    resume = output.with_suffix(".partial.safetensors")
    trained = train(model, effects, job, resume, found)
    write_csv(log, pd.DataFrame(trained.log))
    save_checkpoint(
        output,
        Checkpoint(trained.online, effects, job, model.p),
        graph_hash=sha256(graph),
        data_hash=sha256(streams),
        code=code_hash(Path(__file__)),
    )
    resume.unlink(missing_ok=True)
