"""Training of the one network for all problems."""

from pathlib import Path

from causaldq.code import code_hash
from causaldq.equivariant.checkpoint import Equivariant, save_equivariant
from causaldq.equivariant.settings import EquivariantJob
from causaldq.equivariant.train import train_equivariant
from causaldq.files import write_rows


def run_train_equivariant(job: EquivariantJob, output: Path, curve: Path) -> None:
    """Train it, and write its curve and its checkpoint."""
    trained = train_equivariant(job)
    write_rows(curve, list(trained.log[0]), trained.log)
    save_equivariant(output, Equivariant(trained.weights, job), code_hash(Path(__file__)))
