"""Methods as the defaults set them, or otherwise."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from causaldq.methods.base import Method, Problem
from causaldq.methods.build import build
from causaldq.methods.registry import index_methods

DEFAULTS: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[2] / "config" / "defaults.yaml").read_text()
)


def made(name: str, problem: Problem, **changed: Any) -> Method[Any]:
    """An index method; keywords override its settings. Who weighs graphs is given a chain."""
    family = "causal_sr" if name.startswith("causal_sr") else name
    if name == "causal_sr" and problem.graphs is None:
        problem = replace(problem, graphs=np.eye(problem.p, k=1, dtype=bool)[None])
    options = {**DEFAULTS["baselines"].get(family, {}), **changed}
    return build(index_methods()[name], problem, options)
