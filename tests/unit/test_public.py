"""What the library offers: every public name explained, with an example that runs."""

import doctest
import inspect
import re
import sys
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import causaldq
from causaldq import Shift, calibrate, check_method, evaluate, method_names, simulate
from causaldq.contract import ContractError
from causaldq.errors import CausalDQError, ConfigError
from causaldq.methods.base import Method, State, top
from causaldq.methods.greedy import Greedy
from causaldq.methods.local import LocalState
from causaldq.methods.registry import AGENTS, NAMES

HOMES = sorted(
    {
        *(causaldq._HOMES[name] or f"causaldq.{name}" for name in causaldq.__all__),
        "causaldq",
        *(f"causaldq.tables.{name}" for name in ("findings", "inspection", "reader", "rows")),
        "causaldq.tables.settings",
        "causaldq.live.session",
        "causaldq.sensors",
        "causaldq.spacing",
    }
)


@pytest.mark.parametrize("module", HOMES)
def test_the_examples_do_what_they_say(module: str) -> None:
    failed, tried = doctest.testmod(
        import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    )
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize("name", causaldq.__all__)
def test_every_public_name_is_explained_with_an_example(name: str) -> None:
    found: Any = getattr(causaldq, name)
    text = inspect.getdoc(found) or ""
    assert "Examples\n--------\n" in text
    if inspect.isclass(found) and is_dataclass(found):
        for field in fields(found):
            assert re.search(rf"^(.+, )?{field.name}(,.+)? : ", text, re.M), f"{name}: {field.name}"
    if inspect.isfunction(found):
        given = [p for p in inspect.signature(found).parameters if p != "progress"]
        for parameter in given:
            assert parameter in text, f"{name} does not explain {parameter}"


def test_what_is_not_public_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Monitr'"):
        causaldq.Monitr  # noqa: B018
    assert set(causaldq.__all__) == set(causaldq._HOMES)
    assert set(causaldq.__all__) <= set(dir(causaldq))


@pytest.mark.parametrize("name", method_names())
def test_every_method_keeps_to_the_contract(name: str) -> None:
    check_method(name)
    check_method(name, p=5, sensors=5)
    check_method(name, p=4, sensors=1)


class Peeks(Greedy):
    """Looks at values that were not read, through the paths of its test."""

    def observe(self, state: Any, streams: Any, values: Any, rng: Any) -> Any:
        where = sys._getframe(1).f_locals
        hidden = where["paths"][:, where["t"]] if "paths" in where else 0 * values
        return super().observe(state, streams, values + 0 * values + 1e-3 * hidden.sum(), rng)


class Twice(Greedy):
    def choose(self, state: Any, rng: Any) -> Any:
        return np.zeros((len(state.contributions), self.problem.m), dtype=np.int64)


class Forgets(Greedy):
    """Draws from a source of its own."""

    def choose(self, state: Any, rng: Any) -> Any:
        return top(state.contributions, self.problem.m, np.random.default_rng())


class Shares(Greedy):
    """Lets runs side by side touch each other."""

    def statistic(self, state: Any) -> Any:
        return super().statistic(state) + state.contributions.mean()


@dataclass(frozen=True)
class Merged(LocalState):
    """Takes a run that is asked for twice only once."""

    def take(self, rows: Any) -> Any:
        return super().take(np.array(list(dict.fromkeys(np.asarray(rows).tolist())), np.int64))


class Merges(Greedy):
    def start(self, n: int, truth: Any, rng: Any) -> Any:
        return Merged(**vars(super().start(n, truth, rng)))


@dataclass(frozen=True)
class Sizes(State):
    size: Any


class Overwrites(Method[Sizes]):
    """Takes the state that it was given for its own."""

    def start(self, n: int, truth: Any, rng: Any) -> Any:
        return Sizes(np.zeros((n, self.problem.p)))

    def choose(self, state: Any, rng: Any) -> Any:
        return top(state.size, self.problem.m, rng)

    def observe(self, state: Any, streams: Any, values: Any, rng: Any) -> Any:
        np.put_along_axis(state.size, streams, np.abs(values), axis=1)
        return state

    def statistic(self, state: Any) -> Any:
        return state.size.max(axis=1)


class Lists(Greedy):
    def choose(self, state: Any, rng: Any) -> Any:
        return super().choose(state, rng).tolist()


class Nothing(Greedy):
    def observe(self, state: Any, streams: Any, values: Any, rng: Any) -> Any:
        return None


class OneNumber(Greedy):
    def statistic(self, state: Any) -> Any:
        return 0.0


class TellsOfTwo(Greedy):
    def contributions(self, state: Any) -> Any:
        return super().contributions(state)[:, :2]


class Stumbles(Greedy):
    """Wants every reading."""

    def observe(self, state: Any, streams: Any, values: Any, rng: Any) -> Any:
        if streams.shape[1] < self.problem.m:
            values = np.full_like(values, np.nan)
        return super().observe(state, streams, values, rng)


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (Peeks, "not read changes"),
        (Twice, "a stream twice"),
        (Forgets, "another course"),
        (Shares, "keeps? |changes the statistic"),
        (Merges, "State.take changes"),
        (Stumbles, "NaN after"),
        (Overwrites, "changes the state that it was given"),
        (Lists, "choose must give an array of whole numbers"),
        (Nothing, "observe must give a subclass of State, not NoneType"),
        (OneNumber, r"statistic gives shape \(\); give an array"),
        (TellsOfTwo, r"contributions gives shape \(4, 2\)"),
    ],
)
def test_a_method_that_breaks_the_contract_is_told_how(method: type, words: str) -> None:
    with pytest.raises(ContractError, match=words):
        check_method(method)


def test_a_method_of_ones_own_against_ours() -> None:
    """All get the same false alarms, and who reads at random is later."""
    streams = simulate(8, degree=2, seed=3)

    class Own(Greedy):
        pass

    table = evaluate(
        {"own": Own, "ours": "greedy", "random": "random"}, streams, 2, [Shift(1.5, streams=2)],
        arl0=50, replications=200, paths=400,
    ).set_index("method")  # fmt: skip
    assert table.loc["own", "delay"] == table.loc["ours", "delay"]
    assert table.loc["ours", "high"] < table.loc["random", "low"]
    # Limits and their checks have a relative error of some 6% each where run lengths vary a little
    # more than an exponential law's: 30% is beyond 3 standard errors of their ratio.
    assert table["reached"].between(35, 65).all()


def streams_of(covariance: Any) -> causaldq.StreamModel:
    return causaldq.StreamModel(("a", "b"), np.empty((0, 2)), covariance, np.zeros((2, 2)))


UNKNOWN = streams_of(np.array([[1.0, 0.5], [0.5, 1.0]]))
"""Correlated, nobody knows why."""


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: simulate(1), "p is 1; give a whole number of 2 or more"),
        (lambda: simulate(5.0), "p is 5.0; give a whole number"),  # type: ignore[arg-type]
        (lambda: simulate(5, degree=-1), "0 or more"),
        (lambda: simulate(5, rows=5), "rows is 5; give a whole number of 10 or more"),
        (lambda: simulate(5, weights=3), "weights are 3"),  # type: ignore[arg-type]
        (lambda: simulate(5, weights=(1, float("inf"))), "a weight is inf"),
        (lambda: simulate(5, tails=float("inf")), "tails is inf; give a number above 2"),
        (lambda: simulate(5, seed=-1), "seed is -1; give a whole number of 0 or more"),
        (lambda: simulate(5, weights=(2.0, 1.0)), "low <= high"),
        (lambda: calibrate("greedy", simulate(5), 6), "6 sensors for 5 streams"),
        (lambda: calibrate("greedy", simulate(5), 2, arl0=0), "arl0 is 0"),
        (lambda: calibrate("gredy", simulate(5), 2), "did you mean greedy"),
        (lambda: calibrate("zzz", simulate(5), 2), "no method 'zzz'; give greedy, "),
        (lambda: causaldq.check_method(3), "3 is no method"),  # type: ignore[arg-type]
        (lambda: Shift(float("nan")), "size is nan; give a number .* finite"),
        (lambda: Shift(streams=[]), "empty list"),
        (lambda: Shift(streams=True), "streams is True"),
        (lambda: Shift(streams="x1"), "streams are 'x1'"),
        (lambda: Shift(streams=(x for x in [0])), "a list of which"),  # type: ignore[arg-type]
        (lambda: Shift(streams=2.0), "a list of which"),  # type: ignore[arg-type]
        (lambda: Shift(signs="down"), "signs are 'down'; give one of same"),  # type: ignore[arg-type]
        (lambda: Shift(ramp=float("nan")), "ramp is nan"),  # type: ignore[arg-type]
        (lambda: Shift(ramp=1.5), "ramp is 1.5"),  # type: ignore[arg-type]
        (lambda: evaluate(["greedy"], simulate(5), 2, [Shift(streams=["x1", 0])]), "once"),
        (lambda: evaluate(["greedy"], simulate(5), 2, [Shift(streams=[1.0])]), "no stream 1.0"),  # type: ignore[list-item]
        (lambda: evaluate(["greedy"], UNKNOWN, 1, [Shift(propagate=True)]), "effects .* not known"),
        (lambda: causaldq.Monitor.fit(np.zeros((9, 4)), 2.5), "2.5 sensors for 4"),  # type: ignore[arg-type]
        (lambda: calibrate("greedy", simulate(5), 2.5), "2.5 sensors for 5 streams"),  # type: ignore[arg-type]
        (lambda: calibrate("greedy", simulate(5), True), "True sensors for 5 streams"),
        (lambda: calibrate("greedy", simulate(5), 2, arl0=1e12), "not fit into memory"),
        (lambda: calibrate("greedy", simulate(5), 2, paths=10.5), "paths is 10.5"),  # type: ignore[arg-type]
        (lambda: calibrate("greedy", simulate(5), 2, horizon=float("nan")), "horizon is nan"),
        (lambda: calibrate("greedy", simulate(5), 2, seed=1.5), "seed is 1.5"),  # type: ignore[arg-type]
        (lambda: calibrate("greedy", np.eye(5), 2), "the streams are a ndarray"),  # type: ignore[arg-type]
        (
            lambda: calibrate("greedy", streams_of(np.eye(3)), 1),
            "covariance of 2 streams has shape",
        ),
        (lambda: calibrate("greedy", streams_of(np.triu(np.ones((2, 2)))), 1), "not symmetric"),
        (lambda: calibrate("greedy", streams_of(np.ones((2, 2))), 1), "not positive definite"),
        (lambda: calibrate(causaldq.Reading, simulate(5), 2), "Reading is no method"),
        (lambda: calibrate(Method, simulate(5), 2), "Method lacks choose, observe"),
        (lambda: calibrate(lambda: 3, simulate(5), 2), "with the problem alone"),  # type: ignore[arg-type, misc]
        (lambda: evaluate(["greedy"], simulate(5), 2, []), "one shift"),
        (lambda: evaluate([], simulate(5), 2, [Shift()]), "one method"),
        (lambda: evaluate("greedy", simulate(5), 2, [Shift()]), "methods are 'greedy'"),
        (lambda: evaluate(["greedy"], simulate(5), 2, Shift()), "a list of Shift"),  # type: ignore[arg-type]
        (
            lambda: evaluate(["greedy"], simulate(5), 2, [Shift()], confidence=95),
            "confidence is 95",
        ),
        (lambda: evaluate(["greedy"], simulate(5), 2, [Shift()], before=2.5), "before is 2.5"),  # type: ignore[arg-type]
        (lambda: causaldq.check_method("greedy", p=2.5), "p is 2.5"),  # type: ignore[arg-type]
        (lambda: causaldq.check_method("greedy", sensors=2.0), "2.0 sensors"),  # type: ignore[arg-type]
        (lambda: causaldq.check_method("greedy", seed=-1), "seed is -1"),
        (lambda: evaluate(["greedy", "greedy"], simulate(5), 2, [Shift()]), "same name"),
        (lambda: evaluate(["greedy"], simulate(5), 2, [Shift(1, streams=6)]), "1 to 5"),
        (lambda: evaluate(["greedy"], simulate(5), 2, [Shift(1, streams=["y"])]), "no stream 'y'"),
        (lambda: evaluate(["greedy"], simulate(5), 2, [Shift(1, streams=[9])]), "no stream 9"),
        (lambda: causaldq.Problem(np.ones((2, 3)), 1), "square"),
        (lambda: causaldq.Problem(np.full((2, 2), np.nan), 1), "finite"),
        (lambda: causaldq.Problem(np.eye(2), 1, graphs=np.zeros((1, 3, 3), bool)), "graphs"),
    ],
)
def test_what_is_wrong_is_said(call: Any, words: str) -> None:
    with pytest.raises(CausalDQError, match=words):
        call()


def test_numbers_of_numpy_are_numbers() -> None:
    streams = simulate(np.int64(5), rows=np.int64(20), seed=np.int64(2))  # type: ignore[arg-type]
    np.testing.assert_array_equal(streams.rows, simulate(5, rows=20, seed=2).rows)
    rng = np.random.default_rng
    drawn = Shift(streams=np.int64(2)).means(streams, 3, rng(0))  # type: ignore[arg-type]
    np.testing.assert_array_equal(drawn, Shift(streams=2).means(streams, 3, rng(0)))
    placed = Shift(streams=np.array([1, 2])).means(streams, 1, rng(0))  # type: ignore[arg-type]
    assert placed[0].tolist() == [0, 1, 1, 0, 0]


def test_of_many_names_that_are_near_three_are_told() -> None:
    assert len(get_close_matches("causal_d", [*NAMES, *AGENTS], 9)) > 3
    told = r"no method 'causal_d'; did you mean causal_dq or \w+ or \w+\?$"
    with pytest.raises(ConfigError, match=told):
        calibrate("causal_d", simulate(5), 2)


def test_a_shift_that_propagates_moves_what_lies_downstream() -> None:
    streams = simulate(6, degree=4, seed=2)
    rng = np.random.default_rng(0)
    root = int(np.argmax((streams.effects != 0).sum(axis=1)))
    means = Shift(2.0, streams=[root], propagate=True).means(streams, 1, rng)[0]
    np.testing.assert_allclose(means, 2.0 * streams.total_effects()[root])
    alone = Shift(2.0, streams=[root]).means(streams, 1, rng)[0]
    assert np.flatnonzero(alone).tolist() == [root]
    up_and_down = Shift(1.0, streams=4, signs="alternating").means(streams, 50, rng)
    assert (np.abs(up_and_down).sum(axis=1) == 4).all()
    assert (up_and_down.sum(axis=1) == 0).all()


def test_the_package_is_typed() -> None:
    assert (Path(causaldq.__file__).parent / "py.typed").is_file()
    assert issubclass(ConfigError, CausalDQError)
    assert issubclass(State, object)
    assert Method.__abstractmethods__ >= {"start", "choose", "observe", "statistic"}
