"""Training: network updates beside another library's, and beside nothing but their products."""

from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor

from causaldq.learn.environment import build_environment, draw_episodes
from causaldq.learn.gym import SensorEnv, SensorVectorEnv
from causaldq.learn.learner import Layers, Learner
from causaldq.learn.replay import Replay
from causaldq.learn.settings import TrainingSettings
from causaldq.learn.train import train
from causaldq.models.streams import StreamModel
from causaldq.pipeline.measure import Measurement, Target, Work, ratios, seconds, side_by_side
from causaldq.seeds import generator
from causaldq.statistic import solve_positive
from causaldq.types import Floats

PASSES = 5
"""Through the network in an update: three forward, and one back, which takes twice as long."""


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


def updates(learner: Learner, replay: Replay, count: int) -> Work:
    """Network updates and nothing else."""
    rng = generator(1, "bench", "updates")
    batch = learner.settings.hyperparameters.batch
    return lambda: [learner.update(replay.sample(batch, rng), 0.1) for _ in range(count)]


def bare_products(learner: Learner, count: int) -> Work:
    """The matrix products of an update, one after the other: what the machine allows."""
    n = learner.settings.hyperparameters.batch
    states = torch.randn(n, len(learner.layers[0][0]))

    def forward(layers: Layers) -> list[Tensor]:
        values = [states]
        for weights, _ in layers:
            values.append(torch.mm(values[-1], weights))
        return values

    def products() -> None:
        for _ in range(count):
            forward(learner.layers)
            forward(learner.target_layers)
            values = forward(learner.layers)
            slope = values[-1]
            for place in reversed(range(len(learner.layers))):
                torch.mm(values[place].T, slope)
                if place:
                    slope = torch.mm(slope, learner.layers[place][0].T)

    return products


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


def update_speed(model: StreamModel, settings: TrainingSettings, rounds: int) -> list[Measurement]:
    """Network updates against stable-baselines3's, and against their bare products."""
    torch.set_num_threads(1)
    count, name = 50, f"p = {model.p}"
    learner, replay = filled_replay(model, np.eye(model.p), settings)
    other = other_library(len(learner.layers[0][0]), model.p, settings)
    taken = side_by_side(
        {
            "ours": updates(learner, replay, count),
            "theirs": lambda: other.train(count, settings.hyperparameters.batch),
            "bare": bare_products(learner, count),
        },
        rounds,
    )
    return [
        Measurement(
            f"updates a second over stable-baselines3's, {name}",
            ratios(taken["theirs"], taken["ours"]),
            target=Target("at least", 2.0),
        ),
        Measurement(
            f"the same for equal products: ours has a forward pass more, {name}",
            [ratio * PASSES / (PASSES - 1) for ratio in ratios(taken["theirs"], taken["ours"])],
        ),
        Measurement(
            f"updates a second over bare matrix products, {name}",
            ratios(taken["bare"], taken["ours"]),
            target=Target("at least", 0.6),
        ),
        Measurement(f"updates a second, {name}", [count / t for t in taken["ours"]], unit="1/s"),
    ]


def training_overhead(
    model: StreamModel, settings: TrainingSettings, rounds: int
) -> list[Measurement]:
    """Training over its network updates alone."""
    torch.set_num_threads(1)
    effects = np.eye(model.p)
    learner, replay = filled_replay(model, effects, settings)
    overhead, acting = [], []
    for _ in range(rounds):
        count = 0

        def whole() -> None:
            nonlocal count
            count = train(model, effects, settings).log[-1]["updates"]

        taken = seconds(whole)
        overhead.append(taken / seconds(updates(learner, replay, count)))
        acting.append(seconds(lambda: _episodes(model, effects, settings)) / taken)
    what = f"training over its updates alone, p = {model.p}"
    return [
        Measurement(what, overhead, target=Target("at most", 1.5)),
        Measurement(f"share of training that its episodes take, p = {model.p}", acting),
    ]


def _episodes(model: StreamModel, effects: Floats, settings: TrainingSettings) -> None:
    """The episodes of a training without its network: sensors at random."""
    agent, env = settings.agent, build_environment(model, effects, settings)
    rng = generator(settings.seed, "bench", "episodes")
    for _ in range(agent.epochs):
        env.reset(draw_episodes(model, settings.plan, agent.episodes, agent.episode_steps, rng))
        for _ in range(agent.episode_steps):
            env.step(np.argsort(rng.random((agent.episodes, model.p)), axis=1)[:, : settings.m])


def environment_speed(
    model: StreamModel, settings: TrainingSettings, rounds: int
) -> list[Measurement]:
    """Steps a second of many episodes at a time, over a loop of single ones."""
    many, effects = 200, np.eye(model.p)
    single = SensorEnv(model, effects, settings)
    vector = SensorVectorEnv(model, effects, settings, many)
    rng = generator(2, "bench", "environment")
    actions = rng.uniform(-1, 1, (20, many, model.p)).astype(np.float32)

    def loop() -> None:
        single.reset(seed=1)
        for action in actions[:, 0]:
            single.step(action)

    def batched() -> None:
        vector.reset(seed=1)
        for action in actions:
            vector.step(action)

    matrices = np.tile(model.covariance, (many, 1, 1))
    right = rng.standard_normal((many, model.p))

    def solves() -> None:
        # Each episode's statistic and posterior mean, each an equation of p unknowns.
        for _ in range(2 * len(actions)):
            solve_positive(matrices, settings.statistic.ridge, right)

    taken = side_by_side({"loop": loop, "batched": batched, "solves": solves}, rounds)
    what = f"environment steps a second, {many} episodes at a time over one, p = {model.p}"
    speed, most = (
        [many * ratio for ratio in ratios(taken["loop"], taken[name])]
        for name in ("batched", "solves")
    )
    return [
        Measurement(what, speed, target=Target("at least", 50.0)),
        Measurement("the same if only solving for the statistic and the mean took time", most),
    ]
