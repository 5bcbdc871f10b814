"""The agent's parts, against sums written out, enumeration and finite differences."""

import math
from collections.abc import Callable
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import nn

from causaldq.agent.environment import Episodes, build_environment
from causaldq.agent.network import (
    causal_entropy,
    double_q_target,
    q_network,
    set_value,
    top_streams,
)
from causaldq.agent.replay import Replay
from causaldq.agent.reward import reward, reward_shares, with_overrides
from causaldq.agent.settings import TrainingSettings
from causaldq.agent.state import causal_state, causal_statistic
from causaldq.agent.train import Learner, explore
from causaldq.config import LearnedMethod, RewardSettings, StatisticSettings
from causaldq.methods.local import observe_local, start_local
from causaldq.statistic import LocalStatistic
from causaldq.streams.model import StreamModel

SEEDS = st.integers(0, 2**32 - 1)
Values = list[float]


def softmax(q: Values, temperature: float) -> Values:
    weights = [math.exp(value / temperature) for value in q]
    return [w / sum(weights) for w in weights]


def slow_entropy(q: Values, mask: Values, temperature: float) -> float:
    policy = softmax(q, temperature)
    return -sum(c * pi * math.log(pi) for c, pi in zip(mask, policy, strict=True))


def doubles(*values: Any) -> list[torch.Tensor]:
    return [torch.tensor(value, dtype=torch.float64) for value in values]


# --- state -----------------------------------------------------------------------------


@given(p=st.integers(1, 6), seed=SEEDS)
def test_phi_is_the_double_sum(p: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mean, effects = rng.standard_normal((3, p)), rng.random((p, p))
    np.fill_diagonal(effects, 1.0)
    found = causal_statistic(mean, effects)
    for row in range(3):
        for i in range(p):
            others = sum(mean[row, i] * effects[i, j] * mean[row, j] for j in range(p) if j != i)
            assert found[row, i] == pytest.approx(mean[row, i] ** 2 + others, abs=1e-12)


def test_phi_of_a_cause_counts_its_effects_and_not_the_other_way() -> None:
    effects = np.array([[1.0, 0.5], [0.0, 1.0]])
    assert causal_statistic(np.array([[2.0, 3.0]]), effects).tolist() == [[7.0, 9.0]]


def test_the_state_has_three_rows_compressed_and_capped() -> None:
    p, cap = 4, 3
    covariance = np.diag([1.0, 4.0, 1.0, 0.25])
    local = LocalStatistic(covariance, StatisticSettings(decay=0.5, form="raw", ridge=1e-12))
    effects = np.array([[1, 0.2, 0, 0], [0, 1, 0, 0.3], [0, 0, 1, 0], [0.1, 0, 0, 1]])
    state = start_local(local, 1, 2)
    assert (causal_state(local, state, effects, cap) == 0).all()
    readings = [([0, 1], [2.0, -2.0])] + [([1, 3], [0.0, 1.0])] * 5
    for streams, values in readings:
        state = observe_local(local, state, np.array([streams]), np.array([values]))
    # mu: stream 0 once; 1: -2 six readings ago, then five zeros; 2 never; 3 ones
    mu = [2.0, -2 / 32 / (1 + 1 / 2 + 1 / 4 + 1 / 8 + 1 / 16 + 1 / 32), 0.0, 1.0]
    precision = [1 / 32, (63 / 32) / 4, 0.0, 4 * (31 / 16)]
    own = [precision[i] * mu[i] ** 2 for i in range(p)]
    phi = [
        mu[0] ** 2 + mu[0] * 0.2 * mu[1],
        mu[1] ** 2 + mu[1] * 0.3 * mu[3],
        0.0,
        mu[3] ** 2 + mu[3] * 0.1 * mu[0],
    ]
    unobserved = [3.0, 0.0, 3.0, 0.0]  # five and six steps, capped
    raw = [*own, *phi, *unobserved]
    expected = [math.copysign(math.log(1 + abs(x)), x) for x in raw]
    found = causal_state(local, state, effects, cap)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[0], expected, atol=1e-6)
    without = causal_state(local, state, None, cap)
    np.testing.assert_allclose(without[0], expected[:p] + expected[2 * p :], atol=1e-6)
    assert state.unobserved.tolist() == [[5.0, 0.0, 6.0, 0.0]]


# --- causal entropy --------------------------------------------------------------------


@given(
    q=st.lists(st.floats(-3, 3), min_size=2, max_size=6),
    temperature=st.floats(0.3, 3),
    data=st.data(),
)
def test_causal_entropy_is_the_masked_sum(
    q: Values, temperature: float, data: st.DataObject
) -> None:
    mask = data.draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=len(q), max_size=len(q)))
    found = causal_entropy(*doubles([q, q], [mask, [1.0] * len(q)]), temperature)
    assert found[0].item() == pytest.approx(slow_entropy(q, mask, temperature), abs=1e-12)
    # with everything in the mask it is Shannon's entropy
    policy = np.array(softmax(q, temperature))
    assert found[1].item() == pytest.approx(-(policy * np.log(policy)).sum(), abs=1e-12)


def test_causal_entropy_survives_a_sure_policy() -> None:
    q = torch.tensor([[1000.0, 0.0, 0.0]], requires_grad=True)
    entropy = causal_entropy(q, torch.tensor([[1.0, 1.0, 0.0]]), 0.05)
    entropy.sum().backward()
    assert entropy.item() == 0.0
    assert q.grad is not None
    assert torch.isfinite(q.grad).all()


def entropy_gradient(q: Values, mask: Values, temperature: float) -> Values:
    (tensor,) = doubles([q])
    tensor.requires_grad_()
    causal_entropy(tensor, *doubles([mask]), temperature).sum().backward()
    assert tensor.grad is not None
    return [float(g) for g in tensor.grad[0]]


def printed_gradient(q: Values, mask: Values, temperature: float) -> Values:
    """The paper's last line: -C_i pi_i (log pi_i + 1) / tau for each Q_i."""
    policy = softmax(q, temperature)
    return [-c * pi * (math.log(pi) + 1) / temperature for c, pi in zip(mask, policy, strict=True)]


def dropped_term(q: Values, mask: Values, temperature: float) -> Values:
    """What its second line has and its last has not: the baseline E_a'[grad Q(s, a') / tau]."""
    policy = softmax(q, temperature)
    total = sum(c * pi * (math.log(pi) + 1) for c, pi in zip(mask, policy, strict=True))
    return [pi * total / temperature for pi in policy]


@given(
    q=st.lists(st.floats(-2, 2), min_size=2, max_size=5),
    temperature=st.floats(0.5, 2),
    data=st.data(),
)
def test_entropy_gradient_is_the_printed_one_plus_the_term_it_drops(
    q: Values, temperature: float, data: st.DataObject
) -> None:
    mask = data.draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=len(q), max_size=len(q)))
    found = entropy_gradient(q, mask, temperature)
    small = 1e-5
    for i in range(len(q)):
        up, down = ([v + d * (j == i) for j, v in enumerate(q)] for d in (small, -small))
        slope = slow_entropy(up, mask, temperature) - slow_entropy(down, mask, temperature)
        assert found[i] == pytest.approx(slope / (2 * small), abs=1e-8)
    printed = printed_gradient(q, mask, temperature)
    dropped = dropped_term(q, mask, temperature)
    assert found == pytest.approx([a + b for a, b in zip(printed, dropped, strict=True)], abs=1e-10)


def test_the_dropped_term_is_not_small() -> None:
    """Even chances and a full mask: entropy is at its top, so its gradient is zero. The
    printed formula alone would push every Q by (log p - 1) / (p tau)."""
    q, mask = [0.0] * 4, [1.0] * 4
    assert entropy_gradient(q, mask, 0.5) == pytest.approx([0.0] * 4, abs=1e-12)
    push = (math.log(4) - 1) / 4 / 0.5
    assert printed_gradient(q, mask, 0.5) == pytest.approx([push] * 4)
    assert dropped_term(q, mask, 0.5) == pytest.approx([-push] * 4)
    # and a stream outside the mask is moved by the dropped term only
    assert printed_gradient([1.0, 0.0], [1.0, 0.0], 1.0)[1] == 0.0
    assert abs(entropy_gradient([1.0, 0.0], [1.0, 0.0], 1.0)[1]) > 0.1


# --- sets of streams -------------------------------------------------------------------


@given(
    q=st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=6),
    data=st.data(),
)
def test_top_m_is_the_best_set_and_prefers_lower_indices(q: Values, data: st.DataObject) -> None:
    m = data.draw(st.integers(1, len(q)))
    (tensor,) = doubles([q])
    found = top_streams(tensor, m)
    sets = list(combinations(range(len(q)), m))
    values = [sum(q[i] for i in chosen) / m for chosen in sets]
    assert set_value(tensor, found).item() == pytest.approx(max(values))
    # combinations come in lexical order, so the first of the best has the lowest indices
    assert tuple(found[0].tolist()) == sets[int(np.argmax(np.round(values, 9)))]


def test_the_lowest_of_many_equals_are_taken() -> None:
    assert top_streams(torch.zeros(1, 400), 5).tolist() == [[0, 1, 2, 3, 4]]


# --- exploration -----------------------------------------------------------------------

BOLTZMANN = LearnedMethod(
    causal_state=True, causal_reward=True, causal_entropy=True, exploration="boltzmann"
)
EPSILON = BOLTZMANN.model_copy(update={"exploration": "epsilon_greedy"})


@pytest.mark.parametrize("temperature", [0.4, 1.0, 5.0])
def test_boltzmann_draws_without_replacement(temperature: float) -> None:
    """Against the chance of every set, drawn one stream after the other from what is left.

    Chi-square on 40,000 draws, refused below 1 in 10,000.
    """
    q, m, n = [0.3, -0.5, 1.0, 0.0], 2, 40_000
    weights = softmax(q, temperature)
    expected = {}
    for chosen in combinations(range(4), m):
        expected[chosen] = sum(
            weights[i] * weights[j] / (1 - weights[i]) for i, j in permutations(chosen)
        )
    assert sum(expected.values()) == pytest.approx(1.0)
    drawn = explore(
        np.tile(np.array(q, np.float32), (n, 1)),
        m,
        BOLTZMANN,
        temperature,
        0.0,
        np.random.default_rng(1),
    )
    counts = dict.fromkeys(expected, 0)
    for row in drawn.tolist():
        counts[tuple(row)] += 1
    assert (
        chisquare(list(counts.values()), [n * share for share in expected.values()]).pvalue > 1e-4
    )


def test_epsilon_greedy_mixes_the_best_set_with_a_uniform_one() -> None:
    """With epsilon .6 and 10 sets, the best has .4 + .06 and each other .06; as above."""
    q, n = np.tile(np.array([0.0, 3.0, 1.0, 2.0, -1.0], np.float32), (30_000, 1)), 30_000
    drawn = explore(q, 2, EPSILON, 1.0, 0.6, np.random.default_rng(2))
    counts = dict.fromkeys(combinations(range(5), 2), 0)
    for row in drawn.tolist():
        counts[tuple(row)] += 1
    expected = [n * (0.06 + 0.4 * (chosen == (1, 3))) for chosen in counts]
    assert chisquare(list(counts.values()), expected).pvalue > 1e-4


# --- reward ----------------------------------------------------------------------------

REWARD = {
    "hit": 2.0,
    "hit_state": 0.5,
    "miss": -12.0,
    "before": 0.6,
    "after": -0.9,
    "duration": 10,
    "credit": "per_stream",
}
SELECTED = np.array([[0, 2, 4]])


@pytest.mark.parametrize(
    ("since", "shifted", "causal", "alone"),
    [
        pytest.param(-1, [0, 2], 0.6, 0.6, id="before"),
        pytest.param(0, [0], 2.5, 7.5, id="change_itself_one_hit"),
        pytest.param(3, [0, 2, 3], 5.0, 7.5, id="two_hits"),
        pytest.param(3, [0, 2, 4], 7.5, 7.5, id="three_hits"),
        pytest.param(3, [1, 3], -12.0, -12.0, id="miss"),
        pytest.param(10, [4], 2.5, 7.5, id="last_rewarded_step"),
        pytest.param(10, [1], -12.0, -12.0, id="last_step_miss"),
        pytest.param(11, [0, 2], -0.9, -0.9, id="after"),
        pytest.param(11, [1], -0.9, -0.9, id="after_miss"),
    ],
)
def test_reward_table(since: int, shifted: list[int], causal: float, alone: float) -> None:
    """R_t of the paper, as the sum of the shares; each hit is worth y + w = 2.5.

    Without the causal reward all selected streams are paid alike, whatever the number of hits.
    """
    settings = RewardSettings.model_validate(REWARD)
    mask = np.isin(np.arange(5), shifted)[None]
    shares = {
        kind: reward_shares(SELECTED, mask, np.array([since]), settings, causal=kind)[0]
        for kind in (True, False)
    }
    assert shares[True].sum() == pytest.approx(causal)
    assert shares[False].sum() == pytest.approx(alone)
    assert np.ptp(shares[False]) == 0.0
    if 0 <= since <= 10 and causal > 0:
        hit = [2.5 if stream in shifted else 0.0 for stream in (0, 2, 4)]
        assert shares[True].tolist() == hit
    else:
        assert np.ptp(shares[True]) == 0.0


def test_rewards_of_a_batch_are_those_of_its_rows() -> None:
    settings = RewardSettings.model_validate(REWARD)
    rng = np.random.default_rng(0)
    selected = np.argsort(rng.random((40, 6)), axis=1)[:, :3]
    shifted = rng.random((40, 6)) < 0.3
    since = rng.integers(-5, 16, 40)
    for causal in (True, False):
        together = reward_shares(selected, shifted, since, settings, causal=causal)
        for row in range(40):
            only = slice(row, row + 1)
            alone = reward_shares(
                selected[only], shifted[only], since[only], settings, causal=causal
            )
            assert np.array_equal(together[only], alone)


def test_a_method_overrides_what_it_sets() -> None:
    settings = RewardSettings.model_validate(REWARD)
    assert with_overrides(settings, BOLTZMANN) == settings
    own = with_overrides(settings, BOLTZMANN.model_copy(update={"hit": 0.0, "miss": -3.0}))
    assert (own.hit, own.miss, own.hit_state, own.duration) == (0.0, -3.0, 0.5, 10)
    assert settings.hit == 2.0


@pytest.mark.parametrize("causal", [True, False])
def test_the_environment_rewards_from_the_change_on(
    chain_model: Callable[[int], StreamModel],
    training_settings: Callable[..., TrainingSettings],
    causal: bool,
) -> None:
    """What the agent is paid may differ from the paper's reward, which is counted beside it."""
    method = {"causal_state": False, "causal_reward": causal}
    method |= {} if causal else {"hit": 3.0, "miss": -10.0}
    settings = training_settings(method=method, agent={"reward": {"duration": 2, "after": -1.0}})
    env = build_environment(chain_model(4), None, settings)
    shifted = np.array([[True, True, False, False], [False, False, True, False]])
    change = np.array([1, 3])
    first = env.reset(Episodes(np.zeros((2, 6, 4)), change, shifted))
    assert first.shape == (2, env.inputs) == (2, 8)
    assert (first == 0).all()
    hits, rewards, paper = [], [], []
    for t in range(6):
        _, outcome = env.step(np.array([[0, 1], [0, 1]]))
        hits.append(outcome.hits.tolist())
        rewards.append(outcome.shares.sum(axis=1).tolist())
        paper.append(outcome.paper_reward.tolist())
        for row in range(2):
            assert outcome.mask[row].tolist() == (shifted[row] & (t >= change[row])).tolist()
    assert hits == [[0, 0], [2, 0], [2, 0], [2, 0], [2, 0], [2, 0]]
    # row 0 changes at 1 and is rewarded up to 3; row 1 changes at 3 and misses throughout
    of_the_paper = [[0, 2, 2, 2, -1, -1], [0, 0, 0, -20, -20, -20]]
    own = of_the_paper if causal else [[0, 6, 6, 6, -1, -1], [0, 0, 0, -10, -10, -10]]
    assert np.array(paper).T.tolist() == of_the_paper
    assert np.array(rewards).T.tolist() == own


# --- double Q and the loss -------------------------------------------------------------


def test_the_online_network_picks_and_the_target_network_values() -> None:
    online = [[5.0, 1.0, 4.0, 0.0], [0.0, 1.0, 2.0, 3.0]]
    target = [[1.0, 9.0, 3.0, 9.0], [8.0, 8.0, -2.0, 4.0]]
    shares = [[0.5, -1.0], [2.0, 0.0]]
    found = double_q_target(*doubles(shares, online, target, [0.25, 0.0]), 0.8)
    # row 0 picks 0 and 2, worth (1 + 3) / 2; row 1 picks 2 and 3, worth (-2 + 4) / 2
    assert found.tolist() == [
        pytest.approx([0.5 + 1.6 + 0.25, -1.0 + 1.6 + 0.25]),
        pytest.approx([2.0 + 0.8, 0.8]),
    ]


STATES, STREAMS, M = 3, 4, 2
ONLINE = [[0.2, -0.1, 0.5, 0.0], [1.0, 0.3, -0.4, 0.6], [-0.2, 0.8, 0.1, 0.4]]
TARGET = [[0.7, 0.1, -0.3, 0.2], [0.4, -0.6, 0.9, 0.5], [0.3, 0.2, 0.6, -0.8]]
BATCH = [  # state, next state, selected, shares, mask
    (0, 1, [0, 2], [1.0, 0.0], [1.0, 0.0, 0.0, 1.0]),
    (1, 2, [1, 3], [-10.0, -10.0], [0.0, 0.0, 1.0, 0.0]),
    (2, 0, [1, 2], [0.0, 0.0], [0.0, 0.0, 0.0, 0.0]),
    (0, 0, [2, 3], [1.0, 1.0], [0.0, 0.0, 1.0, 1.0]),
]
DISCOUNT, ALPHA, RATE, TAU = 0.8, 0.3, 0.05, 0.7


def a_table(values: list[Values]) -> nn.Sequential:
    """A network that looks Q up: states come one-hot."""
    layer = nn.Linear(STATES, STREAMS, bias=False, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(values, dtype=torch.float64).T)
    return nn.Sequential(layer)


def table_of(network: nn.Sequential) -> np.ndarray:
    return np.array(network[0].weight.detach().T.tolist())


def a_learner(
    training_settings: Callable[..., TrainingSettings], credit: str, entropy: bool
) -> Learner:
    settings = training_settings(
        method={"causal_entropy": entropy},
        agent={"reward": {"credit": credit}, "target_every": 2},
        hyperparameters={"discount": DISCOUNT, "entropy_weight": ALPHA, "learning_rate": RATE},
    )
    online = a_table(ONLINE)
    return Learner(online, a_table(TARGET), torch.optim.SGD(online.parameters(), lr=RATE), settings)


def a_batch() -> dict[str, torch.Tensor]:
    unit = np.eye(STATES)
    state, next_state, shares, mask = doubles(
        [unit[row[0]].tolist() for row in BATCH],
        [unit[row[1]].tolist() for row in BATCH],
        [row[3] for row in BATCH],
        [row[4] for row in BATCH],
    )
    selected = torch.tensor([row[2] for row in BATCH])
    return {
        "state": state,
        "next_state": next_state,
        "shares": shares,
        "mask": mask,
        "selected": selected,
    }


def by_hand(credit: str, entropy: bool) -> tuple[float, float, list[Values]]:
    """Loss, mean entropy and the gradient of the loss in the online table, in plain numbers."""
    n = len(BATCH)
    loss = mean_entropy = 0.0
    gradient = [[0.0] * STREAMS for _ in range(STATES)]
    for s, after, selected, shares, mask in BATCH:
        q = ONLINE[s]
        h = slow_entropy(q, mask, TAU) if entropy else 0.0
        mean_entropy += h / n
        best = sorted(range(STREAMS), key=lambda i: -ONLINE[after][i])[:M]
        future = DISCOUNT * sum(TARGET[after][i] for i in best) / M + h
        if credit == "team":
            error = sum(shares) + future - sum(q[i] for i in selected) / M
            loss += error**2 / n
            for i in selected:
                gradient[s][i] -= 2 * error / M / n
        else:
            for share, i in zip(shares, selected, strict=True):
                error = share + future - q[i]
                loss += error**2 / (n * M)
                gradient[s][i] -= 2 * error / (n * M)
        if entropy:
            # the target is a constant; only the last term of the loss has this gradient
            printed, dropped = printed_gradient(q, mask, TAU), dropped_term(q, mask, TAU)
            for i in range(STREAMS):
                gradient[s][i] -= ALPHA * (printed[i] + dropped[i]) / n
    return loss - ALPHA * mean_entropy, mean_entropy, gradient


@pytest.mark.parametrize("credit", ["per_stream", "team"])
@pytest.mark.parametrize("entropy", [True, False])
def test_one_update_by_hand(
    training_settings: Callable[..., TrainingSettings], credit: str, entropy: bool
) -> None:
    learner = a_learner(training_settings, credit, entropy)
    expected, mean_entropy, gradient = by_hand(credit, entropy)
    loss, value, measured_entropy = learner.update(a_batch(), TAU)
    assert loss == pytest.approx(expected, rel=1e-9)
    assert measured_entropy == pytest.approx(mean_entropy, abs=1e-12)
    chosen = [ONLINE[row[0]][i] for row in BATCH for i in row[2]]
    assert value == pytest.approx(sum(chosen) / len(chosen))
    moved = np.array(ONLINE) - RATE * np.array(gradient)
    np.testing.assert_allclose(table_of(learner.online), moved, atol=1e-12)
    # the target stays until it is due, and then is a copy
    np.testing.assert_allclose(table_of(learner.target), TARGET)
    learner.update(a_batch(), TAU)
    assert np.array_equal(table_of(learner.target), table_of(learner.online))
    assert learner.updates == 2


def test_the_network_has_one_output_a_stream() -> None:
    network = q_network(12, [256] * 4, 4)
    assert [tuple(layer.weight.shape) for layer in network if isinstance(layer, nn.Linear)] == [
        (256, 12),
        (256, 256),
        (256, 256),
        (256, 256),
        (4, 256),
    ]
    assert isinstance(network[-1], nn.Linear)


# --- replay ----------------------------------------------------------------------------


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=8), seed=SEEDS)
def test_the_ring_keeps_the_newest(sizes: list[int], seed: int) -> None:
    """Against a list; every array of a transition stays with the others."""
    capacity = 5
    replay = Replay.empty(capacity, 2, 3, 1)
    kept: list[int] = []
    number = 0
    for n in sizes:
        numbers = np.arange(number, number + n)
        tag = numbers[:, None].astype(np.float32)
        replay.add(
            np.repeat(tag, 2, axis=1),
            numbers[:, None],
            tag.astype(float) + 0.5,
            np.repeat(tag, 2, axis=1) + 1,
            numbers[:, None] % 2 == np.array([0, 1, 0]),
        )
        kept = (kept + numbers.tolist())[-capacity:]
        number += n
    sample = replay.sample(200, np.random.default_rng(seed))
    seen = sample["state"][:, 0].int().tolist()
    # all of at most 5 kept ones turn up: one is missed in 200 draws once in 10^18
    assert set(seen) == set(kept)
    tag = sample["state"][:, 0]
    assert torch.equal(sample["selected"][:, 0], tag.long())
    assert torch.equal(sample["shares"][:, 0], tag + 0.5)
    assert torch.equal(sample["next_state"][:, 1], tag + 1)
    assert torch.equal(sample["mask"][:, 1], tag % 2)
    assert replay.added == number


def test_the_papers_reward_is_what_its_shares_add_up_to() -> None:
    rng = np.random.default_rng(4)
    settings = RewardSettings(
        hit=2.0, hit_state=0.5, miss=-20.0, before=1.0, after=3.0, duration=5, credit="per_stream"
    )
    selected = np.argsort(rng.random((200, 6)), axis=1)[:, :2]
    shifted = rng.random((200, 6)) < 0.3
    since_change = rng.integers(-3, 10, 200)
    scene = (selected, shifted, since_change, settings)
    shares = reward_shares(*scene, causal=True)
    np.testing.assert_allclose(reward(*scene), shares.sum(axis=1))
