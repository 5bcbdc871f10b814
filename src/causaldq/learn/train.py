"""Training a double Q-network on side-by-side episodes.

The causal and the non-causal agent are this one function under different settings.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from causaldq.discovery.graph import Graph, quality
from causaldq.learn.environment import Environment, build_environment, draw_episodes
from causaldq.learn.learner import Learner, Measured
from causaldq.learn.replay import Replay
from causaldq.learn.resume import load_resume, resume_key, save_resume
from causaldq.learn.settings import LearnedMethod, ShiftPlan, TrainingSettings
from causaldq.methods.causal_dq import Perceptron, top_streams
from causaldq.models.streams import StreamModel
from causaldq.progress import Reporter
from causaldq.seeds import generator
from causaldq.types import Floats, Ints


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
    return np.sort(np.argpartition(scores, -m, axis=1)[:, -m:], axis=1)


def frozen_hit_share(
    learner: Learner, env: Environment, plan: ShiftPlan, rng: np.random.Generator
) -> float:
    """Hit share of the frozen top-m policy after the change, on fresh episodes."""
    agent = learner.settings.agent
    state = env.reset(draw_episodes(env.model, plan, 2 * agent.episodes, agent.episode_steps, rng))
    hits = steps = 0
    for t in range(agent.episode_steps):
        state, outcome = env.step(top_streams(learner.online(state), env.m))
        running = t >= env.episodes.change
        hits += int(outcome.hits[running].sum())
        steps += int(running.sum())
    return hits / (steps * min(plan.k, env.m))


@dataclass(frozen=True)
class Trained:
    """A finished training run."""

    online: Perceptron
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
    code: str = "",
) -> Trained:
    """Train one network. With `resume`, resumes from the state saved there by the same `code`.

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
        key = resume_key(settings, model, effects, code)
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
    learned: list[Measured] = []
    for t in range(agent.episode_steps):
        selected = explore(learner.online(state), env.m, settings.method, temperature, epsilon, rng)
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
    loss, value, entropy = learner.loss(learned) if learned else (math.nan,) * 3
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
