"""Checkpoints: weights in safetensors, facts in a JSON beside them.

Loading reads tensors and text; it never executes anything.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from causaldq.errors import CheckpointError
from causaldq.files import read_json, sha256, write_atomically, write_json
from causaldq.learn.settings import TrainingSettings
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
    write_atomically(path, lambda temporary: save_file(tensors, temporary))
    write_json(
        facts_path(path),
        {
            "p": checkpoint.p,
            "m": checkpoint.settings.m,
            "settings": checkpoint.settings.model_dump(),
            "weights_sha256": sha256(path),
            "graph_sha256": graph_hash,
            "data_sha256": data_hash,
            "code": code,
        },
    )


def facts_path(path: Path) -> Path:
    return path.with_suffix(".json")


def load_checkpoint(path: Path, expected: dict[str, Any] | None = None) -> Checkpoint:
    """Read a checkpoint; refuse one that is damaged or differs from `expected`.

    `expected` may name p, m and any training settings, as in the JSON.
    """
    facts = _read_facts(path)
    if not path.exists():
        raise CheckpointError(f"{path} does not exist; train it first")
    if sha256(path) != facts["weights_sha256"]:
        raise CheckpointError(f"{path} is not what {facts_path(path).name} says; train it again")
    for where, wanted, found in differences(expected or {}, facts):
        raise CheckpointError(f"{path}: {where} is {found!r}, but {wanted!r} is asked for")
    try:
        settings = TrainingSettings.model_validate(facts["settings"])
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise CheckpointError(
            f"{facts_path(path)}: settings.{place} does not fit this version; train it again"
        ) from None
    try:
        with safe_open(path, framework="np") as archive:
            tensors = {name: archive.get_tensor(name) for name in archive.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise CheckpointError(f"{path} is damaged ({error}); train it again") from None
    effects = tensors.pop("effects", None)
    rows = 2 if effects is None else 3
    sizes = [rows * facts["p"], *settings.agent.hidden, facts["p"]]
    weights = {key.removeprefix("online."): tensor for key, tensor in tensors.items()}
    try:
        online = Perceptron.from_tensors(weights, sizes)
    except ValueError:
        raise CheckpointError(
            f"{path}: the weights do not fit the network of its settings; train it again"
        ) from None
    as_doubles = None if effects is None else np.asarray(effects, dtype=np.float64)
    return Checkpoint(online, as_doubles, settings, facts["p"])


def _read_facts(path: Path) -> dict[str, Any]:
    facts = read_json(facts_path(path))
    needed = {"p", "m", "settings", "weights_sha256"}
    if not isinstance(facts, dict) or not needed <= set(facts):
        raise CheckpointError(
            f"{facts_path(path)} does not hold {', '.join(sorted(needed))}; train it again"
        )
    return facts


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
