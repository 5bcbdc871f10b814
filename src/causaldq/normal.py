"""Rows of normal operation as a user gives them: checked, named, with the graphs they allow."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from causaldq.arguments import number, seed_of, sensors_of, whole
from causaldq.covariance import DENSE_MOST
from causaldq.discovery.algorithms import SINGULAR
from causaldq.discovery.graph import is_acyclic
from causaldq.discovery.settings import DiscoverySettings, UncertaintySettings
from causaldq.errors import ConfigError, DataError
from causaldq.methods.registry import named_method
from causaldq.methods.resolve import MethodLike, name_of
from causaldq.models.rows import ROWS_A_STREAM, Scale
from causaldq.models.streams import Records, StreamModel
from causaldq.seeds import generator
from causaldq.types import Bools, Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

PATHS = 200
MANY_STREAMS_PATHS = 10
"""Where a step of one path takes milliseconds."""
NOT_MEASURED = "bcMm"
"""Kinds of numpy's types that it makes numbers of: truths, complex numbers, dates and spans."""
SMALLEST, LARGEST = 1e-150, 1e150
"""Beyond, the squares of values are no numbers."""
LEAST_PATHS = 5
"""One for each part of the rows that is left out of a fit."""
MOST_STEPS = 1e8
"""Of the paths behind a limit, in units of the run length: beyond it they take more than 5 GB."""


def choices(
    sensors: Any, arl0: Any, paths: Any, seed: Any, p: int, method: MethodLike, limit: str
) -> tuple[int, float, int, int]:
    """The numbers that a fit is given, as Python's own, refused if they cannot be used."""
    if paths is None:
        paths = PATHS if p <= DENSE_MOST else MANY_STREAMS_PATHS
    sensors = sensors_of(sensors, p)
    paths, seed = whole("paths", paths, LEAST_PATHS), seed_of(seed)
    arl0 = number("arl0", arl0, "of steps to a false alarm, more than 1", lambda x: x > 1)
    kind = named_method(method) if isinstance(method, str) else method
    may_be_bound = limit in ("auto", "bound") and getattr(kind, "uses_dynamics", False)
    if arl0 > (most := MOST_STEPS / paths) and not may_be_bound:
        raise ConfigError(
            f"arl0 is {arl0:g}, and paths of twice that length would not fit into memory: give at"
            f" most {most:g}, or a limit that needs no paths (innovation_filter, limit='bound')"
        )
    return sensors, arl0, paths, seed


def table(
    rows: "pd.DataFrame | npt.ArrayLike", names: Sequence[str] | None
) -> tuple[tuple[str, ...], Floats]:
    """Stream names and values (n, p), refused if anything in them cannot be used."""
    columns = getattr(rows, "columns", None)
    if columns is not None:
        if names is not None:
            raise ConfigError("the rows have column names; give no others")
        labels = tuple(str(column) for column in columns)
        _refuse_disorder(rows)
        values = _of_frame(rows, labels)
    else:
        values = _of_array(rows)
        if isinstance(names, str) or (names is not None and not isinstance(names, Iterable)):
            raise ConfigError(f"names are {names!r}; give a list of {values.shape[1]}")
        given = (f"x{i + 1}" for i in range(values.shape[1])) if names is None else map(str, names)
        labels = tuple(given)
    if values.ndim != 2 or values.shape[1] != len(labels):
        raise DataError(f"{len(labels)} names for rows of shape {values.shape}")
    if len(set(labels)) < len(labels):
        repeated = next(name for name in labels if labels.count(name) > 1)
        raise DataError(f"two streams are called {repeated!r}; names must differ")
    if not len(values):
        raise DataError("there are no rows; give rows of normal operation")
    gaps = ~np.isfinite(values)
    if gaps.any():
        row, column = np.argwhere(gaps)[0]
        raise DataError(
            f"stream {labels[column]!r} has no finite value in row {row} (and {int(gaps.sum()) - 1}"
            " more cells); drop those rows or streams before fitting"
        )
    with np.errstate(over="ignore"):
        span, size = np.ptp(values, axis=0), np.abs(values).max(axis=0)
    extreme = (size > LARGEST) | ((span > 0) & (span < SMALLEST))
    if extreme.any():
        column = int(np.argmax(extreme))
        raise DataError(
            f"the values of stream {labels[column]!r} are of a size whose square is no number, such"
            f" as {values[0, column]:g}; give them in another unit"
        )
    return labels, values


def _refuse_disorder(rows: Any) -> None:
    """Limits rest on how rows follow each other, so that times must not go back."""
    index: Any = getattr(rows, "index", None)
    if getattr(getattr(index, "dtype", None), "kind", "") not in ("M", "m"):
        return  # numbers and words need not be times
    back = np.flatnonzero(index[1:] < index[:-1])
    if len(back):
        place = int(back[0])
        raise DataError(
            f"the rows are not in the order of time: {index[place + 1]} in row {place + 1} comes"
            f" after {index[place]}; sort them (rows.sort_index()), or take them as they are"
            " (rows.reset_index(drop=True))"
        )


def _of_array(rows: Any) -> Floats:
    """Values (n, p) of an array, or of lists; what is masked is a gap."""
    try:
        if isinstance(rows, np.ma.MaskedArray):
            rows = np.ma.filled(rows.astype(np.float64), np.nan)
        found = np.asarray(rows)
        if found.dtype.kind in NOT_MEASURED:
            raise TypeError(f"they are {found.dtype}")
        values = np.asarray(found, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the rows are no numbers ({error})") from None
    if values.ndim != 2:
        raise DataError(f"the rows have shape {values.shape}; give (rows, streams)")
    return values


def _of_frame(rows: Any, labels: tuple[str, ...]) -> Floats:
    """Values (n, p) of a data frame; dates are no numbers, though numpy makes some of them."""
    kinds = [str(kind) for kind in rows.dtypes]
    if not hasattr(rows, "iloc") or all(k.startswith(("float", "int", "uint")) for k in kinds):
        try:
            return np.asarray(rows, np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"the rows are no numbers ({error})") from None
    values = np.empty(rows.shape)
    for i, (label, kind) in enumerate(zip(labels, kinds, strict=True)):
        column = rows.iloc[:, i]
        try:
            if column.dtype.kind in NOT_MEASURED or (
                kind == "object" and any(isinstance(x, bool | np.bool_ | complex) for x in column)
            ):
                raise TypeError("no measurements")
            values[:, i] = column.astype("float64")
        except (TypeError, ValueError):
            raise DataError(
                f"column {label!r} is not numeric ({kind}); drop it, or make its values numbers"
            ) from None
    return values


def refuse_dependent(scaled: Floats, names: tuple[str, ...]) -> None:
    """Name streams of standardised rows (n, p) that follow from each other exactly.

    Of fewer rows, or more streams, the covariance is one that no such thing makes singular.
    """
    n, p = scaled.shape
    if n < ROWS_A_STREAM * p or p > DENSE_MOST:
        return
    matrix = np.atleast_2d(np.corrcoef(scaled, rowvar=False))
    try:
        np.linalg.cholesky(matrix - SINGULAR * np.eye(p))
    except np.linalg.LinAlgError:
        share = np.abs(np.linalg.eigh(matrix)[1][:, 0])
        bound = [name for name, s in zip(names, share, strict=True) if s > 0.1 * share.max()]
        raise DataError(
            f"linearly dependent in the rows: {', '.join(bound)}; drop one of them"
        ) from None


def edges_of(given: Any, names: tuple[str, ...]) -> Ints | None:
    """Edges (e, 2) of a graph (p, p), or of pairs of streams by name or number."""
    if given is None:
        return None
    p = len(names)
    if hasattr(given, "columns") and given.shape == (p, p):
        given = _in_order_of(given, names)
    try:
        graph = np.asarray(given)
    except ValueError:
        raise ConfigError(
            "the graph has rows of different lengths; give pairs of streams"
        ) from None
    if graph.shape == (p, p) and graph.dtype.kind in "biuf":
        if not np.isfinite(graph).all():
            raise ConfigError("the graph has cells that are no numbers; give 0 where no link is")
        return np.argwhere(graph)
    if graph.ndim != 2 or graph.shape[1] != 2:
        raise ConfigError(
            f"the graph has shape {graph.shape}; give ({p}, {p}), or pairs of streams"
        )
    place: dict[Any, int] = {name: i for i, name in enumerate(names)}
    if graph.dtype.kind in "iu":
        for number in np.unique(graph).tolist():
            if place.get(str(number), number) != number:
                raise ConfigError(
                    f"the graph links {number}, which is the place of one stream and the name of"
                    " another; give names as text"
                )
        place = {i: i for i in range(p)}
    unknown = [end for end in graph.ravel().tolist() if end not in place]
    if unknown:
        raise ConfigError(f"the graph links {unknown[0]!r}, which is no stream")
    return np.array([[place[end] for end in edge] for edge in graph.tolist()], dtype=np.int64)


def _in_order_of(graph: Any, names: tuple[str, ...]) -> npt.NDArray[Any]:
    """A frame (p, p) with its rows and columns in the order of the streams, whose names they have.

    Without names they are numbered, and are in that order.
    """
    orders = []
    for axis in (graph.index, graph.columns):
        labels = [str(label) for label in axis]
        if sorted(labels) == sorted(names):
            orders.append([labels.index(name) for name in names])
        elif labels == [str(i) for i in range(len(names))]:
            orders.append(list(range(len(names))))
        else:
            other = next(label for label in labels if label not in names or labels.count(label) > 1)
            raise ConfigError(
                f"rows and columns of the graph are not named like the streams: {other!r}; give"
                f" {', '.join(names)} to both"
            )
    return np.asarray(graph.to_numpy()[np.ix_(*orders)])


def wants_graph(method: MethodLike) -> bool:
    """Whether a method weighs root causes."""
    kind = named_method(method) if isinstance(method, str) else method
    return getattr(kind, "graph", "none") != "none"


def graphs_for(
    method: MethodLike,
    edges: Ints | None,
    names: tuple[str, ...],
    rows: Floats,
    scale: Scale,
    seed: int,
) -> Bools | None:
    """(g, p, p) for a method that wants causal graphs; None for the others."""
    p = len(names)
    if p > DENSE_MOST:
        if wants_graph(method):
            raise ConfigError(
                f"{name_of(method)} weighs a root cause in each of {p:,} streams by its effect on"
                f" all others, which is out of reach above {DENSE_MOST:,}: give fewer streams, or"
                " method='bayes_posterior'"
            )
        return None
    if edges is not None:
        graph = np.zeros((p, p), dtype=bool)
        graph[edges[:, 0], edges[:, 1]] = True
        if not is_acyclic(graph):
            raise ConfigError("the graph has a cycle; a cause cannot be its own effect")
        return graph[None]
    if not wants_graph(method):
        return None
    if p == 1:
        return np.zeros((1, 1, 1), dtype=bool)
    from causaldq.discovery.uncertainty import possible_graphs

    none, scaled = np.empty((0, p)), scale.apply(rows)
    model = StreamModel(
        names, scaled, np.atleast_2d(np.corrcoef(scaled, rowvar=False)), np.zeros((p, p)),
        Records(scale.mean, scale.sd, none, none, none, 0),
    )  # fmt: skip
    return possible_graphs(
        model, DiscoverySettings(), UncertaintySettings(), generator(seed, "graphs")
    )
