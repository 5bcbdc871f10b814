"""The agent's parts, against sums written out, enumeration and finite differences."""

import math
from collections.abc import Callable
from itertools import combinations, permutations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import nn

from causaldq.learn.environment import Episodes, build_environment
from causaldq.learn.learner import (
    Learner,
    causal_entropy,
    double_q_target,
    q_network,
    set_value,
)
from causaldq.learn.replay import Batch, Replay
from causaldq.learn.reward import reward, reward_shares, with_overrides
from causaldq.learn.settings import LearnedMethod, RewardSettings, TrainingSettings
from causaldq.learn.train import explore
from causaldq.methods.causal_dq import Perceptron, causal_state, causal_statistic, top_streams
from causaldq.methods.local import observe_local, start_local
from causaldq.models.streams import StreamModel
from causaldq.statistic import LocalStatistic, StatisticSettings

SEEDS = st.integers(0, 2**32 - 1)
Values = list[float]


def softmax(q: Values, temperature: float) -> Values:
    weights = [math.exp(value / temperature) for value in q]
    return [w / sum(weights) for w in weights]


def slow_entropy(q: Values, mask: Values, temperature: float) -> float:
    policy = softmax(q, temperature)
    return -sum(c * pi * math.log(pi) for c, pi in zip(mask, policy, strict=True))


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
    found, _ = causal_entropy(np.array([q, q]), np.array([mask, [1.0] * len(q)]), temperature)
    assert found[0].item() == pytest.approx(slow_entropy(q, mask, temperature), abs=1e-12)
    # with everything in the mask it is Shannon's entropy
    policy = np.array(softmax(q, temperature))
    assert found[1].item() == pytest.approx(-(policy * np.log(policy)).sum(), abs=1e-12)


def test_causal_entropy_survives_a_sure_policy() -> None:
    q = np.array([[1000.0, 0.0, 0.0]], np.float32)
    entropy, gradient = causal_entropy(q, np.array([[1.0, 1.0, 0.0]], np.float32), 0.05)
    assert entropy.tolist() == [0.0]
    assert np.isfinite(gradient).all()


def entropy_gradient(q: Values, mask: Values, temperature: float) -> Values:
    _, gradient = causal_entropy(np.array([q]), np.array([mask]), temperature)
    return [float(g) for g in gradient[0]]


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
    found = top_streams(np.array([q]), m)
    sets = list(combinations(range(len(q)), m))
    values = [sum(q[i] for i in chosen) / m for chosen in sets]
    assert set_value(np.array([q]), found).tolist() == pytest.approx([max(values)])
    # combinations come in lexical order, so the first of the best has the lowest indices
    assert tuple(found[0].tolist()) == sets[int(np.argmax(np.round(values, 9)))]


def test_the_lowest_of_many_equals_are_taken() -> None:
    assert top_streams(np.zeros((1, 400)), 5).tolist() == [[0, 1, 2, 3, 4]]


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
SELECTED = [0, 2, 4]


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
    hits = np.isin(SELECTED, shifted)[None]
    shares = {
        kind: reward_shares(hits, np.array([since]), settings, causal=kind)[0]
        for kind in (True, False)
    }
    assert shares[True].sum() == pytest.approx(causal)
    assert shares[False].sum() == pytest.approx(alone)
    assert np.ptp(shares[False]) == 0.0
    if 0 <= since <= 10 and causal > 0:
        hit = [2.5 if stream in shifted else 0.0 for stream in SELECTED]
        assert shares[True].tolist() == hit
    else:
        assert np.ptp(shares[True]) == 0.0


def test_rewards_of_a_batch_are_those_of_its_rows() -> None:
    settings = RewardSettings.model_validate(REWARD)
    rng = np.random.default_rng(0)
    hits = rng.random((40, 3)) < 0.3
    since = rng.integers(-5, 16, 40)
    for causal in (True, False):
        together = reward_shares(hits, since, settings, causal=causal)
        for row in range(40):
            only = slice(row, row + 1)
            alone = reward_shares(hits[only], since[only], settings, causal=causal)
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
    online = np.array([[5.0, 1.0, 4.0, 0.0], [0.0, 1.0, 2.0, 3.0]])
    target = np.array([[1.0, 9.0, 3.0, 9.0], [8.0, 8.0, -2.0, 4.0]])
    shares = np.array([[0.5, -1.0], [2.0, 0.0]])
    found = double_q_target(shares, online, target, np.array([0.25, 0.0]), 0.8)
    # row 0 picks 0 and 2, worth (1 + 3) / 2; row 1 picks 2 and 3, worth (-2 + 4) / 2
    assert found.tolist() == [
        pytest.approx([0.5 + 1.6 + 0.25, -1.0 + 1.6 + 0.25]),
        pytest.approx([2.0 + 0.8, 0.8]),
    ]


@pytest.mark.parametrize("m", [1, 3, 4])
def test_the_target_of_any_number_of_sensors(m: int) -> None:
    rng = np.random.default_rng(m)
    online, target, shares = rng.random((5, 4)), rng.random((5, 4)), rng.random((5, m))
    best = np.argsort(-online, axis=1)[:, :m]
    value = np.array([target[row, best[row]].mean() for row in range(5)])
    found = double_q_target(shares, online, target, np.zeros(5), 0.5)
    np.testing.assert_allclose(found, shares + 0.5 * value[:, None])


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


def a_table(values: list[Values]) -> Perceptron:
    """A network that looks Q up, as states come one-hot: the sum of a weight and a bias."""
    biases = np.array([0.1, -0.2, 0.3, -0.4])
    return Perceptron(((np.array(values) - biases, biases),))


def table_of(network: Perceptron) -> np.ndarray:
    return network(np.eye(STATES))


def a_learner(
    training_settings: Callable[..., TrainingSettings], credit: str, entropy: bool
) -> Learner:
    settings = training_settings(
        method={"causal_entropy": entropy},
        agent={"reward": {"credit": credit}, "target_every": 2},
        hyperparameters={"discount": DISCOUNT, "entropy_weight": ALPHA, "learning_rate": RATE},
    )
    return Learner(a_table(ONLINE), a_table(TARGET), settings)


def a_batch() -> Batch:
    unit = np.eye(STATES)
    return Batch(
        states=np.array([[unit[row[place]] for row in BATCH] for place in (0, 1)]),
        selected=np.array([row[2] for row in BATCH]),
        shares=np.array([row[3] for row in BATCH]),
        mask=np.array([row[4] for row in BATCH]),
    )


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
    loss, value, measured_entropy = learner.loss([learner.update(a_batch(), TAU)])
    assert loss == pytest.approx(expected, rel=1e-9)
    assert measured_entropy == pytest.approx(mean_entropy, abs=1e-12)
    chosen = [ONLINE[row[0]][i] for row in BATCH for i in row[2]]
    assert value == pytest.approx(sum(chosen) / len(chosen))
    # a row's weights move by its own gradient, the biases of all rows by the sum
    moved = np.array(ONLINE) - RATE * (np.array(gradient) + np.sum(gradient, axis=0))
    np.testing.assert_allclose(table_of(learner.online), moved, atol=1e-12)
    # the target stays until it is due, and then is a copy
    np.testing.assert_allclose(table_of(learner.target), TARGET)
    learner.update(a_batch(), TAU)
    assert np.array_equal(table_of(learner.target), table_of(learner.online))
    assert learner.updates == 2


def torch_network(network: Perceptron, dtype: torch.dtype) -> nn.Sequential:
    """The same network as torch would have it."""
    tensors = network.tensors()
    linear = [
        nn.Linear(*tensors[name].shape[::-1], dtype=dtype) for name in tensors if "weight" in name
    ]
    layers = [part for layer in linear for part in (layer, nn.ReLU())][:-1]
    same = nn.Sequential(*layers)
    same.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in tensors.items()})
    return same


def autograd_loss(
    online: nn.Sequential,
    target: nn.Sequential,
    batch: Batch,
    settings: TrainingSettings,
    temperature: float,
) -> torch.Tensor:
    """The loss as the paper has it, with nothing but its terms."""
    hyper = settings.hyperparameters
    (state, next_state), selected, shares, mask = (torch.from_numpy(part) for part in batch)
    q = online(state)
    entropy = torch.zeros(len(q))
    if settings.method.causal_entropy:
        policy = torch.softmax(q / temperature, dim=1)
        entropy = -(mask * policy * policy.log()).sum(dim=1)
    with torch.no_grad():
        best = online(next_state).argsort(dim=1, descending=True)[:, : shares.shape[1]]
        future = hyper.discount * target(next_state).gather(1, best).mean(dim=1) + entropy
    chosen = q.gather(1, selected)
    if settings.agent.reward.credit == "team":
        errors = shares.sum(dim=1) + future - chosen.mean(dim=1)
    else:
        errors = shares + future[:, None] - chosen
    return errors.square().mean() - hyper.entropy_weight * entropy.mean()


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("credit", ["per_stream", "team"])
@pytest.mark.parametrize("entropy", [True, False])
def test_updates_are_those_of_autograd(
    training_settings: Callable[..., TrainingSettings], optimiser: str, credit: str, entropy: bool
) -> None:
    """Three layers, with torch's own gradient and optimiser beside ours, in double precision.

    The rate of Adam is small: it divides by gradients, and rounding is large beside one that
    is nearly zero.
    """
    p, m, inputs, n, temperature = 6, 2, 9, 16, 0.7
    settings = training_settings(
        method={"causal_entropy": entropy},
        agent={"optimiser": optimiser, "reward": {"credit": credit}, "target_every": 4},
        hyperparameters={
            "entropy_weight": 0.3,
            "learning_rate": 0.05 if optimiser == "sgd" else 1e-3,
        },
    )
    torch.manual_seed(2)
    online, target = (
        Perceptron(
            tuple(
                (w.astype(float), b.astype(float)) for w, b in q_network(inputs, [20, 15], p).layers
            )
        )
        for _ in range(2)
    )
    learner = Learner(online, target, settings)
    theirs, their_target = (
        torch_network(online, torch.float64),
        torch_network(target, torch.float64),
    )
    rate = settings.hyperparameters.learning_rate
    kind = torch.optim.SGD if optimiser == "sgd" else torch.optim.Adam
    their_optimiser = kind(theirs.parameters(), lr=rate)
    rng = np.random.default_rng(5)
    for number in range(1, 11):
        batch = Batch(
            states=rng.standard_normal((2, n, inputs)),
            selected=np.argsort(rng.random((n, p)), axis=1)[:, :m],
            shares=rng.standard_normal((n, m)),
            mask=(rng.random((n, p)) < 0.4).astype(float),
        )
        their_loss = autograd_loss(theirs, their_target, batch, settings, temperature)
        their_optimiser.zero_grad()
        their_loss.backward()
        their_optimiser.step()
        if number % 4 == 0:
            their_target.load_state_dict(theirs.state_dict())
        measured, _, _ = learner.loss([learner.update(batch, temperature)])
        assert measured == pytest.approx(their_loss.item(), rel=1e-9)
        for ours, other in ((learner.online, theirs), (learner.target, their_target)):
            for name, tensor in other.state_dict().items():
                np.testing.assert_allclose(ours.tensors()[name], tensor.numpy(), rtol=0, atol=1e-9)


# --- network ---------------------------------------------------------------------------


def test_the_network_is_torchs_own() -> None:
    torch.manual_seed(8)
    drawn = [nn.Linear(12, 30), nn.ReLU(), nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, 4)]
    torch.manual_seed(8)
    network = q_network(12, [30, 20], 4)
    states = np.random.default_rng(0).standard_normal((7, 12)).astype(np.float32)
    with torch.no_grad():
        theirs = nn.Sequential(*drawn)(torch.from_numpy(states)).numpy()
    assert network(states).dtype == np.float32
    np.testing.assert_allclose(network(states), theirs, atol=1e-6)
    again = Perceptron.from_tensors(network.tensors(), [12, 30, 20, 4])
    assert np.array_equal(again(states), network(states))


@pytest.mark.parametrize(
    "sizes", [[12, 30, 4], [12, 30, 20, 5], [11, 30, 20, 4], [12, 30, 20, 4, 4]]
)
def test_tensors_of_another_network_are_refused(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        Perceptron.from_tensors(q_network(12, [30, 20], 4).tensors(), sizes)


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
    seen = sample.states[0, :, 0].astype(int).tolist()
    # all of at most 5 kept ones turn up: one is missed in 200 draws once in 10^18
    assert set(seen) == set(kept)
    tag = sample.states[0, :, 0]
    assert np.array_equal(sample.selected[:, 0], tag)
    assert np.array_equal(sample.shares[:, 0], tag + 0.5)
    assert np.array_equal(sample.states[1, :, 1], tag + 1)
    assert np.array_equal(sample.mask[:, 1], tag % 2)
    assert replay.added == number


def test_the_papers_reward_is_what_its_shares_add_up_to() -> None:
    rng = np.random.default_rng(4)
    settings = RewardSettings(
        hit=2.0, hit_state=0.5, miss=-20.0, before=1.0, after=3.0, duration=5, credit="per_stream"
    )
    scene = (rng.random((200, 2)) < 0.3, rng.integers(-3, 10, 200), settings)
    shares = reward_shares(*scene, causal=True)
    np.testing.assert_allclose(reward(*scene), shares.sum(axis=1))
