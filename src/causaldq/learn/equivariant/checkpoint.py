"""Checkpoints of the network for all problems."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from causaldq.learn.equivariant.settings import EquivariantJob
from causaldq.learn.weights import load_facts, load_weights, misfit, save_weights
from causaldq.methods.equivariant_network import Array, shapes


@dataclass(frozen=True)
class Equivariant:
    """Weights by name, and how they came about."""

    weights: Mapping[str, Array]
    job: EquivariantJob


def save_equivariant(path: Path, network: Equivariant, code: str) -> None:
    """Write `path` (.safetensors) and its JSON."""
    save_weights(path, network.weights, {"settings": network.job.model_dump(), "code": code})


def load_equivariant(path: Path) -> Equivariant:
    """Read a network; refuse one that is damaged or does not fit its settings."""
    job, weights = load_weights(path, EquivariantJob, load_facts(path)["settings"])
    wanted = shapes(job.training.hidden, causal=job.causal)
    if {name: weight.shape for name, weight in weights.items()} != wanted:
        raise misfit(path)
    return Equivariant(weights, job)
