"""Graphs, their quality, their directions and effects, against exhaustive enumeration."""

from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from causallearn.graph.Edge import Edge
from causallearn.graph.Endpoint import Endpoint
from causallearn.graph.GeneralGraph import GeneralGraph
from causallearn.graph.GraphNode import GraphNode
from causallearn.search.ConstraintBased.PC import pc as causal_learn_pc
from hypothesis import given, settings
from hypothesis import strategies as st

from causaldq.discovery.algorithms import check, discover, from_marks, read_graph
from causaldq.discovery.effects import direct_effects, propagation_effects
from causaldq.discovery.graph import Graph, directions, quality
from causaldq.discovery.pc import pc
from causaldq.discovery.settings import DiscoverySettings
from causaldq.errors import DiscoveryError
from causaldq.models.streams import StreamModel
from causaldq.worlds.simulation import SimulationSource, simulate

SEEDS = st.integers(0, 2**32 - 1)
Arrows = set[tuple[int, int]]


# --- slow versions ---------------------------------------------------------------------


def a_graph(p: int, directed: Arrows | None = None, undirected: Arrows | None = None) -> Graph:
    graph = Graph.empty(p)
    for i, j in directed or ():
        graph.directed[i, j] = True
    for i, j in undirected or ():
        graph.undirected[i, j] = graph.undirected[j, i] = True
    return graph


def arrows_of(directed: np.ndarray) -> Arrows:
    return {(int(i), int(j)) for i, j in np.argwhere(directed)}


def is_acyclic(p: int, arrows: Arrows) -> bool:
    """By walking: no stream is met again."""

    def walk(i: int, met: set[int]) -> bool:
        return all(j not in met and walk(j, met | {j}) for a, j in arrows if a == i)

    return all(walk(i, {i}) for i in range(p))


def colliders(arrows: Arrows) -> set[tuple[int, int, int]]:
    """Two unlinked causes of a common effect: (cause, effect, cause)."""
    linked = arrows | {(j, i) for i, j in arrows}
    return {
        (i, k, j)
        for (i, k), (j, other) in product(arrows, arrows)
        if k == other and i < j and (i, j) not in linked
    }


def all_directions(p: int, skeleton: Arrows, wanted: set[tuple[int, int, int]]) -> list[Arrows]:
    """Every acyclic graph on the skeleton with these colliders and no other."""
    pairs = sorted(skeleton)
    found = []
    for choice in product(*([(i, j), (j, i)] for i, j in pairs)):
        arrows = set(choice)
        if is_acyclic(p, arrows) and colliders(arrows) == wanted:
            found.append(arrows)
    return found


def equivalence_class(p: int, arrows: Arrows) -> tuple[Graph, list[Arrows]]:
    """The completed partially directed graph of an acyclic one, and all its members."""
    skeleton = {(min(i, j), max(i, j)) for i, j in arrows}
    members = all_directions(p, skeleton, colliders(arrows))
    settled = set.intersection(*members) if members else set()
    open_pairs = {(i, j) for i, j in skeleton if not {(i, j), (j, i)} & settled}
    return a_graph(p, settled, open_pairs), members


def path_sum(effects: np.ndarray, i: int, j: int) -> float:
    if i == j:
        return 1.0
    return sum(
        float(effects[i, k]) * path_sum(effects, int(k), j) for k in np.flatnonzero(effects[i])
    )


def leads_to(arrows: Arrows, i: int, j: int) -> bool:
    return any(a == i and (b == j or leads_to(arrows, b, j)) for a, b in arrows)


@st.composite
def acyclic(draw: st.DrawFn, largest: int) -> tuple[int, Arrows]:
    """Any acyclic graph of up to `largest` streams, over any order."""
    p = draw(st.integers(2, largest))
    order = draw(st.permutations(range(p)))
    pairs = list(combinations(order, 2))
    present = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return p, {pair for pair, on in zip(pairs, present, strict=True) if on}


def a_model_on(p: int, arrows: Arrows, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Direct effects on standardised streams, and the correlation that goes with them."""
    raw = np.zeros((p, p))
    for i, j in sorted(arrows):
        raw[i, j] = rng.uniform(0.3, 1.0) * rng.choice([-1, 1])
    reach = np.linalg.inv(np.eye(p) - raw)
    covariance = reach.T @ reach
    deviation = np.sqrt(np.diag(covariance))
    return raw * deviation[:, None] / deviation, covariance / np.outer(deviation, deviation)


# --- effects ---------------------------------------------------------------------------


@given(graph=acyclic(5), seed=SEEDS)
def test_effects_of_a_known_graph_are_sums_over_paths(graph: tuple[int, Arrows], seed: int) -> None:
    p, arrows = graph
    rng = np.random.default_rng(seed)
    effects, correlation = a_model_on(p, arrows, rng)
    found = propagation_effects(a_graph(p, arrows), correlation, 3, rng)
    for i, j in product(range(p), repeat=2):
        if i == j:
            assert found[i, j] == 1.0
        elif leads_to(arrows, i, j):
            assert found[i, j] == pytest.approx(np.tanh(abs(path_sum(effects, i, j))), abs=1e-9)
            assert 0 <= found[i, j] < 1
        else:
            assert found[i, j] == 0.0


def test_effects_reach_the_end_of_a_long_chain() -> None:
    p = 12
    place = np.arange(p)
    correlation = 0.8 ** np.abs(place[:, None] - place)
    chain = {(i, i + 1) for i in range(p - 1)}
    found = propagation_effects(a_graph(p, chain), correlation, 1, np.random.default_rng(0))
    expected = np.triu(np.tanh(correlation))
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_direct_effects_are_those_of_a_regression_on_rows() -> None:
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((80, 5)) @ rng.standard_normal((5, 5)) + 3.0
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    arrows = {(0, 3), (1, 3), (4, 3), (2, 1)}
    found = direct_effects(a_graph(5, arrows).directed, np.corrcoef(rows, rowvar=False))
    expected = np.zeros((5, 5))
    expected[[0, 1, 4], 3] = np.linalg.lstsq(standard[:, [0, 1, 4]], standard[:, 3])[0]
    expected[[2], 1] = np.linalg.lstsq(standard[:, [2]], standard[:, 1])[0]
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize(
    ("p", "arrows"),
    [
        pytest.param(2, {(0, 1)}, id="pair"),
        pytest.param(3, {(0, 1), (1, 2)}, id="chain"),
        pytest.param(4, {(0, 1), (1, 2), (2, 3)}, id="chain_of_four"),
        pytest.param(4, {(0, 1), (0, 2), (1, 3), (2, 3)}, id="diamond"),
        pytest.param(4, {(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)}, id="diamond_with_chord"),
    ],
)
def test_open_edges_count_as_the_mean_over_all_admissible_directions(
    p: int, arrows: Arrows
) -> None:
    """Every member of the equivalence class counts once.

    4000 draws: an entry lies in [0, 1], so its standard error is at most .008; 4 of them
    for the worst of 12 entries fail falsely in 1 of 1,300 seeds.
    """
    rng = np.random.default_rng(3)
    _, correlation = a_model_on(p, arrows, rng)
    graph, members = equivalence_class(p, arrows)
    assert len(members) > 1
    expected = np.zeros((p, p))
    for member in members:
        effects = direct_effects(a_graph(p, member).directed, correlation)
        for i, j in product(range(p), repeat=2):
            expected[i, j] += np.tanh(abs(path_sum(effects, i, j))) / len(members)
    np.fill_diagonal(expected, 1.0)
    found = propagation_effects(graph, correlation, 4000, rng)
    np.testing.assert_allclose(found, expected, atol=0.032)


# --- directions ------------------------------------------------------------------------


@given(graph=acyclic(5), seed=SEEDS)
def test_directions_stay_in_the_equivalence_class(graph: tuple[int, Arrows], seed: int) -> None:
    """No cycle, no collider gained or lost, arrows kept: a member, found by enumeration."""
    p, arrows = graph
    partly, members = equivalence_class(p, arrows)
    assert arrows in members
    for settled in directions(partly, 5, np.random.default_rng(seed)):
        assert arrows_of(settled) in members


@given(graph=acyclic(5), data=st.data(), seed=SEEDS)
def test_directions_keep_every_arrow_that_is_known(
    graph: tuple[int, Arrows], data: st.DataObject, seed: int
) -> None:
    """Colliders and some more arrows are known, not always all that follow from them."""
    p, arrows = graph
    known = {pair for i, k, j in colliders(arrows) for pair in ((i, k), (j, k))}
    known |= {pair for pair in sorted(arrows) if data.draw(st.booleans())}
    _, members = equivalence_class(p, arrows)
    admissible = [member for member in members if known <= member]
    partly = a_graph(p, known, arrows - known)
    for settled in directions(partly, 5, np.random.default_rng(seed)):
        assert arrows_of(settled) in admissible


@pytest.mark.parametrize(
    ("p", "arrows", "count"),
    [
        (3, {(0, 1), (1, 2)}, 3),
        (4, {(0, 1), (1, 2), (2, 3)}, 4),
        (4, {(0, 1), (0, 2), (0, 3)}, 4),
        (4, {(0, 1), (0, 2), (1, 3), (2, 3)}, 3),
        (3, {(0, 1), (0, 2), (1, 2)}, 6),
    ],
)
def test_every_admissible_direction_can_come_up(p: int, arrows: Arrows, count: int) -> None:
    """The rarest has a chance of at least 1/12 a draw: 400 draws miss it once in 10^15."""
    partly, members = equivalence_class(p, arrows)
    assert len(members) == count
    drawn = {frozenset(arrows_of(d)) for d in directions(partly, 400, np.random.default_rng(0))}
    assert drawn == {frozenset(member) for member in members}


def test_a_settled_graph_is_taken_as_it_is() -> None:
    graph = a_graph(3, {(2, 0), (0, 1)})
    found = list(directions(graph, 9, np.random.default_rng(0)))
    assert len(found) == 1
    assert np.array_equal(found[0], graph.directed)


@settings(max_examples=80)
@given(p=st.integers(2, 6), data=st.data(), seed=SEEDS)
def test_contradictory_estimates_still_become_acyclic(
    p: int, data: st.DataObject, seed: int
) -> None:
    """Any mixture of marks, cycles included: all links stay, and some order explains them."""
    kinds = st.sampled_from(["none", "forth", "back", "open"])
    directed, undirected, skeleton = set(), set(), set()
    for i, j in combinations(range(p), 2):
        kind = data.draw(kinds)
        if kind != "none":
            skeleton.add((i, j))
        if kind == "open":
            undirected.add((i, j))
        elif kind != "none":
            directed.add((i, j) if kind == "forth" else (j, i))
    graph = a_graph(p, directed, undirected)
    kept_directed, kept_undirected = graph.directed.copy(), graph.undirected.copy()
    for settled in directions(graph, 3, np.random.default_rng(seed)):
        arrows = arrows_of(settled)
        assert {(min(pair), max(pair)) for pair in arrows} == skeleton
        assert len(arrows) == len(skeleton)
        assert is_acyclic(p, arrows)
    assert np.array_equal(graph.directed, kept_directed)
    assert np.array_equal(graph.undirected, kept_undirected)


def test_a_square_of_open_edges_has_no_admissible_direction_but_an_acyclic_one() -> None:
    square = {(0, 1), (1, 2), (2, 3), (0, 3)}
    assert not all_directions(4, square, set())
    for settled in directions(a_graph(4, set(), square), 20, np.random.default_rng(0)):
        assert is_acyclic(4, arrows_of(settled))
        # one collider is the least a square can have
        assert len(colliders(arrows_of(settled))) == 1


# --- quality ---------------------------------------------------------------------------

TRUTH = a_graph(5, {(0, 1), (1, 2), (0, 3), (3, 4)})


@pytest.mark.parametrize(
    ("found", "shd", "tpr", "fdr"),
    [
        pytest.param(TRUTH, 0, 1.0, 0.0, id="all_right"),
        pytest.param(a_graph(5), 4, 0.0, None, id="nothing_found"),
        pytest.param(
            # right: 0-1; reversed: 2-1; extra: 2-4; missing: 0-3, 3-4
            a_graph(5, {(0, 1), (2, 1), (2, 4)}), 4, 1 / 4, 2 / 3, id="one_of_each"
        ),
        pytest.param(
            # an open edge counts as found; an open edge where there is none as extra, once
            a_graph(5, {(0, 3)}, {(0, 1), (1, 4)}), 3, 2 / 4, 1 / 3, id="open_edges"
        ),
        pytest.param(
            a_graph(5, {(1, 0), (2, 1), (3, 0), (4, 3)}), 4, 0.0, 1.0, id="all_reversed"
        ),
    ],
)  # fmt: skip
def test_quality_by_hand(found: Graph, shd: int, tpr: float, fdr: float | None) -> None:
    measured = quality(found, TRUTH)
    assert measured.shd == shd
    assert measured.tpr == pytest.approx(tpr)
    assert measured.fdr == (None if fdr is None else pytest.approx(fdr))


def test_quality_of_the_selected_streams_by_hand() -> None:
    """Streams 3, 1, 0, in this order: true edges 0-1 and 0-3, found 0-1 and 3-1."""
    found = a_graph(5, {(0, 1), (3, 1), (4, 2)}, {(1, 2)})
    streams = np.array([3, 1, 0])
    measured = quality(found.subgraph(streams), TRUTH.subgraph(streams))
    assert (measured.shd, measured.tpr, measured.fdr) == (2, 1 / 2, 1 / 2)
    assert found.edges() == 4
    assert found.subgraph(streams).edges() == 2
    apart = np.array([2, 3])
    assert quality(found.subgraph(apart), TRUTH.subgraph(apart)).tpr is None


# --- causal-learn ----------------------------------------------------------------------

ENDS = {
    "cause": (Endpoint.TAIL, Endpoint.ARROW),
    "effect": (Endpoint.ARROW, Endpoint.TAIL),
    "perhaps_cause": (Endpoint.CIRCLE, Endpoint.ARROW),
    "perhaps_effect": (Endpoint.ARROW, Endpoint.CIRCLE),
    "open": (Endpoint.TAIL, Endpoint.TAIL),
    "unknown": (Endpoint.CIRCLE, Endpoint.CIRCLE),
    "conflict": (Endpoint.ARROW, Endpoint.ARROW),
}


@pytest.mark.parametrize("kind", ENDS)
def test_marks_are_read_as_causal_learn_writes_them(kind: str) -> None:
    nodes = [GraphNode(name) for name in "abc"]
    theirs = GeneralGraph(nodes)
    theirs.add_edge(Edge(nodes[0], nodes[2], *ENDS[kind]))
    graph = from_marks(theirs.graph)
    if kind.endswith("cause"):
        expected = a_graph(3, {(0, 2)})
    elif kind.endswith("effect"):
        expected = a_graph(3, {(2, 0)})
    else:
        expected = a_graph(3, set(), {(0, 2)})
    assert np.array_equal(graph.directed, expected.directed)
    assert np.array_equal(graph.undirected, expected.undirected)


def settings_for(algorithm: str, file: Path | None = None) -> DiscoverySettings:
    return DiscoverySettings.model_validate(
        {
            "algorithm": algorithm,
            "level": 0.01,
            "max_directions": 4,
            "low_tpr": 0.17,
            "low_fdr": 0.89,
            "file": None if file is None else str(file),
        }
    )


def a_model_of(rows: np.ndarray) -> StreamModel:
    p = rows.shape[1]
    names = tuple(f"x{i + 1}" for i in range(p))
    return StreamModel(names, rows, np.corrcoef(rows, rowvar=False), np.zeros((p, p)))


@pytest.mark.parametrize("seed", range(25))
def test_pc_is_causal_learns(seed: int) -> None:
    """Mark for mark, also where few rows make for contradictions."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(3, 14))
    source = SimulationSource(
        kind="simulation",
        p=p,
        expected_degree=min(float(rng.uniform(1, 6)), p - 1.0),
        weight_low=0.5,
        weight_high=1.0,
        rows=int(rng.integers(p + 6, 150)),
    )
    rows, level = simulate(source, rng).rows, float(rng.choice([0.01, 0.05, 0.2]))
    found = pc(rows, level)
    theirs = causal_learn_pc(rows, alpha=level, indep_test="fisherz", show_progress=False)
    expected = from_marks(theirs.G.graph)
    assert np.array_equal(found.directed, expected.directed)
    assert np.array_equal(found.undirected, expected.undirected)


def test_tests_in_several_goes_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(3).standard_normal((60, 8)) @ np.tri(8)
    whole = pc(rows, 0.05)
    monkeypatch.setattr("causaldq.discovery.pc.AT_ONCE", 7)
    parts = pc(rows, 0.05)
    assert whole.edges() > 0
    assert np.array_equal(parts.directed, whole.directed)
    assert np.array_equal(parts.undirected, whole.undirected)


@pytest.mark.parametrize("algorithm", ["pc", "fci", "ges"])
def test_a_collider_is_found(algorithm: str) -> None:
    """2000 rows of x -> z <- y: the links are certain, a link x - y appears at level .01."""
    x, y, noise = np.random.default_rng(0).standard_normal((3, 2000))
    rows = np.stack([x, x + y + 0.5 * noise, y], axis=1)
    graph = discover(a_model_of(rows), settings_for(algorithm))
    assert arrows_of(graph.directed) == {(0, 1), (2, 1)}
    assert not graph.undirected.any()


@pytest.mark.parametrize("algorithm", ["pc", "fci", "ges"])
def test_a_chain_is_left_open(algorithm: str) -> None:
    a, b, c = np.random.default_rng(1).standard_normal((3, 2000))
    rows = np.stack([a, 0.8 * a + b, 0.8 * (0.8 * a + b) + c], axis=1)
    graph = discover(a_model_of(rows), settings_for(algorithm))
    assert not graph.directed.any()
    assert arrows_of(np.triu(graph.undirected)) == {(0, 1), (1, 2)}


def test_lingam_finds_the_order_of_a_chain() -> None:
    """Uniform noise; the columns are not in causal order."""
    first, second, third = np.random.default_rng(2).uniform(-1, 1, (3, 2000))
    b = 0.8 * first + second
    rows = np.stack([0.8 * b + 0.5 * third, first, b], axis=1)
    graph = discover(a_model_of(rows), settings_for("direct_lingam"))
    assert {(1, 2), (2, 0)} <= arrows_of(graph.directed)
    assert not {(2, 1), (0, 2), (0, 1)} & arrows_of(graph.directed)


def test_ground_truth_is_the_models_own_graph() -> None:
    model = a_model_of(good_rows()[:, :3])
    model.effects[2, 0] = -0.4
    graph = discover(model, settings_for("ground_truth"))
    assert arrows_of(graph.directed) == {(2, 0)}


# --- what cannot be used ---------------------------------------------------------------

NAMES = ("flow", "level", "pressure", "heat")


def good_rows(n: int = 100) -> np.ndarray:
    return np.random.default_rng(5).standard_normal((n, 4))


@pytest.mark.parametrize("value", [0.0, 3.0, 0.1, 0.3, -1.7e5])
def test_a_constant_stream_is_named(value: float) -> None:
    rows = good_rows()
    rows[:, 2] = value
    with pytest.raises(DiscoveryError, match=r"constant.*pressure") as caught:
        check(rows, NAMES)
    assert "flow" not in str(caught.value)


@pytest.mark.parametrize("n", [1, 4, 7])
def test_too_few_rows_are_refused(n: int) -> None:
    with pytest.raises(DiscoveryError, match=rf"^{n} in-control rows.*4 streams.*flow"):
        check(good_rows(n), NAMES)
    check(good_rows(8), NAMES)


@pytest.mark.parametrize("scale", [1.0, -2.0, 1000.0])
def test_a_repeated_stream_is_named(scale: float) -> None:
    rows = good_rows()
    rows[:, 3] = scale * rows[:, 1] + 4.0
    with pytest.raises(DiscoveryError, match="level, heat") as caught:
        check(rows, NAMES)
    assert "flow" not in str(caught.value)
    assert "pressure" not in str(caught.value)


def test_a_sum_of_streams_is_named_with_its_parts() -> None:
    rows = good_rows()
    rows[:, 3] = rows[:, 0] + rows[:, 1]
    with pytest.raises(DiscoveryError, match="flow, level, heat"):
        check(rows, NAMES)


# --- a given graph ---------------------------------------------------------------------


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    return tmp_path / "edges.csv"


def test_a_given_graph_is_read(edges: Path) -> None:
    edges.write_text("cause,effect,directed\nflow,level,1\nheat,level,0\n")
    model = StreamModel(NAMES, np.zeros((1, 4)), np.eye(4), np.zeros((4, 4)))
    graph = discover(model, settings_for("file", edges))
    assert arrows_of(graph.directed) == {(0, 1)}
    assert arrows_of(graph.undirected) == {(1, 3), (3, 1)}
    edges.write_text("effect,cause\nflow,level\n")
    assert arrows_of(read_graph(edges, NAMES).directed) == {(1, 0)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("cause\nflow\n", "'effect'", id="no_effect"),
        pytest.param("from,to\nflow,level\n", "'cause'", id="other_columns"),
        pytest.param("cause,effect\nflow,level\nflow,steam\n", "line 3.*'steam'", id="no_stream"),
        pytest.param("cause,effect\nflow,heat\n\nflow,steam\n", "line 4.*'steam'", id="blank_line"),
        pytest.param("cause,effect\nflow,level\nflow\n", "line 3", id="field_missing"),
        pytest.param("cause,effect\nflow,level,heat\n", "line 2", id="field_too_many"),
        pytest.param("cause,effect\nflow,flow\n", "line 2.*flow", id="own_cause"),
        pytest.param(
            "cause,effect,directed\nflow,level,0\nlevel,heat,no\n", "line 3.*no", id="directed"
        ),
    ],
)  # fmt: skip
def test_a_graph_that_cannot_be_read_names_file_and_line(
    edges: Path, text: str, message: str
) -> None:
    edges.write_text(text)
    with pytest.raises(DiscoveryError, match=rf"edges\.csv.*{message}"):
        read_graph(edges, NAMES)


def test_a_graph_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(DiscoveryError, match=r"nowhere\.csv does not exist"):
        read_graph(tmp_path / "nowhere.csv", NAMES)


def test_a_given_graph_without_a_file_is_refused() -> None:
    with pytest.raises(ValueError, match="file"):
        settings_for("file")
