"""The training environment for other agents, as gymnasium environments.

An action is a score for each stream; the m streams of largest score are read. So every action
is valid, and any agent with continuous actions can be trained: the paper says that its
idea carries over to other reinforcement learning, and this is how to find out.
"""

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from causaldq.learn.environment import Environment, Step, build_environment, draw_episodes
from causaldq.learn.settings import TrainingSettings
from causaldq.models.streams import StreamModel
from causaldq.types import Floats, Ints

Observation = npt.NDArray[np.float32]


def spaces(environment: Environment) -> tuple[Box[np.float32], Box[np.float32]]:
    """Observations and actions of one episode."""
    observation = Box(-np.inf, np.inf, (environment.inputs,), np.float32)
    return observation, Box(-1.0, 1.0, (environment.model.p,), np.float32)


def chosen(scores: npt.NDArray[np.floating[Any]], m: int) -> Ints:
    """The m streams of largest score, (n, m)."""
    return np.sort(np.argsort(-scores, axis=1, kind="stable")[:, :m], axis=1)


def rewards(step: Step) -> Floats:
    """The step's reward, (n,): the shares together."""
    return np.asarray(step.shares.sum(axis=1), np.float64)


class SensorEnv(gymnasium.Env[Observation, Observation]):
    """One episode at a time."""

    metadata = {"render_modes": []}

    def __init__(
        self, model: StreamModel, effects: Floats | None, settings: TrainingSettings
    ) -> None:
        self.settings = settings
        self.core = build_environment(model, effects, settings)
        self.observation_space, self.action_space = spaces(self.core)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        steps = self.settings.agent.episode_steps
        plan = self.settings.plan
        episodes = draw_episodes(self.core.model, plan, 1, steps, self.np_random)
        return self.core.reset(episodes)[0], {}

    def step(self, action: Observation) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        state, outcome = self.core.step(chosen(action[None], self.core.m))
        over = self.core.time >= self.settings.agent.episode_steps
        return state[0], float(rewards(outcome)[0]), False, over, {"hits": int(outcome.hits[0])}


class SensorVectorEnv(VectorEnv[Observation, Observation, npt.NDArray[Any]]):
    """Many episodes at a time on the batched core; all end, and start again, together."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self, model: StreamModel, effects: Floats | None, settings: TrainingSettings, num_envs: int
    ) -> None:
        self.settings = settings
        self.num_envs = num_envs
        self.core = build_environment(model, effects, settings)
        self.single_observation_space, self.single_action_space = spaces(self.core)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        if isinstance(seed, list):
            raise TypeError("the episodes share one generator: give one seed")
        if seed is not None:
            self._np_random = np.random.default_rng(seed)
        steps = self.settings.agent.episode_steps
        plan = self.settings.plan
        episodes = draw_episodes(self.core.model, plan, self.num_envs, steps, self.np_random)
        return self.core.reset(episodes), {}

    def step(
        self, actions: Observation
    ) -> tuple[Observation, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        n = self.num_envs
        if self.core.time >= self.settings.agent.episode_steps:
            state, info = self.reset()
            return state, np.zeros(n), np.zeros(n, bool), np.zeros(n, bool), info
        state, outcome = self.core.step(chosen(actions, self.core.m))
        over = np.full(n, self.core.time >= self.settings.agent.episode_steps)
        return state, rewards(outcome), np.zeros(n, bool), over, {"hits": outcome.hits}
