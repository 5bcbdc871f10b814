"""Speed, as ratios measured side by side in one run: machines differ, ratios less so."""

import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch

from causaldq.agent.environment import build_environment, draw_episodes
from causaldq.agent.learner import Learner
from causaldq.agent.replay import Replay
from causaldq.agent.settings import TrainingSettings
from causaldq.agent.train import train
from causaldq.seeds import generator
from causaldq.streams.model import StreamModel
from causaldq.types import Floats


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def filled_replay(
    model: StreamModel, effects: Floats | None, settings: TrainingSettings
) -> tuple[Learner, Replay]:
    """A fresh learner and a replay memory full of random-sensor transitions."""
    env = build_environment(model, effects, settings)
    learner = Learner.fresh(settings, env.inputs, model.p)
    replay = Replay.empty(settings.agent.replay, env.inputs, model.p, settings.m)
    rng = generator(settings.seed, "bench")
    n = 50
    while replay.added < replay.capacity:
        steps = settings.agent.episode_steps
        state = env.reset(draw_episodes(model, settings.plan, n, steps, rng))
        for _ in range(steps):
            selected = np.argsort(rng.random((n, model.p)), axis=1)[:, : settings.m]
            following, outcome = env.step(selected)
            replay.add(state, selected, outcome.shares, following, outcome.mask)
            state = following
    return learner, replay


def update_seconds(learner: Learner, replay: Replay, updates: int) -> float:
    """Time of network updates alone."""
    rng = generator(1, "bench", "updates")
    batch = learner.settings.hyperparameters.batch
    return seconds(lambda: [learner.update(replay.sample(batch, rng), 0.1) for _ in range(updates)])


class _Idle(gymnasium.Env[Any, Any]):
    """Costs nothing: only fills stable-baselines3's replay memory."""

    def __init__(self, inputs: int, actions: int) -> None:
        self.observation_space = gymnasium.spaces.Box(-1, 1, (inputs,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(actions)

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        return self.observation_space.sample(), {}

    def step(self, _: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.observation_space.sample(), 0.0, False, False, {}


def other_library(inputs: int, p: int, settings: TrainingSettings) -> Any:
    """stable-baselines3's DQN with the same network, batch, optimiser and replay size."""
    from stable_baselines3 import DQN

    agent = settings.agent
    optimiser = torch.optim.SGD if agent.optimiser == "sgd" else torch.optim.Adam
    model = DQN(
        "MlpPolicy",
        _Idle(inputs, p),
        learning_rate=settings.hyperparameters.learning_rate,
        buffer_size=agent.replay,
        batch_size=settings.hyperparameters.batch,
        learning_starts=agent.replay,
        gamma=settings.hyperparameters.discount,
        target_update_interval=agent.target_every,
        policy_kwargs={
            "net_arch": list(agent.hidden),
            "optimizer_class": optimiser,
            "optimizer_kwargs": {},
        },
        device="cpu",
    )
    model.learn(agent.replay)
    return model


def training_speed(
    model: StreamModel, effects: Floats | None, settings: TrainingSettings, repeats: int
) -> dict[str, list[float]]:
    """Ratios, one for each repeat: training over updates alone; our updates over theirs."""
    torch.set_num_threads(1)
    learner, replay = filled_replay(model, effects, settings)
    other = other_library(len(replay.arrays["state"][0]), model.p, settings)
    batch = settings.hyperparameters.batch
    measured: dict[str, list[float]] = {
        "updates_per_second": [],
        "training_over_updates": [],
        "updates_over_stable_baselines3": [],
    }
    for _ in range(repeats):
        whole = seconds(lambda: train(model, effects, settings))
        updates = settings.agent.epochs * settings.agent.episode_steps
        alone = update_seconds(learner, replay, updates)
        some = updates // 4
        theirs = seconds(lambda some=some: other.train(some, batch)) * updates / some  # type: ignore[misc]
        measured["updates_per_second"].append(updates / alone)
        measured["training_over_updates"].append(whole / alone)
        measured["updates_over_stable_baselines3"].append(theirs / alone)
    return measured
