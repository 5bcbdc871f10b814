"""Simulated streams: a random acyclic graph and a linear model on it.

The graph is Erdős–Rényi over a random order. The model is internally standardised:
each stream is scaled to unit variance as it is generated from its parents, so that dense
graphs do not blow up and a stream's variance does not reveal its place in the order.
"""

from dataclasses import replace
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from causaldq.models.order import topological_order
from causaldq.models.rows import estimate_covariance
from causaldq.models.streams import Law, StreamModel
from causaldq.setting import NotNegative, Positive, Settings
from causaldq.types import Floats


class SimulationSource(Settings):
    """Streams of a linear structural equation model on a random acyclic graph."""

    kind: Literal["simulation"] = "simulation"
    p: Annotated[int, Field(ge=2, description="streams")]
    expected_degree: Annotated[
        NotNegative, Field(description="edges of a stream, in and out; 0: independent streams")
    ] = 6.0
    weight_low: Positive = 0.5
    weight_high: Positive = 1.0
    rows: Annotated[int, Field(ge=10, description="in-control rows for causal discovery")] = 200
    tails: Annotated[
        float | None,
        Field(gt=2, description="degrees of freedom of Student's t for own terms; null: normal"),
    ] = None
    covariance_rows: Annotated[
        int | None,
        Field(ge=10, description="rows that the covariance is estimated from; null: it is known"),
    ] = None

    @model_validator(mode="after")
    def _weights_in_order(self) -> Self:
        if self.weight_low > self.weight_high:
            raise ValueError(f"weight_low {self.weight_low} exceeds weight_high {self.weight_high}")
        return self


def random_weights(settings: SimulationSource, rng: np.random.Generator) -> Floats:
    """Weights (p, p) of a random acyclic graph; entry [i, j] is the edge from i to j."""
    p = settings.p
    probability = min(1.0, settings.expected_degree / (p - 1))
    order = rng.permutation(p)
    present = np.triu(rng.random((p, p)) < probability, k=1)
    size = rng.uniform(settings.weight_low, settings.weight_high, (p, p))
    sign = rng.choice([-1.0, 1.0], (p, p))
    weights = np.zeros((p, p))
    weights[np.ix_(order, order)] = present * size * sign
    return weights


def standardise(weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Scale an acyclic model so that every stream has variance one.

    Returns the scaled direct effects (p, p), the scale of each stream's own term (p,),
    and the covariance of the streams (p, p).
    """
    p = len(weights)
    effects = np.zeros((p, p))
    own = np.ones(p)
    covariance = np.eye(p)
    done: list[int] = []
    for j in topological_order(weights != 0).tolist():
        parents = weights[:, j]
        inherited = float(parents @ covariance @ parents)
        scale = 1.0 / np.sqrt(inherited + 1.0)
        effects[:, j] = parents * scale
        own[j] = scale
        shared = covariance[done] @ effects[:, j]
        covariance[done, j] = shared
        covariance[j, done] = shared
        done.append(j)
    return effects, own, covariance


def simulate(settings: SimulationSource, rng: np.random.Generator) -> StreamModel:
    """Draw a graph and its model, and record in-control rows from it."""
    effects, own, covariance = standardise(random_weights(settings, rng))
    names = tuple(f"x{i + 1}" for i in range(settings.p))
    law = None
    if settings.tails is not None or settings.covariance_rows is not None:
        law = Law(own, np.inf if settings.tails is None else settings.tails)
    empty = StreamModel(names, np.empty((0, settings.p)), covariance, effects, law=law)
    model = replace(empty, rows=empty.in_control(1, settings.rows, rng)[0])
    if settings.covariance_rows is None:
        return model
    seen = model.in_control(1, settings.covariance_rows, rng)[0]
    return replace(model, covariance=estimate_covariance(seen).matrix)
