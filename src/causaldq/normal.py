"""Rows of normal operation as a user gives them: checked, named, with the graphs they allow."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from causaldq.discovery.settings import DiscoverySettings, UncertaintySettings
from causaldq.errors import ConfigError, DataError
from causaldq.methods.registry import named_method
from causaldq.methods.resolve import MethodLike
from causaldq.models.streams import Records, StreamModel
from causaldq.seeds import generator
from causaldq.types import Bools, Floats

if TYPE_CHECKING:
    import pandas as pd


def table(
    rows: "pd.DataFrame | npt.ArrayLike", names: Sequence[str] | None
) -> tuple[tuple[str, ...], Floats]:
    """Stream names and values (n, p), refused if anything in them cannot be used."""
    columns = getattr(rows, "columns", None)
    if columns is not None:
        if names is not None:
            raise ConfigError("the rows have column names; give no others")
        labels = tuple(str(column) for column in columns)
        try:
            values = np.asarray(rows, np.float64)
        except (TypeError, ValueError):
            kinds = {str(c): str(k) for c, k in zip(columns, rows.dtypes, strict=True)}  # type: ignore[union-attr]
            text = next((c for c, k in kinds.items() if k in ("object", "str", "string")), "?")
            raise DataError(
                f"column {text!r} is not numeric; drop it, or make its values numbers"
            ) from None
    else:
        try:
            values = np.asarray(rows, np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"the rows are no numbers ({error})") from None
        if values.ndim != 2:
            raise DataError(f"the rows have shape {values.shape}; give (rows, streams)")
        labels = tuple(names or (f"x{i + 1}" for i in range(values.shape[1])))
    if values.ndim != 2 or values.shape[1] != len(labels):
        raise DataError(f"{len(labels)} names for rows of shape {values.shape}")
    repeated = [name for name in labels if labels.count(name) > 1]
    if repeated:
        raise DataError(f"two streams are called {repeated[0]!r}; names must differ")
    gaps = ~np.isfinite(values)
    if gaps.any():
        row, column = np.argwhere(gaps)[0]
        raise DataError(
            f"stream {labels[column]!r} has no finite value in row {row} (and {int(gaps.sum()) - 1}"
            " more cells); drop those rows or streams before fitting"
        )
    return labels, values


def graphs_for(
    method: MethodLike,
    given: npt.ArrayLike | None,
    names: tuple[str, ...],
    scaled: Floats,
    mean: Floats,
    sd: Floats,
    seed: int,
) -> Bools | None:
    """(g, p, p) for a method that wants causal graphs; None for the others."""
    p = len(names)
    if given is not None:
        graph = np.asarray(given)
        if graph.shape != (p, p):
            raise ConfigError(f"the graph has shape {graph.shape}; give ({p}, {p})")
        graph = graph.astype(bool)
        if np.linalg.matrix_power(graph.astype(np.int64) > 0, p).any():
            raise ConfigError("the graph has a cycle; a cause cannot be its own effect")
        return graph[None]
    kind = named_method(method) if isinstance(method, str) else method
    if getattr(kind, "graph", "none") == "none":
        return None
    from causaldq.discovery.uncertainty import possible_graphs

    none = np.empty((0, p))
    model = StreamModel(
        names, scaled, np.atleast_2d(np.corrcoef(scaled, rowvar=False)), np.zeros((p, p)),
        Records(mean, sd, none, none, none, 0),
    )  # fmt: skip
    return possible_graphs(
        model, DiscoverySettings(), UncertaintySettings(), generator(seed, "graphs")
    )
