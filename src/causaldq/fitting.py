"""From rows of normal operation to a calibrated method: model, limit, and what it is worth."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from causaldq.covariance import (
    DENSE_MOST,
    FactorCovariance,
    Structured,
    groups_of,
    refuse_dense,
)
from causaldq.errors import ConfigError
from causaldq.limits import Limit, cross_fitted_limit
from causaldq.memory_limits import bounding_limit, reached_on_rows, refitted_limit
from causaldq.methods.base import Method, Problem
from causaldq.methods.registry import named_method
from causaldq.methods.resolve import MethodLike, name_of, resolved
from causaldq.models.diagnoses import diagnose
from causaldq.models.factors import chosen_factors, fit_factors, fit_groups
from causaldq.models.graphs import chosen_parents, chosen_structure, fit_graph
from causaldq.models.in_control import (
    WORDS,
    InControl,
    ModelChoice,
    ModelName,
    chosen_model,
    fit_in_control,
)
from causaldq.models.rows import Covariance, Scale, estimate_covariance, fit_scale
from causaldq.types import Bools, Floats, Ints

LimitChoice = Literal["auto", "bound", "simulated", "cross_fitted"]
CovarianceChoice = Literal["auto", "dense", "factor", "graph", "block"]

FOLDS = 5
BOUND_SHARE = 0.5
"""With more of the streams read the bound is cautious, and the limit is simulated."""
FALLS_SHORT = 0.5
"""A run length below this share of what was asked for is said first."""
LIMITS = {
    "bound": "log of the run length asked for, which needs no calibration if the model is right",
    "simulated": "by simulation of fit and run together",
    "cross_fitted": "cross-fitted on the rows, in blocks",
}


@dataclass(frozen=True)
class Fitted:
    """A method fitted to rows of normal operation."""

    method: Method[Any]
    scale: Scale
    limit: Limit
    facts: dict[str, Any]
    """What a summary tells of the fit."""


def fitted(
    method: MethodLike,
    rows: Floats,
    names: tuple[str, ...],
    sensors: int,
    graphs: Bools | None,
    *,
    arl0: float,
    model: ModelChoice,
    limit: LimitChoice,
    paths: int,
    seed: int,
    progress: bool,
    covariance: CovarianceChoice = "auto",
    edges: Ints | None = None,
) -> Fitted:
    """Fit a method to rows (n, p) of normal operation, in their own units."""
    uses_memory = _uses_memory(method)
    estimate = _estimator(covariance, rows, names, edges, uses_memory=uses_memory)
    named, reason = _model(model, rows, names, method, uses_memory=uses_memory)
    normal = fit_in_control(rows, names, named, estimate=estimate)
    problem = Problem(normal.covariance.matrix, sensors, graphs=graphs, dynamics=normal.dynamics)
    made = resolved(method, problem)
    way = _way(limit, normal, made)
    common: dict[str, Any] = {"arl0": arl0, "seed": seed, "progress": progress}

    def make(other: Problem) -> Method[Any]:
        return resolved(method, other)

    if way == "cross_fitted":
        found = cross_fitted_limit(
            make, rows, names, sensors, graphs, block=normal.block, paths=paths, folds=FOLDS,
            estimate=estimate, **common,
        )  # fmt: skip
    else:
        value = (
            bounding_limit(arl0)
            if way == "bound"
            else refitted_limit(
                make, normal, len(rows), names, sensors, graphs, paths=paths, **common
            )
        )
        found = reached_on_rows(make, value, rows, names, sensors, graphs, folds=FOLDS, **common)
    matrix = normal.covariance.matrix
    facts: dict[str, Any] = {
        "rows": len(rows),
        "covariance": (
            matrix.kind if isinstance(matrix, Structured) else normal.covariance.estimator
        ),
        "shrinkage": normal.covariance.shrinkage,
        "memory": normal.block,
    }
    if isinstance(matrix, FactorCovariance):
        facts["factors"] = matrix.factors
    if uses_memory:
        facts |= {"model": f"{WORDS[named]} ({reason})", "limit": LIMITS[way]}
    facts["why"] = _why(rows, names, normal, short=falls_short(found), uses_memory=uses_memory)
    return Fitted(made, normal.scale, found, facts)


def _estimator(
    choice: CovarianceChoice,
    rows: Floats,
    names: tuple[str, ...],
    edges: Ints | None,
    *,
    uses_memory: bool,
) -> Callable[[Floats], Covariance]:
    """What estimates the covariance of standardised rows, for all of them and for parts alike."""
    if choice not in get_args(CovarianceChoice):
        known = ", ".join(get_args(CovarianceChoice))
        raise ConfigError(f"there is no covariance {choice!r}; give {known}")
    p = rows.shape[1]
    if choice == "dense" or (choice == "auto" and p <= DENSE_MOST):
        refuse_dense(p)
        return estimate_covariance
    if uses_memory:
        raise ConfigError(
            f"a method with a model of the rows' memory takes covariance='dense', up to"
            f" {DENSE_MOST:,} streams; bayes_posterior takes more"
        )
    if choice != "block":
        scaled = fit_scale(rows, names).apply(rows)
        if choice == "auto":
            return chosen_structure(scaled)
        if choice == "graph":
            return partial(fit_graph, parents=chosen_parents(scaled))
        return partial(fit_factors, factors=chosen_factors(scaled))
    if edges is None:
        raise ConfigError("covariance='block' needs a graph: streams that it links go together")
    group = groups_of(edges, p)
    refuse_dense(int(np.bincount(group).max()))
    return partial(fit_groups, group=group)


def falls_short(limit: Limit) -> bool:
    """Whether false alarms come more than twice as often as asked for."""
    reached = limit.reached.value
    return reached is not None and reached < FALLS_SHORT * limit.asked


def _uses_memory(method: MethodLike) -> bool:
    kind = named_method(method) if isinstance(method, str) else method
    return bool(getattr(kind, "uses_dynamics", False))


def _model(
    choice: ModelChoice,
    rows: Floats,
    names: tuple[str, ...],
    method: MethodLike,
    *,
    uses_memory: bool,
) -> tuple[ModelName, str]:
    """Which model to fit, and why."""
    if choice not in get_args(ModelChoice):
        raise ConfigError(f"there is no model {choice!r}; give {', '.join(get_args(ModelChoice))}")
    if choice == "state_space" and not uses_memory:
        raise ConfigError(
            f"{name_of(method)} makes no use of a state-space model; innovation_filter does"
        )
    if not uses_memory or choice == "independent":
        return "independent", "as asked for"
    if choice == "state_space":
        return "state_space", "as asked for"
    return chosen_model(rows, names)


def _way(limit: LimitChoice, normal: InControl, method: Method[Any]) -> LimitChoice:
    """How the limit is set."""
    if limit not in get_args(LimitChoice):
        raise ConfigError(f"there is no limit {limit!r}; give {', '.join(get_args(LimitChoice))}")
    if normal.dynamics is None:
        if limit not in ("auto", "cross_fitted"):
            raise ConfigError(
                f"a limit that is {limit!r} needs a model of the rows' memory; give"
                " limit='cross_fitted', or model='state_space' with a method that uses it"
            )
        return "cross_fitted"
    if limit == "cross_fitted":
        raise ConfigError(
            "a cross-fitted limit joins blocks of rows, which a model of their memory takes for"
            " faults; give limit='simulated' or 'bound'"
        )
    if limit == "bound" and not method.sums_likelihood_ratios:
        raise ConfigError(
            f"{type(method).__name__} has no sum of likelihood ratios, for which the bound holds;"
            " give limit='simulated'"
        )
    if limit == "auto":
        few = method.problem.m <= BOUND_SHARE * method.problem.p
        return "bound" if method.sums_likelihood_ratios and few else "simulated"
    return limit


def _why(
    rows: Floats, names: tuple[str, ...], normal: InControl, *, short: bool, uses_memory: bool
) -> list[str]:
    """What is wrong with the rows, and why a promise is not kept as far as they tell; in lines."""
    found = [one.text for one in diagnose(rows, names)]
    if short and normal.block > 1 and not uses_memory:
        found.append(
            f"memory: rows follow from rows before (blocks of {normal.block}), which this method"
            " takes no account of; method='innovation_filter' does"
        )
    return found or ["the normal rows do not tell why"] * short
