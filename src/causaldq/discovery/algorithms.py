"""Causal discovery on in-control rows, mostly with causal-learn."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from causaldq.covariance import DENSE_MOST
from causaldq.discovery.graph import Graph, is_acyclic
from causaldq.discovery.pc import pc
from causaldq.discovery.settings import DiscoverySettings
from causaldq.errors import DiscoveryError
from causaldq.models.streams import StreamModel
from causaldq.types import Floats

TAIL, ARROW, CIRCLE = -1, 1, 2
"""Marks at an edge's end in causal-learn's matrices; entry [i, j] is the mark at i."""

SINGULAR = 1e-8
"""Smallest eigenvalue of a correlation matrix that is taken for a real one."""


def discover(model: StreamModel, settings: DiscoverySettings) -> Graph:
    """Estimate the graph of all streams; the column order is that of the model."""
    if settings.algorithm == "ground_truth":
        return Graph.from_effects(model.effects)
    if settings.algorithm == "file":
        return read_graph(Path(str(settings.file)), model.names)
    check(model.rows, model.names)
    if settings.algorithm == "pc":
        return pc(model.rows, settings.level)
    if settings.algorithm == "fci":
        return _fci(model.rows, settings.level)
    if settings.algorithm == "ges":
        return _ges(model.rows)
    return _direct_lingam(model.rows)


def check(rows: Floats, names: tuple[str, ...]) -> None:
    """Refuse rows on which independence tests have no meaning, naming the streams."""
    n, p = rows.shape
    if p > DENSE_MOST:
        raise DiscoveryError(
            f"a causal graph of {p:,} streams is out of reach of this algorithm (at most"
            f" {DENSE_MOST:,}): `causaldq.discovery.screening.screened_edges` finds which streams"
            " are linked, or give the graph (pipes, flowsheet) as an edge list"
        )
    if n <= p + 3:
        raise DiscoveryError(
            f"{n} in-control rows are too few for {p} streams ({', '.join(names[:5])}, …);"
            f" give more than {p + 3} or fewer streams"
        )
    spread = np.ptp(rows, axis=0)
    constant = [name for name, s in zip(names, spread, strict=True) if not s > 0]
    if constant:
        raise DiscoveryError(f"constant in the in-control rows: {', '.join(constant)}; drop them")
    values, vectors = np.linalg.eigh(np.corrcoef(rows, rowvar=False))
    if values[0] < SINGULAR:
        largest = np.abs(vectors[:, 0])
        bound = [name for name, v in zip(names, largest, strict=True) if v > 0.1 * largest.max()]
        raise DiscoveryError(
            f"linearly dependent in the in-control rows: {', '.join(bound)}; drop one of them"
        )


def _fci(rows: Floats, level: float) -> Graph:
    from causallearn.search.ConstraintBased.FCI import fci

    found, _ = fci(
        rows, independence_test_method="fisherz", alpha=level, verbose=False, show_progress=False
    )
    return from_marks(found.graph)


def _ges(rows: Floats) -> Graph:
    from causallearn.search.ScoreBased.GES import ges

    return from_marks(ges(rows, score_func="local_score_BIC")["G"].graph)


def _direct_lingam(rows: Floats) -> Graph:
    from causallearn.search.FCMBased.lingam import DirectLiNGAM

    fitted = DirectLiNGAM(random_state=0)
    fitted.fit(rows)
    return Graph.from_effects(np.asarray(fitted.adjacency_matrix_).T)


def from_marks(marks: np.ndarray) -> Graph:
    """Read causal-learn's matrix of end marks (p, p).

    Tail to arrow and circle to arrow are causes. Tails, or circles, at both ends leave the
    direction open. Arrows at both ends mean a conflict (PC) or a hidden common cause (FCI):
    linked, with no direction that the data support, so also open.
    """
    at_i, at_j = marks, marks.T
    linked = (at_i != 0) & (at_j != 0)
    directed = linked & (at_j == ARROW) & ((at_i == TAIL) | (at_i == CIRCLE))
    undirected = linked & ~directed & ~directed.T
    return Graph(directed, undirected)


def read_graph(path: Path, names: tuple[str, ...]) -> Graph:
    """A graph from a CSV of edges: columns cause, effect and, optionally, directed (1 or 0)."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as handle:
            return _read_edges(csv.reader(handle), path, names)
    except FileNotFoundError:
        raise DiscoveryError(f"{path} does not exist; set discovery.file") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DiscoveryError(f"{path} is not a CSV of edges ({error})") from None


def _read_edges(lines: Any, path: Path, names: tuple[str, ...]) -> Graph:
    header = [cell.strip() for cell in next(lines, [])]
    for column in ("cause", "effect"):
        if column not in header:
            raise DiscoveryError(f"{path}: column {column!r} is missing")
    graph = Graph.empty(len(names))
    for cells in lines:
        where = f"{path}, line {lines.line_num}"
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            raise DiscoveryError(f"{where}: {len(cells)} fields, but the header has {len(header)}")
        edge = dict(zip(header, (cell.strip() for cell in cells), strict=True))
        for end in (edge["cause"], edge["effect"]):
            if end not in names:
                raise DiscoveryError(f"{where}: there is no stream {end!r}")
        if edge["cause"] == edge["effect"]:
            raise DiscoveryError(f"{where}: {edge['cause']!r} is named as its own cause")
        if edge.get("directed", "1") not in ("0", "1"):
            raise DiscoveryError(f"{where}: directed is {edge['directed']!r}; give 1 or 0")
        i, j = names.index(edge["cause"]), names.index(edge["effect"])
        if edge.get("directed", "1") == "1":
            graph.directed[i, j] = True
        else:
            graph.undirected[i, j] = graph.undirected[j, i] = True
    if not is_acyclic(graph.directed):
        raise DiscoveryError(f"{path}: the directed edges form a cycle")
    return graph
