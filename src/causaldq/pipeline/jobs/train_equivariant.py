"""Training of the one network for all problems."""

from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.files import write_rows
from causaldq.learn.equivariant.settings import EquivariantJob
from causaldq.pipeline import places
from causaldq.pipeline.code import code_hash

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Plan


def settings(plan: "Plan", network: str) -> EquivariantJob:
    from causaldq.methods.registry import index_methods

    config, kind = plan.config, index_methods()[plan.shared_networks()[network]]
    return plan.share(
        EquivariantJob,
        network=network,
        causal=kind.graph != "none",
        training=config.equivariant,
        filter=config.baselines.bayes_posterior,
    )


OUTPUTS = {
    "checkpoint": places.CHECKPOINT,
    "facts": places.CHECKPOINT_FACTS,
    "curve": places.CURVE,
}


def run(job: EquivariantJob, *, checkpoint: Path, curve: Path) -> None:
    """Train the one network for all problems, on problems of its own."""
    from causaldq.learn.equivariant.checkpoint import Equivariant, save_equivariant
    from causaldq.learn.equivariant.train import train_equivariant

    trained = train_equivariant(job)
    write_rows(curve, list(trained.log[0]), trained.log)
    save_equivariant(checkpoint, Equivariant(trained.weights, job), code_hash(Path(__file__)))
