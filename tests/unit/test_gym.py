"""The gymnasium environments: accepted by gymnasium's own checker, and one core."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from made import training

from causaldq.learn.gym import SensorEnv, SensorVectorEnv
from causaldq.learn.settings import TrainingSettings
from causaldq.models.streams import StreamModel
from causaldq.pipeline.loading import load_config
from causaldq.pipeline.plan import Plan
from causaldq.seeds import generator
from causaldq.worlds.simulation import simulate

CONFIG = Path(__file__).parents[2] / "config"


@pytest.fixture(scope="module")
def model() -> StreamModel:
    config = load_config(CONFIG, {"profile": "ci"})
    return simulate(config.sources["sim_p10"], generator(1, "gym"))


def settings(network: str = "p10.causal_dq.s0.fair") -> TrainingSettings:
    return training(Plan(load_config(CONFIG, {"profile": "ci"})), network)


@pytest.mark.parametrize("method", ["causal_dq", "non_causal"])
def test_gymnasium_accepts_it(model: StreamModel, method: str) -> None:
    env = SensorEnv(model, np.eye(model.p), settings(f"p10.{method}.s0.paper"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Features are unbounded by nature; gymnasium only remarks on it.
        warnings.filterwarnings("ignore", message=".*(infinity|minus infinity).*")
        warnings.filterwarnings("ignore", message=".*not within the observation space.*")
        check_env(env, skip_render_check=True)


def test_an_episode_ends_after_its_steps(model: StreamModel) -> None:
    env = SensorEnv(model, np.eye(model.p), settings())
    env.reset(seed=3)
    ends = [env.step(env.action_space.sample())[3] for _ in range(20)]
    assert ends == [False] * 19 + [True]


def test_one_episode_and_a_vector_of_one_are_the_same(model: StreamModel) -> None:
    single = SensorEnv(model, np.eye(model.p), settings())
    vector = SensorVectorEnv(model, np.eye(model.p), settings(), num_envs=1)
    first, _ = single.reset(seed=7)
    firsts, _ = vector.reset(seed=7)
    np.testing.assert_array_equal(first, firsts[0])
    actions = np.random.default_rng(0).uniform(-1, 1, (20, 1, model.p)).astype(np.float32)
    for action in actions:
        state, reward, _, over, _ = single.step(action[0])
        states, rewards, _, overs, _ = vector.step(action)
        np.testing.assert_array_equal(state, states[0])
        assert (reward, over) == (rewards[0], overs[0])


def test_a_vector_starts_again_on_the_step_after_the_end(model: StreamModel) -> None:
    env = SensorVectorEnv(model, np.eye(model.p), settings(), num_envs=3)
    env.reset(seed=1)
    for _ in range(20):
        *_, overs, _ = env.step(env.action_space.sample())
    assert overs.all()
    state, reward, _, overs, _ = env.step(env.action_space.sample())
    assert not overs.any()
    np.testing.assert_array_equal(reward, 0.0)
    np.testing.assert_array_equal(state, 0.0)


def test_reading_shifted_streams_earns_the_papers_reward(model: StreamModel) -> None:
    env = SensorEnv(model, np.eye(model.p), settings("p10.causal_dq.s0.paper"))
    env.reset(seed=0)
    on_the_shift = np.array([1.0] * 5 + [-1.0] * 5, np.float32)
    total = sum(env.step(on_the_shift)[1] for _ in range(20))
    # The first five streams shift; each earns 1 a step from the change on.
    assert total == 5 * (20 - env.core.episodes.change[0])
