"""Weights in a file: safetensors, with facts in a JSON beside them.

Loading reads tensors and text; it never executes anything.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from causaldq.errors import CheckpointError
from causaldq.files import read_json, sha256, write_atomically, write_json
from causaldq.setting import Settings

S = TypeVar("S", bound=Settings)
HASH = "weights_sha256"


def facts_path(path: Path) -> Path:
    return path.with_suffix(".json")


def save_weights(path: Path, tensors: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """Write `path` (.safetensors) and its JSON."""
    write_atomically(path, lambda temporary: save_file(dict(tensors), temporary))
    write_json(facts_path(path), {**facts, HASH: sha256(path)})


def load_facts(path: Path, *needed: str) -> dict[str, Any]:
    """What is said of weights that are there, and are those that it is said of."""
    facts = read_json(facts_path(path))
    wanted = {"settings", HASH, *needed}
    if not isinstance(facts, dict) or not wanted <= set(facts):
        raise CheckpointError(
            f"{facts_path(path)} does not hold {', '.join(sorted(wanted))}; train it again"
        )
    if not path.exists():
        raise CheckpointError(f"{path} does not exist; train it first")
    if sha256(path) != facts[HASH]:
        raise CheckpointError(f"{path} is not what {facts_path(path).name} says; train it again")
    return facts


def load_weights(path: Path, model: type[S], settings: Any) -> tuple[S, dict[str, Any]]:
    """The settings, of the version at hand, and the arrays by name."""
    try:
        found = model.model_validate(settings)
        with safe_open(path, framework="np") as archive:
            return found, {name: archive.get_tensor(name) for name in archive.keys()}  # noqa: SIM118
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise CheckpointError(
            f"{facts_path(path)}: settings.{place} does not fit this version; train it again"
        ) from None
    except SafetensorError as error:
        raise CheckpointError(f"{path} is damaged ({error}); train it again") from None


def misfit(path: Path) -> CheckpointError:
    """Weights of other shapes than their settings ask for."""
    return CheckpointError(
        f"{path}: the weights do not fit the network of its settings; train it again"
    )
