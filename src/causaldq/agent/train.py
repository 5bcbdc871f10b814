"""Training a double Q-network on side-by-side episodes.

The causal and the non-causal agent are this one function under different settings.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from causaldq.agent.environment import Environment, build_environment, draw_episodes
from causaldq.agent.network import (
    causal_entropy,
    double_q_target,
    q_network,
    set_value,
    top_streams,
)
from causaldq.agent.replay import Replay
from causaldq.agent.resume import load_resume, resume_key, save_resume
from causaldq.agent.settings import ShiftPlan, TrainingSettings
from causaldq.config import LearnedMethod
from causaldq.discovery.graph import Graph, quality
from causaldq.progress import Reporter
from causaldq.seeds import generator
from causaldq.streams.model import StreamModel
from causaldq.types import Floats, Ints


@dataclass
class Learner:
    """Both networks, the optimiser and one update."""

    online: nn.Sequential
    target: nn.Sequential
    optimiser: torch.optim.Optimizer
    settings: TrainingSettings
    updates: int = 0

    @classmethod
    def fresh(cls, settings: TrainingSettings, inputs: int, p: int) -> "Learner":
        # The only random numbers torch draws; fixing them here keeps the rest in numpy.
        init = generator(settings.seed, settings.network, "weights")
        torch.manual_seed(int(init.integers(2**62)))
        online = q_network(inputs, settings.agent.hidden, p)
        target = q_network(inputs, settings.agent.hidden, p)
        target.load_state_dict(online.state_dict())
        rate = settings.hyperparameters.learning_rate
        optimiser: torch.optim.Optimizer
        if settings.agent.optimiser == "sgd":
            optimiser = torch.optim.SGD(online.parameters(), lr=rate)
        else:
            optimiser = torch.optim.Adam(online.parameters(), lr=rate)
        return cls(online, target, optimiser, settings)

    def loss(self, batch: dict[str, Tensor], temperature: float) -> tuple[Tensor, Tensor, Tensor]:
        """Loss of a batch, with its mean Q of selected streams and causal entropy."""
        settings = self.settings
        q = self.online(batch["state"])
        if settings.method.causal_entropy:
            entropy = causal_entropy(q, batch["mask"], temperature)
        else:
            entropy = q.new_zeros(len(q))
        with torch.no_grad():
            target = double_q_target(
                batch["shares"],
                self.online(batch["next_state"]),
                self.target(batch["next_state"]),
                entropy,
                settings.hyperparameters.discount,
            )
        if settings.agent.reward.credit == "team":
            # Shares add up to the reward; the future is counted once.
            future = target - batch["shares"]
            team = batch["shares"].sum(dim=1) + future.mean(dim=1)
            error = (team - set_value(q, batch["selected"])).square().mean()
        else:
            error = (target - q.gather(1, batch["selected"])).square().mean()
        loss = error - settings.hyperparameters.entropy_weight * entropy.mean()
        return loss, set_value(q, batch["selected"]).mean(), entropy.mean()

    def update(self, batch: dict[str, Tensor], temperature: float) -> tuple[float, float, float]:
        """One step of the optimiser; copies the online network now and then."""
        loss, value, entropy = self.loss(batch, temperature)
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self.updates += 1
        if self.updates % self.settings.agent.target_every == 0:
            self.target.load_state_dict(self.online.state_dict())
        return loss.item(), value.item(), entropy.item()


def explore(
    q: npt.NDArray[np.float32],
    m: int,
    method: LearnedMethod,
    temperature: float,
    epsilon: float,
    rng: np.random.Generator,
) -> Ints:
    """Training actions (n, m): Boltzmann without replacement, or epsilon-greedy.

    The m largest of Q / tau plus Gumbel noise are a draw without replacement from the softmax.
    """
    if method.exploration == "boltzmann":
        scores = q / temperature + rng.gumbel(size=q.shape)
    else:
        wander = rng.random((len(q), 1)) < epsilon
        scores = np.where(wander, rng.random(q.shape), q)
    return np.sort(np.argsort(-scores, axis=1, kind="stable")[:, :m], axis=1)


def frozen_hit_share(
    learner: Learner, env: Environment, plan: ShiftPlan, rng: np.random.Generator
) -> float:
    """Hit share of the frozen top-m policy after the change, on fresh episodes."""
    agent = learner.settings.agent
    state = env.reset(draw_episodes(env.model, plan, 2 * agent.episodes, agent.episode_steps, rng))
    hits = steps = 0
    for t in range(agent.episode_steps):
        with torch.no_grad():
            selected = top_streams(learner.online(torch.from_numpy(state)), env.m).numpy()
        state, outcome = env.step(selected)
        running = t >= env.episodes.change
        hits += int(outcome.hits[running].sum())
        steps += int(running.sum())
    return hits / (steps * min(plan.k, env.m))


@dataclass(frozen=True)
class Trained:
    """A finished training run."""

    online: nn.Sequential
    log: list[dict[str, Any]]
    """One row an epoch."""


def selected_graph_quality(found: Graph | None, truth: Graph, selected: Ints) -> dict[str, float]:
    """SHD, TPR and FDR on the subgraph of the selected streams (n, m), mean over episodes."""
    if found is None:
        return {"selected_shd": math.nan, "selected_tpr": math.nan, "selected_fdr": math.nan}
    compared = [quality(found.subgraph(s), truth.subgraph(s)) for s in selected]
    tpr = [q.tpr for q in compared if q.tpr is not None]
    fdr = [q.fdr for q in compared if q.fdr is not None]
    return {
        "selected_shd": float(np.mean([q.shd for q in compared])),
        "selected_tpr": float(np.mean(tpr)) if tpr else math.nan,
        "selected_fdr": float(np.mean(fdr)) if fdr else math.nan,
    }


def train(
    model: StreamModel,
    effects: Floats | None,
    settings: TrainingSettings,
    resume: Path | None = None,
    graph: Graph | None = None,
) -> Trained:
    """Train one network. With `resume`, goes on from the state saved there, if any.

    The graph, where there is one, is only compared with the truth in the log.
    """
    agent, plan = settings.agent, settings.plan
    env = build_environment(model, effects, settings)
    learner = Learner.fresh(settings, env.inputs, model.p)
    replay = Replay.empty(agent.replay, env.inputs, model.p, settings.m)
    rng = generator(settings.seed, settings.network, "training")
    truth = Graph.from_effects(model.effects)
    log: list[dict[str, Any]] = []
    if resume is not None:
        key = resume_key(settings, model, effects)
        log = load_resume(resume, learner, replay, rng, key)

    with Reporter(settings.network, agent.epochs, "epoch", len(log)) as reporter:
        for epoch in range(len(log), agent.epochs):
            row = _epoch(epoch, learner, env, plan, replay, rng)
            row |= selected_graph_quality(graph, truth, env.state.selected)
            if (epoch + 1) % agent.frozen_check_every == 0 or epoch + 1 == agent.epochs:
                check = generator(settings.seed, settings.network, "frozen", epoch)
                row["frozen_hit_share"] = frozen_hit_share(learner, env, plan, check)
            log.append(row)
            if resume is not None and (epoch + 1) % agent.save_every == 0:
                save_resume(resume, learner, replay, rng, key, log)
            reporter.advance(f"reward {row['reward']:.1f}")
    return Trained(learner.online, log)


def _epoch(
    epoch: int,
    learner: Learner,
    env: Environment,
    plan: ShiftPlan,
    replay: Replay,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Run one batch of episodes, learning along the way; returns the log's row."""
    settings = learner.settings
    agent, hyper = settings.agent, settings.hyperparameters
    cooled = hyper.temperature_decay**epoch
    temperature = max(agent.temperature_start * cooled, agent.temperature_floor)
    epsilon = max(agent.epsilon_start * cooled, agent.epsilon_floor)
    state = env.reset(draw_episodes(env.model, plan, agent.episodes, agent.episode_steps, rng))
    reward = paper_reward = hits = any_hit = after_change = 0.0
    learned: list[tuple[float, float, float]] = []
    for t in range(agent.episode_steps):
        with torch.no_grad():
            q = learner.online(torch.from_numpy(state)).numpy()
        selected = explore(q, env.m, settings.method, temperature, epsilon, rng)
        next_state, outcome = env.step(selected)
        replay.add(state, selected, outcome.shares, next_state, outcome.mask)
        state = next_state
        running = t >= env.episodes.change
        reward += outcome.shares.sum()
        paper_reward += outcome.paper_reward.sum()
        hits += outcome.hits[running].sum()
        any_hit += (outcome.hits[running] > 0).sum()
        after_change += running.sum()
        if replay.added >= agent.warmup:
            for _ in range(agent.updates_per_step):
                learned.append(learner.update(replay.sample(hyper.batch, rng), temperature))
    loss, value, entropy = np.mean(learned, axis=0) if learned else (math.nan,) * 3
    return {
        "epoch": epoch + 1,
        "updates": learner.updates,
        "reward": reward / agent.episodes,
        "paper_reward": paper_reward / agent.episodes,
        "hit_share": hits / (after_change * min(plan.k, env.m)),
        "any_hit": any_hit / after_change,
        "frozen_hit_share": math.nan,
        "loss": loss,
        "mean_q": value,
        "causal_entropy": entropy,
        "temperature": temperature if settings.method.exploration == "boltzmann" else epsilon,
    }
