"""Methods as the defaults set them, or otherwise."""

from pathlib import Path
from typing import Any

import yaml

from causaldq.methods.base import Method, Problem
from causaldq.methods.build import build
from causaldq.methods.registry import index_methods

DEFAULTS: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[2] / "config" / "defaults.yaml").read_text()
)


def made(name: str, problem: Problem, **changed: Any) -> Method[Any]:
    """An index method; keywords override its settings."""
    return build(index_methods()[name], problem, {**DEFAULTS["baselines"].get(name, {}), **changed})
