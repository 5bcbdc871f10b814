"""The network in a file: weights in safetensors, facts in a JSON beside them.

Loading reads tensors and text; it never executes anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from causaldq.errors import CheckpointError
from causaldq.files import read_json, sha256, write_atomically, write_json
from causaldq.learn.equivariant.settings import EquivariantJob
from causaldq.methods.equivariant_network import Array, shapes


@dataclass(frozen=True)
class Equivariant:
    """Weights by name, and how they came about."""

    weights: Mapping[str, Array]
    job: EquivariantJob


def save_equivariant(path: Path, network: Equivariant, code: str) -> None:
    """Write `path` (.safetensors) and its JSON."""
    write_atomically(path, lambda temporary: save_file(dict(network.weights), temporary))
    facts = {"settings": network.job.model_dump(), "weights_sha256": sha256(path), "code": code}
    write_json(path.with_suffix(".json"), facts)


def load_equivariant(path: Path) -> Equivariant:
    """Read a network; refuse one that is damaged or does not fit its settings."""
    beside = path.with_suffix(".json")
    facts = read_json(beside)
    if not path.exists():
        raise CheckpointError(f"{path} does not exist; train it first")
    if not isinstance(facts, dict) or not {"settings", "weights_sha256"} <= set(facts):
        raise CheckpointError(f"{beside} does not hold settings, weights_sha256; train it again")
    if sha256(path) != facts["weights_sha256"]:
        raise CheckpointError(f"{path} is not what {beside.name} says; train it again")
    try:
        job = EquivariantJob.model_validate(facts["settings"])
        with safe_open(path, framework="np") as archive:
            weights = {name: archive.get_tensor(name) for name in archive.keys()}  # noqa: SIM118
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise CheckpointError(
            f"{beside}: settings.{place} does not fit this version; train it again"
        ) from None
    except SafetensorError as error:
        raise CheckpointError(f"{path} is damaged ({error}); train it again") from None
    wanted = shapes(job.training.hidden, causal=job.causal)
    if {name: weight.shape for name, weight in weights.items()} != wanted:
        raise CheckpointError(
            f"{path}: the weights do not fit the network of its settings; train it again"
        )
    return Equivariant(weights, job)
