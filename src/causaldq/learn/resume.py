"""Saving a training run halfway, so that a kill costs minutes and changes no byte."""

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from causaldq.files import canonical_json, write_atomically
from causaldq.learn.replay import Replay
from causaldq.models.streams import StreamModel
from causaldq.types import Floats

if TYPE_CHECKING:
    from causaldq.learn.learner import Learner
    from causaldq.learn.settings import TrainingSettings


def save_resume(
    path: Path,
    learner: "Learner",
    replay: Replay,
    rng: np.random.Generator,
    key: str,
    log: list[dict[str, Any]],
) -> None:
    """Save everything that training goes on from, under the key of what it trains on."""
    tensors: dict[str, Tensor] = {}
    for name, network in (("online", learner.online), ("target", learner.target)):
        tensors |= {f"{name}.{key}": torch.from_numpy(a) for key, a in network.tensors().items()}
    if learner.adam is not None:
        for index, moments in learner.adam.state_dict()["state"].items():
            tensors |= {f"adam.{index}.{key}": value for key, value in moments.items()}
    tensors |= {f"replay.{key}": torch.from_numpy(a) for key, a in replay.arrays.items()}
    facts = {
        "key": key,
        "content": _digest(tensors),
        "added": replay.added,
        "updates": learner.updates,
        "rng": rng.bit_generator.state,
        "log": log,
    }
    # NaN stands for "not measured" in the log, hence plain json.
    metadata = {"facts": json.dumps(facts)}
    write_atomically(path, lambda temporary: save_file(tensors, temporary, metadata))


def load_resume(
    path: Path,
    learner: "Learner",
    replay: Replay,
    rng: np.random.Generator,
    key: str,
) -> list[dict[str, Any]]:
    """Restore a run saved under the same key; returns its log, empty if there is none.

    A file that is damaged, or of other settings, data, graph or code, is passed over:
    training then starts anew.
    """
    try:
        with safe_open(path, framework="pt") as archive:
            facts = json.loads((archive.metadata() or {})["facts"])
            tensors = {name: archive.get_tensor(name) for name in archive.keys()}  # noqa: SIM118
        if facts["key"] != key or facts["content"] != _digest(tensors):
            return []
    except (FileNotFoundError, SafetensorError, KeyError, TypeError, ValueError):
        return []
    for name, network in (("online", learner.online), ("target", learner.target)):
        network.fill({key: tensor.numpy() for key, tensor in _part(tensors, name).items()})
    if learner.adam is not None:
        moments: dict[int, dict[str, Tensor]] = {}
        for key, tensor in _part(tensors, "adam").items():
            index, _, what = key.partition(".")
            moments.setdefault(int(index), {})[what] = tensor
        learner.adam.load_state_dict(learner.adam.state_dict() | {"state": moments})
    learner.updates = facts["updates"]
    replay.arrays = {key: t.numpy() for key, t in _part(tensors, "replay").items()}
    replay.added = facts["added"]
    rng.bit_generator.state = facts["rng"]
    log: list[dict[str, Any]] = facts["log"]
    return log


def _part(tensors: dict[str, Tensor], name: str) -> dict[str, Tensor]:
    prefix = f"{name}."
    return {key.removeprefix(prefix): t for key, t in tensors.items() if key.startswith(prefix)}


def resume_key(
    settings: "TrainingSettings", model: StreamModel, effects: Floats | None, code: str
) -> str:
    """What a training run depends on: settings, data, graph and code."""
    digest = hashlib.sha256(canonical_json(settings.model_dump()).encode())
    for array in (model.rows, model.covariance, model.effects, effects):
        digest.update(b"none" if array is None else np.ascontiguousarray(array).tobytes())
    digest.update(code.encode())
    return digest.hexdigest()


def _digest(tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode() + tensors[name].contiguous().numpy().tobytes())
    return digest.hexdigest()
