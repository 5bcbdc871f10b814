"""Surrogate flare windows: drawn from the moments of real ones, and labelled as surrogate.

The real windows cannot be had offline and are not part of the project; their moments are, as
numbers in data/reference/flare_moments.json. A surrogate window is a stretch of a stationary
Gaussian first-order autoregression,

    z[t, i] = phi[i] z[t-1, i] + sqrt(1 - phi[i]^2) e[t, i],

with the class's mean, standard deviation and lag-1 autocorrelation phi for every parameter, and
innovations e so correlated that z has the class's cross-correlations (as closely as a positive
definite matrix allows). Trends, slower memory and tails of real windows are not reproduced.

Windows of other active regions have other means. How much they differ is known from the regions of
flares, as there is one quiet region only: on request every surrogate window has an offset of its
own, drawn from the spread of region means around the mean of their class.
"""

import json
from pathlib import Path
from typing import Annotated, Self

import numpy as np
import pandas as pd
from pydantic import Field, ValidationError, model_validator

from causaldq.errors import DataError
from causaldq.files import read_json, write_text
from causaldq.models.rows import ledoit_wolf
from causaldq.pipeline.sources.flare_tables import KEYS, fill_gaps, parameters_of, window_values
from causaldq.pipeline.sources.flares import QUIET, read_swan
from causaldq.setting import Count, Positive, Settings
from causaldq.types import Floats

DIGITS = 5
"""Significant digits of the kept numbers: far more than so few windows determine."""
LARGEST_AUTOCORRELATION = 0.99
LEAST_EIGENVALUE = 1e-6

Correlation = Annotated[float, Field(ge=-1, le=1)]


class ClassMoments(Settings):
    """Moments of the windows of one label. Lists have one entry a parameter."""

    windows: Annotated[Count, Field(description="how many windows they were estimated from")]
    mean: list[float]
    sd: Annotated[list[Positive], Field(description="within a window")]
    autocorrelation: Annotated[list[Correlation], Field(description="lag 1, within a window")]
    correlation: Annotated[list[list[Correlation]], Field(description="lower triangle, by rows")]


class BetweenRegions(Settings):
    """How the means of active regions differ within a class. Lists have one entry a parameter."""

    regions: Count
    sd: list[Positive]
    correlation: Annotated[
        list[list[Correlation]],
        Field(description="lower triangle, by rows; shrunk, as regions are few"),
    ]


class FlareMoments(Settings):
    """All that is kept of the real windows."""

    about: str
    steps: Annotated[Count, Field(description="rows of a window")]
    parameters: Annotated[list[str], Field(min_length=1)]
    classes: Annotated[dict[str, ClassMoments], Field(description="by label")]
    between: BetweenRegions | None = None

    @model_validator(mode="after")
    def _sizes_agree(self) -> Self:
        p = len(self.parameters)
        for label, part in self.classes.items():
            sizes = {len(part.mean), len(part.sd), len(part.autocorrelation)}
            if sizes != {p} or [len(row) for row in part.correlation] != list(range(1, p + 1)):
                raise ValueError(f"class {label} has not one entry for each of {p} parameters")
        return self


def read_moments(path: Path) -> FlareMoments:
    try:
        return FlareMoments.model_validate(read_json(path))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        reason = " ".join(first["msg"].split())
        raise DataError(f"{path}, {place or 'top level'}: {reason}") from None


def write_moments(path: Path, moments: FlareMoments) -> None:
    """Write the numbers as JSON, a list or a row of a matrix on each line."""
    write_text(path, _json_lines(moments.model_dump()) + "\n")


def _json_lines(value: object, indent: str = "") -> str:
    inner = indent + " "
    if isinstance(value, dict):
        parts = [f"{inner}{json.dumps(k)}: {_json_lines(v, inner)}" for k, v in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    if isinstance(value, list) and value and isinstance(value[0], list):
        parts = [inner + json.dumps(row) for row in value]
        return "[\n" + ",\n".join(parts) + f"\n{indent}]"
    return json.dumps(value, allow_nan=False)


# --- from real windows to numbers --------------------------------------------------------------


def estimate_moments(table: pd.DataFrame, labels: tuple[str, ...], about: str) -> FlareMoments:
    """Moments of the windows of a tidy table without gaps, label by label.

    Deviations are taken from each window's own mean, so that differences between active regions
    enter the mean of a class and not its spread.
    """
    classes = {label: _class_moments(table, label) for label in labels}
    steps = int(table["step"].max()) + 1
    return FlareMoments(about=about, steps=steps, parameters=parameters_of(table), classes=classes)


def between_regions(table: pd.DataFrame) -> BetweenRegions:
    """The spread of region means around their class mean, over the flare windows of a table.

    A window's name begins with the number of its active region.
    """
    flares = table[table["label"] != QUIET]
    parameters = parameters_of(flares)
    region = flares["window"].str.partition("@")[0].rename("region")
    means = flares.groupby(["label", region])[parameters].mean()
    spread = (means - means.groupby(level="label").transform("mean")).to_numpy(np.float64)
    freedom = len(means) - means.index.get_level_values("label").nunique()
    if freedom < 1:
        raise DataError("no two active regions have flares of one class; give more windows")
    sd = np.sqrt((spread**2).sum(axis=0) / freedom)
    matrix, _ = ledoit_wolf(spread / sd)
    scale = np.sqrt(np.diag(matrix))
    return BetweenRegions(
        regions=len(means), sd=_rounded(sd), correlation=_triangle(matrix / np.outer(scale, scale))
    )


def estimate_from_swan(folder: Path, labels: tuple[str, ...] = (QUIET, "B")) -> FlareMoments:
    """Moments of all windows of these labels in a folder of SWAN-SF windows.

    With the sample of 12 windows this gives data/reference/flare_moments.json, which
    `write_moments` has written.
    """
    table = read_swan(folder)
    filled = fill_gaps(table[table["label"].isin(labels)])
    counts = filled.table.groupby("label")["window"].nunique()
    described = " and ".join(f"{counts.get(label, 0)} of class {label}" for label in labels)
    about = (
        f"Moments of SWAN-SF windows ({described}) of the sample flares_swan in data/sources.yaml, "
        "12 minutes a step, missing values interpolated; made by "
        "causaldq.pipeline.sources.surrogate.estimate_from_swan."
    )
    moments = estimate_moments(filled.table, labels, about)
    return moments.model_copy(update={"between": between_regions(fill_gaps(table).table)})


def _class_moments(table: pd.DataFrame, label: str) -> ClassMoments:
    names = table.loc[table["label"] == label, "window"].unique()
    if len(names) == 0:
        raise DataError(f"no window is labelled {label}; give windows of that class")
    windows = [window_values(table, str(name))[1] for name in names]
    deviations = [values - values.mean(0) for values in windows]
    scatter = sum((part.T @ part for part in deviations), np.zeros(()))
    lagged = sum(((part[1:] * part[:-1]).sum(0) for part in deviations), np.zeros(()))
    squares = np.diag(scatter)
    freedom = sum(len(part) - 1 for part in deviations)
    sd = np.sqrt(squares / freedom)
    if not (sd > 0).all():
        name = parameters_of(table)[int(np.argmin(sd))]
        raise DataError(f"{name} does not vary in the windows labelled {label}; drop it")
    correlation = scatter / np.sqrt(np.outer(squares, squares))
    return ClassMoments(
        windows=len(windows),
        mean=_rounded(np.mean([values.mean(0) for values in windows], axis=0)),
        sd=_rounded(sd),
        autocorrelation=_rounded(lagged / squares),
        correlation=_triangle(correlation),
    )


def _triangle(correlation: Floats) -> list[list[float]]:
    """The lower triangle, by rows."""
    return [[*_rounded(correlation[i, :i].clip(-1, 1)), 1.0] for i in range(len(correlation))]


def _rounded(values: Floats) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]


# --- from numbers to surrogate windows ----------------------------------------------------------


def draw_windows(
    moments: FlareMoments, label: str, n: int, rng: np.random.Generator, steps: int | None = None
) -> Floats:
    """(n, steps, p), surrogate windows of one label."""
    if label not in moments.classes:
        known = ", ".join(moments.classes)
        raise DataError(f"there are no moments of windows labelled {label}; there are {known}")
    part = moments.classes[label]
    length = steps or moments.steps
    phi = np.clip(part.autocorrelation, 0, LARGEST_AUTOCORRELATION)
    innovation = innovation_correlation(_full(part.correlation), phi)
    white = rng.standard_normal((n, length, len(phi)))
    shocks = white @ np.linalg.cholesky(innovation).T * np.sqrt(1 - phi**2)
    values = np.empty_like(white)
    values[:, 0] = white[:, 0] @ np.linalg.cholesky(innovation * _memory(phi)).T
    for step in range(1, length):
        values[:, step] = phi * values[:, step - 1] + shocks[:, step]
    return np.asarray(part.mean) + np.asarray(part.sd) * values


def _memory(phi: Floats) -> Floats:
    """(p, p), stationary correlation as a multiple of the innovations' correlation."""
    own = np.sqrt(1 - phi**2)
    return np.asarray(np.outer(own, own) / (1 - np.outer(phi, phi)), np.float64)


def innovation_correlation(correlation: Floats, phi: Floats) -> Floats:
    """(p, p), the innovations' correlation that gives `correlation`, or the nearest there is.

    Parameters with very different memory cannot be highly correlated, so that the exact solution
    may have negative eigenvalues; they are raised to almost zero.
    """
    exact = correlation / _memory(phi)
    values, vectors = np.linalg.eigh(exact)
    raised = (vectors * np.maximum(values, LEAST_EIGENVALUE)) @ vectors.T
    scale = np.sqrt(np.diag(raised))
    return np.asarray(raised / np.outer(scale, scale), np.float64)


def _full(triangle: list[list[float]]) -> Floats:
    lower = np.zeros((len(triangle), len(triangle)))
    for i, row in enumerate(triangle):
        lower[i, : i + 1] = row
    return np.asarray(lower + lower.T - np.eye(len(lower)), np.float64)


def draw_offsets(moments: FlareMoments, n: int, between: float, rng: np.random.Generator) -> Floats:
    """(n, 1, p), what the means of windows are off that of their class; 0 for `between` 0."""
    p = len(moments.parameters)
    if between == 0:
        return np.zeros((n, 1, p))
    if moments.between is None:
        raise DataError("the moments do not say how active regions differ; make the file again")
    factor = np.linalg.cholesky(_full(moments.between.correlation))
    drawn = rng.standard_normal((n, 1, p)) @ factor.T
    return np.asarray(between * np.asarray(moments.between.sd) * drawn)


def surrogate_table(
    moments: FlareMoments, counts: dict[str, int], rng: np.random.Generator, between: float = 0.0
) -> pd.DataFrame:
    """A tidy table of surrogate windows, named surrogate_Q_1 and so on.

    `counts` says how many of each label, `between` how much windows of other regions differ.
    """
    parts = []
    for label, count in counts.items():
        windows = draw_windows(moments, label, count, rng)
        windows = windows + draw_offsets(moments, count, between, rng)
        for i, values in enumerate(windows, 1):
            keys = {"window": f"surrogate_{label}_{i}", "label": label, "step": range(len(values))}
            frame = pd.DataFrame(keys)[list(KEYS)]
            parts.append(
                pd.concat([frame, pd.DataFrame(values, columns=moments.parameters)], axis=1)
            )
    if not parts:
        raise DataError("no surrogate window was asked for; give at least one")
    return pd.concat(parts, ignore_index=True)


def surrogate_windows(
    moments: FlareMoments, ids: list[str], rng: np.random.Generator, between: float = 0.0
) -> pd.DataFrame:
    """A tidy table of the surrogate windows with these ids."""
    counts: dict[str, int] = {}
    for window in ids:
        _, label, number = window.split("_")
        counts[label] = max(counts.get(label, 0), int(number))
    table = surrogate_table(moments, counts, rng, between)
    return table[table["window"].isin(ids)].reset_index(drop=True)
