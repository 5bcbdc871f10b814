"""What the plant allows of its sensors, and what is a reading, for every method."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plants import COVARIANCE, MEAN, NAMES, SD, monitor, rows

from causaldq import Method, Monitor, SensorRules, State, method_names
from causaldq.errors import ConfigError
from causaldq.sensors import LONGEST_REST, SPIKE, Layout, SensorState, allowed, set_aside

METHODS = method_names()


@st.composite
def situations(draw: st.DrawFn) -> tuple[SensorRules, int, np.ndarray, np.ndarray, SensorState]:
    """Rules that can be kept, a method's choice, and what the sensors did."""
    p, m = len(NAMES), draw(st.integers(2, 4))
    order = draw(st.permutations(NAMES))
    cost = {name: draw(st.sampled_from([0.5, 1.0, 2.0])) for name in NAMES[:3]}
    rules = SensorRules(
        always=list(order[:1]) if draw(st.booleans()) else [],
        without=list(order[1 : 1 + draw(st.integers(0, 2))]),
        cost=cost,
        budget=draw(st.sampled_from([4.0, 5.0, 9.0])),
        groups=[list(order[3:5])] if draw(st.booleans()) else [],
        moves=draw(st.sampled_from([None, 1, 2])),
    )
    wanted = np.array(sorted(draw(st.permutations(range(p)))[:m]))
    current = np.array(sorted(draw(st.permutations(range(p)))[:m]))
    numbers = st.lists(st.integers(0, 9), min_size=p, max_size=p).map(np.array)
    new = SensorState.new(p)
    state = SensorState(draw(numbers), new.misses, draw(numbers) // 8, new.lean, new.again, new.odd)
    return rules, m, wanted, current, state


@given(situations())
def test_what_is_chosen_keeps_to_every_rule(case: tuple) -> None:  # type: ignore[type-arg]
    rules, m, wanted, current, state = case
    layout = Layout.of(rules, NAMES, m)
    chosen = allowed(wanted, np.arange(6.0), layout, state, current)
    named = [NAMES[i] for i in chosen]
    assert len(named) == len(set(named)) <= m
    assert not set(named) & set(rules.without)
    assert set(rules.always) - set(rules.without) <= set(named)
    budget = m if rules.budget is None else rules.budget
    assert sum(rules.cost.get(name, 1.0) for name in named) <= budget
    for group in rules.groups:
        inside = set(group) - set(rules.without)
        assert not inside & set(named) or inside <= set(named)
    moved = {i for i in chosen if i not in current and NAMES[i] not in rules.always}
    if rules.moves is not None and not rules.groups:
        assert len(moved) <= rules.moves
    free = rules.budget is None or rules.budget == 9.0
    if free and rules.moves is None and not rules.groups:
        assert len(named) == min(m, 6 - len(rules.without)), "no sensor stands idle"


def test_without_rules_the_methods_choice_is_taken() -> None:
    layout = Layout.of(SensorRules(), NAMES, 3)
    for wanted in combinations(range(6), 3):
        chosen = allowed(np.array(wanted), np.zeros(6), layout, SensorState.new(6), None)
        assert tuple(chosen) == wanted


@pytest.mark.parametrize("method", METHODS)
def test_every_method_works_within_the_rules(method: str) -> None:
    made = monitor(method)
    made.use(
        SensorRules(
            always=["flow"], without=["heat"], cost={"purity": 2.0}, budget=3.0, moves=1,
            groups=[["level", "speed"]],
        )
    )  # fmt: skip
    before = set(made.next)
    for row in rows(30, seed=1, fault=10):
        reading = made.update(dict(zip(NAMES, row, strict=True)))
        asked = set(reading.read) | set(reading.aside)
        assert asked == before
        assert "flow" in asked
        assert "heat" not in asked
        assert ("level" in asked) == ("speed" in asked)
        assert not {"purity", "level"} <= asked
        before = set(reading.next)
    assert np.isfinite(reading.statistic)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"always": ["pressure"]}, "no stream 'pressure'"),
        ({"without": ["pressure"]}, "no stream 'pressure'"),
        ({"cost": {"pressure": 1.0}}, "no stream 'pressure'"),
        ({"groups": [["flow", "pressure"]]}, "no stream 'pressure'"),
        ({"ranges": {"pressure": (0.0, 1.0)}}, "no stream 'pressure'"),
        ({"ranges": {"flow": (1.0, 0.0)}}, "range of 'flow'"),
        ({"without": list(NAMES)}, "every sensor is left out"),
        ({"groups": [["flow", "heat"], ["heat", "level"]]}, "'heat' stands in two groups"),
        ({"groups": [["flow", "heat", "level", "speed"]]}, "cannot be read at one step"),
        ({"cost": {"purity": 9.0}, "budget": 4.0}, "purity cannot be read"),
        ({"always": ["flow", "heat", "level", "speed"]}, "always read are 4"),
        ({"always": ["flow", "heat"], "cost": {"flow": 2.0}, "budget": 2.5}, "always read are 2"),
    ],
)
def test_rules_that_cannot_be_kept_are_refused(rules: dict, words: str) -> None:  # type: ignore[type-arg]
    made = monitor()
    before = made.next
    with pytest.raises(ConfigError, match=words):
        made.use(SensorRules(**rules))
    assert made.next == before
    assert made.sensors == SensorRules()


@pytest.mark.parametrize("method", METHODS)
def test_a_dead_sensor_is_asked_less_and_less(method: str) -> None:
    made = monitor(method)
    asked = []
    for step, row in enumerate(rows(400, seed=2)):
        given = dict(zip(NAMES, row, strict=True)) | {"level": None}
        reading = made.update(given)
        if "level" in reading.missing:
            asked.append(step)
            assert "level" not in reading.next, "another sensor is asked for next"
        assert len(reading.next) == 3
    assert len(asked) < 6 + 400 / LONGEST_REST + 1
    # Alive again, it is read within the longest rest.
    for row in rows(2 * LONGEST_REST + 60, seed=3):
        reading = made.update(dict(zip(NAMES, row, strict=True)))
        if "level" in reading.read:
            return
    # A policy of its own may never have wanted it; then it does not rest either.
    assert not made._seen.rest.any()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("how", ["dead", "left out"])
def test_a_dead_sensor_does_not_drive_the_statistic(method: str, how: str) -> None:
    """All that is read is as it should be: what rises can only come from what is not read."""
    largest, raised = {}, {}
    for kind in ("alive", how):
        rules = SensorRules(without=["level"]) if kind == "left out" else None
        made = monitor(method, limit=1e9)
        if rules:
            made.use(rules)
        found, level = [], []
        for _ in range(500):
            given = dict(zip(NAMES, MEAN, strict=True)) | ({} if kind == "alive" else {"level": ""})
            found.append(made.update(given).statistic)
            level.append(made._strength[NAMES.index("level")])
        largest[kind], raised[kind] = max(found[100:]), level[-1] - level[100]
    assert largest[how] <= largest["alive"] + 1.0
    assert raised[how] < 1.0


def test_of_too_few_sensors_those_at_rest_are_asked_again() -> None:
    made = monitor("greedy", sensors=5)
    for row in rows(20):
        reading = made.update(dict(zip(NAMES, row, strict=True)) | {"level": "", "heat": "bad"})
        assert len(reading.next) == 5


# --- spikes --------------------------------------------------------------------------------------


@given(st.integers(0, 5), st.sampled_from([-1.0, 1.0]), st.floats(9.0, 1e5), st.integers(0, 10**6))
def test_one_wrong_value_among_right_ones_is_the_one_put_aside(
    place: int, sign: float, size: float, seed: int
) -> None:
    values = np.random.default_rng(seed).standard_normal(6) @ np.linalg.cholesky(COVARIANCE).T
    values[place] = sign * size
    aside, off = set_aside(COVARIANCE, np.arange(6), values, SensorState.new(6))
    assert np.flatnonzero(aside).tolist() == [place]
    # Brute force: the residual of a regression on the others, in its own standard deviations.
    others = [i for i in range(6) if i != place]
    weights = np.linalg.solve(COVARIANCE[np.ix_(others, others)], COVARIANCE[others, place])
    variance = 1 - COVARIANCE[place, others] @ weights
    assert off[place] == pytest.approx((values[place] - weights @ values[others]) / variance**0.5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [8.0, 100.0, -9999.0, 1e5, 1e300, -1e306])
def test_one_reading_neither_raises_nor_holds_an_alarm(method: str, size: float) -> None:
    """It leaves the statistic where a missing reading would, whatever its size."""
    spiked, missing = monitor(method), monitor(method)
    for step, row in enumerate(rows(40, seed=4)):
        named = dict(zip(NAMES, row, strict=True))
        if step == 20:
            stream = spiked.next[0]
            i = NAMES.index(stream)
            first = spiked.update(named | {stream: MEAN[i] + size * SD[i]})
            second = missing.update(named | {stream: None})
            assert first.statistic == second.statistic
            assert first.alarm == second.alarm
            assert first.aside + first.missing == [stream]
            if first.aside:
                assert stream in first.next, "it is read again"
            return
        assert spiked.update(named) == missing.update(named)


@pytest.mark.parametrize("method", ["bayes_posterior", "causal_sr_no_graph"])
def test_a_repeated_reading_is_believed_and_alarms(method: str) -> None:
    made = monitor(method)
    for row in rows(20, seed=5):
        made.update(dict(zip(NAMES, row, strict=True)))
    stream = made.next[0]
    i = NAMES.index(stream)
    asides = []
    for row in rows(5, seed=6):
        reading = made.update(dict(zip(NAMES, row, strict=True)) | {stream: MEAN[i] + 9 * SD[i]})
        asides.append(stream in reading.aside)
        if reading.alarm:
            break
    assert asides[:2] == [True, False]
    assert reading.alarm
    assert reading.step <= 20 + 3


def test_sensors_that_agree_are_believed_at_once() -> None:
    """Two that move together are no spike: each is what the other leads to expect."""
    twins = np.array([[1.0, 0.99], [0.99, 1.0]])
    new = SensorState.new(2)
    assert not set_aside(twins, np.arange(2), np.array([5.0, 5.0]), new)[0].any()
    assert set_aside(twins, np.arange(2), np.array([5.0, 0.0]), new)[0].any()


def test_in_control_the_rule_is_hardly_ever_used() -> None:
    """How far off readings are follows the normal law, which has 6.3 in 100,000 beyond 4.

    Of 120,000 readings 7.6 are expected beyond 4, and 20 or more have a probability below 1 in
    8,000; beyond 5, where the rule begins, .07 are expected. The seed is fixed.
    """
    rng = np.random.default_rng(7)
    factor = np.linalg.cholesky(COVARIANCE)
    far = aside = 0
    for _ in range(20000):
        values = factor @ rng.standard_normal(6)
        put, off = set_aside(COVARIANCE, np.arange(6), values, SensorState.new(6))
        far += int((np.abs(off) > 4).sum())
        aside += int(put.sum())
    assert 0 < far < 20
    assert aside <= 1
    assert SPIKE == 5.0


def test_values_out_of_a_stated_range_are_missing() -> None:
    made = monitor()
    made.use(SensorRules(ranges={name: (MEAN[i] - SD[i], MEAN[i] + SD[i])
                                 for i, name in enumerate(NAMES)}))  # fmt: skip
    low, high, inside = made.next
    reading = made.update(
        {
            low: MEAN[NAMES.index(low)] - 1.01 * SD[NAMES.index(low)],
            high: MEAN[NAMES.index(high)] + 1.01 * SD[NAMES.index(high)],
            inside: MEAN[NAMES.index(inside)] + 0.99 * SD[NAMES.index(inside)],
        }
    )
    assert (reading.read, set(reading.missing)) == ([inside], {low, high})


# --- a statistic that is no number -------------------------------------------------------------


class Breaks(Method[State]):
    """Gives what it was made with once the third row has come."""

    wrong = np.nan

    def start(self, n, truth, rng):  # type: ignore[no-untyped-def]
        self.rows = 0
        return State()

    def choose(self, state, rng):  # type: ignore[no-untyped-def]
        return np.arange(self.problem.m)[None]

    def observe(self, state, streams, values, rng):  # type: ignore[no-untyped-def]
        self.rows += 1
        if self.rows == 3 and self.wrong is None:
            raise np.linalg.LinAlgError("singular")
        return state

    def statistic(self, state):  # type: ignore[no-untyped-def]
        return np.array([self.wrong if self.rows == 3 else 1.0])

    def contributions(self, state):  # type: ignore[no-untyped-def]
        return np.zeros((1, self.problem.p))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, None])
def test_a_statistic_that_is_no_number_is_a_fault(wrong: float | None) -> None:
    class Wrong(Breaks):
        pass

    Wrong.wrong = wrong  # type: ignore[assignment]
    like = monitor()
    made = Monitor(
        Wrong(like.method.problem), name="wrong", names=NAMES, mean=MEAN, sd=SD, limit=like.limit
    )
    readings = [made.update(dict(zip(NAMES, row, strict=True))) for row in rows(5)]
    assert [bool(reading.fault) for reading in readings] == [False, False, True, False, False]
    assert readings[2].statistic == -np.inf
    assert not readings[2].alarm
    assert readings[3].statistic == 1.0


@pytest.mark.parametrize("base", [-1.0, 3.0], ids=["changes its side", "grows threefold"])
def test_the_third_reading_in_a_row_that_is_far_off_is_believed(base: float) -> None:
    """However the fault moves: none of these readings is a repeat of the one before."""
    made, read, alarmed = monitor(), list[bool](), False
    for row in rows(60, seed=5):
        row[2] = MEAN[2] + SD[2] * 20.0 * base ** min(len(read), 6)
        reading = made.update(dict(zip(NAMES, row, strict=True)))
        if "level" in reading.values:
            read.append("level" in reading.read)
        alarmed |= reading.alarm
        if len(read) == 3:
            break
    assert read == [False, False, True]
    assert alarmed


def test_sensors_move_no_further_when_the_method_begins_afresh() -> None:
    """By reset, by restart and by new rules, as from row to row."""
    made, rng = monitor(), np.random.default_rng(6)
    rules = SensorRules(moves=1)
    made.use(rules)
    moved = []
    for number, row in enumerate(rows(60, seed=6)):
        made.update(dict(zip(NAMES, row, strict=True)))
        before = set(made.next)
        if number % 3 == 0:
            made.reset()
        elif number % 3 == 1:
            made.restart()
        else:
            made.use(rules.model_copy(update={"without": [str(rng.choice(NAMES))]}))
        moved.append(len(set(made.next) - before))
    assert max(moved) == 1


def test_a_file_without_the_count_of_readings_far_off_is_read() -> None:
    made = monitor()
    for row in rows(4, seed=7):
        made.update(dict(zip(NAMES, row, strict=True)))
    facts, arrays = made.snapshot()
    del arrays["seen.odd"]
    other = monitor()
    other.restore(facts, arrays)
    row = dict(zip(NAMES, rows(1, seed=8)[0], strict=True))
    assert other.update(row) == made.update(row)
