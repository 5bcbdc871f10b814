"""Checkpoints of networks that learned one problem."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from causaldq.errors import CheckpointError
from causaldq.learn.settings import TrainingSettings
from causaldq.learn.weights import load_facts, load_weights, misfit, save_weights
from causaldq.methods.base import Problem
from causaldq.methods.causal_dq import CausalDq, Perceptron
from causaldq.types import Floats


@dataclass(frozen=True)
class Checkpoint:
    """A trained network with what it needs at test."""

    online: Perceptron
    effects: Floats | None
    """eta, if the state has a causal part."""
    settings: TrainingSettings
    p: int

    def method(self, problem: Problem, kind: type[CausalDq] = CausalDq) -> CausalDq:
        """The network at work."""
        return kind(problem, self.online, self.effects, self.settings.agent.unobserved_cap)


def save_checkpoint(
    path: Path, checkpoint: Checkpoint, *, graph_hash: str, data_hash: str, code: str
) -> None:
    """Write `path` (.safetensors) and its JSON."""
    tensors = {f"online.{key}": array for key, array in checkpoint.online.tensors().items()}
    if checkpoint.effects is not None:
        tensors["effects"] = checkpoint.effects
    facts = {
        "p": checkpoint.p,
        "m": checkpoint.settings.m,
        "settings": checkpoint.settings.model_dump(),
        "graph_sha256": graph_hash,
        "data_sha256": data_hash,
        "code": code,
    }
    save_weights(path, tensors, facts)


def load_checkpoint(path: Path, expected: dict[str, Any] | None = None) -> Checkpoint:
    """Read a checkpoint; refuse one that is damaged or differs from `expected`.

    `expected` may name p, m and any training settings, as in the JSON.
    """
    facts = load_facts(path, "p", "m")
    for where, wanted, found in differences(expected or {}, facts):
        raise CheckpointError(f"{path}: {where} is {found!r}, but {wanted!r} is asked for")
    settings, tensors = load_weights(path, TrainingSettings, facts["settings"])
    effects = tensors.pop("effects", None)
    rows = 2 if effects is None else 3
    sizes = [rows * facts["p"], *settings.agent.hidden, facts["p"]]
    weights = {key.removeprefix("online."): tensor for key, tensor in tensors.items()}
    try:
        online = Perceptron.from_tensors(weights, sizes)
    except ValueError:
        raise misfit(path) from None
    as_doubles = None if effects is None else np.asarray(effects, dtype=np.float64)
    return Checkpoint(online, as_doubles, settings, facts["p"])


def differences(
    expected: dict[str, Any], found: dict[str, Any], place: str = ""
) -> list[tuple[str, Any, Any]]:
    """Where two nested mappings differ, as (place, expected, found)."""
    result: list[tuple[str, Any, Any]] = []
    for key, wanted in expected.items():
        where = f"{place}{key}"
        here = found.get(key)
        if isinstance(wanted, dict) and isinstance(here, dict):
            result += differences(wanted, here, f"{where}.")
        elif wanted != here:
            result.append((where, wanted, here))
    return result
