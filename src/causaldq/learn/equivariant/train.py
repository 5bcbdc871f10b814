"""Training: double Q-learning on rounds of different problems, with one set of weights."""

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from causaldq.learn.equivariant.episodes import Round, play
from causaldq.learn.equivariant.settings import EquivariantJob
from causaldq.methods.equivariant_network import MOST, Array, Heard, Seen, advantages, shapes
from causaldq.progress import Reporter
from causaldq.seeds import generator

Weights = dict[str, Tensor]
HeardTensors = tuple[Tensor, Tensor] | None


class SeenTensors(NamedTuple):
    """`network.Seen`, for torch."""

    streams: Tensor
    run: Tensor
    worth: Tensor


@dataclass(frozen=True)
class Trained:
    """Weights by name, and what training looked like."""

    weights: dict[str, Array]
    log: list[dict[str, float]]


def values(weights: Weights, seen: SeenTensors, heard: HeardTensors) -> tuple[Tensor, Tensor]:
    """A (n, p), the network of `network.advantages` for torch, and the value of the state (n,)."""
    encoded = (seen.streams @ weights["encode"] + weights["encode_bias"]).relu()
    pooled = torch.cat([encoded.mean(dim=1), encoded.amax(dim=1), seen.run], dim=1)
    context = (pooled @ weights["pool"] + weights["pool_bias"]).relu()
    mixed = encoded @ weights["own"] + weights["mix_bias"]
    mixed = mixed + (context @ weights["common"])[:, None, :]
    if heard is not None:
        causes, effects = heard
        mixed = mixed + (causes @ encoded) @ weights["causes"]
        mixed = mixed + (effects @ encoded) @ weights["effects"]
    trust = (mixed.relu() @ weights["trust"])[:, :, 0] + weights["trust_bias"]
    advantage = seen.worth * trust.clamp(-MOST, MOST).exp()
    return advantage, (context @ weights["value"])[:, 0] + weights["value_bias"]


def fresh_weights(job: EquivariantJob) -> Weights:
    """Drawn evenly within 1 / sqrt(inputs), as torch draws its linear layers; trust begins at 0."""
    rng = generator(job.seed, job.network, "weights")
    found: Weights = {}
    for name, shape in shapes(job.training.hidden, causal=job.causal).items():
        bound = 0.0 if name.startswith("trust") else 1.0 / np.sqrt(shape[0])
        drawn = np.asarray(rng.uniform(-bound, bound, shape), np.float32)
        found[name] = torch.tensor(drawn, requires_grad=True)
    return found


def train_equivariant(job: EquivariantJob) -> Trained:
    """Rounds of episodes, each followed by updates from those kept."""
    torch.set_num_threads(1)
    settings = job.training
    rng = generator(job.seed, job.network, "training")
    online = fresh_weights(job)
    target = {name: tensor.detach().clone() for name, tensor in online.items()}
    adam = torch.optim.Adam(list(online.values()), lr=settings.learning_rate)
    kept: deque[Round] = deque(maxlen=settings.kept_rounds)
    log: list[dict[str, float]] = []
    last, first = settings.temperature
    with Reporter(job.network, settings.rounds, "round") as reporter:
        for number in range(settings.rounds):
            done = number / max(settings.rounds - 1, 1)
            temperature = first ** (1 - done) * last**done
            weights = {name: tensor.detach().numpy() for name, tensor in online.items()}

            def value(seen: Seen, heard: Heard) -> Array:
                return advantages(weights, seen, heard if job.causal else None)  # noqa: B023

            kept.append(play(job, value, temperature, rng))
            losses = [
                _update(job, online, target, adam, kept, temperature, rng)
                for _ in range(settings.updates)
            ]
            log.append(
                {
                    "round": number + 1,
                    "streams": kept[-1].streams.shape[2],
                    "sensors": kept[-1].selected.shape[2],
                    "reward": kept[-1].reward,
                    "loss": float(np.mean(losses)),
                    "temperature": temperature,
                }
            )
            reporter.advance(f"loss {log[-1]['loss']:.2f}")
    return Trained({name: tensor.detach().numpy() for name, tensor in online.items()}, log)


def _update(
    job: EquivariantJob,
    online: Weights,
    target: Weights,
    adam: torch.optim.Optimizer,
    kept: deque[Round],
    temperature: float,
    rng: np.random.Generator,
) -> float:
    """One step of the optimiser on transitions of one round."""
    settings = job.training
    played = kept[int(rng.integers(len(kept)))]
    steps, n, m = played.selected.shape
    pick = rng.integers(steps * n, size=settings.batch)
    t, row = pick // n, pick % n
    heard: HeardTensors = None
    if job.causal:
        heard = (torch.from_numpy(played.heard[0]), torch.from_numpy(played.heard[1]))

    def seen(after: int) -> SeenTensors:
        parts = (played.streams, played.run, played.worth)
        return SeenTensors(*(torch.from_numpy(part[t + after, row]) for part in parts))

    advantage, state_value = values(online, seen(0), heard)
    q = advantage + state_value[:, None]
    earned = torch.from_numpy(played.shares[t, row])
    entropy = torch.zeros(len(t))
    if job.causal:
        entropy = causal_entropy(q, torch.from_numpy(played.mask[t, row]), temperature)
    with torch.no_grad():
        best = values(online, seen(1), heard)[0].topk(m, dim=1).indices
        later, later_value = values(target, seen(1), heard)
        future = later.gather(1, best).mean(dim=1) + later_value
        goes_on = torch.from_numpy(~played.ended[t, row]).float()
        goal = earned + (settings.discount * future * goes_on)[:, None]
    chosen = q.gather(1, torch.from_numpy(played.selected[t, row]))
    loss = (goal - chosen).square().mean() - settings.entropy_weight * entropy.mean()
    adam.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    adam.step()
    with torch.no_grad():
        for name, tensor in target.items():
            tensor.lerp_(online[name], settings.target_rate)
    return float(loss.detach())


def causal_entropy(q: Tensor, mask: Tensor, temperature: float) -> Tensor:
    """H_c = -sum of C_i pi_i log pi_i with pi = softmax(Q / tau), (n,)."""
    log_policy = torch.log_softmax(q / temperature, dim=1)
    return -(mask * log_policy.exp() * log_policy).sum(dim=1)
