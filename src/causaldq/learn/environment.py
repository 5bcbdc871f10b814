"""Training episodes: fresh in-control values into which shifts are injected.

The shifts are ours, so their places are known here: for the reward and the causal mask,
never for the state.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from causaldq.learn.reward import reward, reward_shares, with_overrides
from causaldq.learn.settings import RewardSettings, ShiftPlan, TrainingSettings
from causaldq.methods.causal_dq import causal_state
from causaldq.methods.local import LocalState, observe_local, start_local
from causaldq.models.rows import resample
from causaldq.models.streams import StreamModel
from causaldq.statistic import LocalStatistic
from causaldq.types import Bools, Floats, Ints
from causaldq.worlds.shifts import direction, fixed_order, pattern, recorded_shift, shifted_streams


@dataclass(frozen=True)
class Episodes:
    """A batch of n episodes, drawn whole."""

    values: Floats
    """(n, steps, p), shifts included."""
    change: Ints
    """(n,), first shifted step."""
    shifted: Bools
    """(n, p)"""


def draw_episodes(
    model: StreamModel, plan: ShiftPlan, n: int, steps: int, rng: np.random.Generator
) -> Episodes:
    """Each episode has its own values, change time, case, noise level and, if fair, places.

    Where there are recorded rows of the anomaly to train on, `paper` trains on them.
    """
    values = model.in_control(n, steps, rng, plan.protocol)
    change = rng.integers(plan.latest_change + 1, size=n)
    after = np.arange(steps) >= change[:, None]
    records = model.records
    if records is not None and len(records.anomalous) and plan.protocol == "paper":
        mask, _ = recorded_shift(records.anomalous)
        anomalous = resample(records.anomalous, n, steps, rng)
        return Episodes(
            np.where(after[:, :, None], anomalous, values), change, np.tile(mask, (n, 1))
        )
    order = fixed_order(plan.places, model.p, plan.seed)
    shifted = shifted_streams(plan.protocol, n, plan.k, order, rng)
    case = rng.integers(len(plan.cases), size=n)
    signs = np.stack([pattern(name, shifted) for name in plan.cases])[case, np.arange(n)]
    sigma = np.asarray(plan.sigmas)[rng.integers(len(plan.sigmas), size=n)]
    noise = sigma[:, None] * rng.standard_normal((n, model.p))
    mean = plan.delta * direction(signs, model, plan.propagate) + noise
    return Episodes(values + after[:, :, None] * mean[:, None, :], change, shifted)


@dataclass(frozen=True)
class Step:
    """What came of one action."""

    shares: Floats
    """(n, m), each selected stream's share of the reward."""
    mask: Bools
    """(n, p), the causal mask C: streams that were shifted at this step."""
    hits: Ints
    """(n,), shifted streams among the selected."""
    paper_reward: Floats
    """(n,), the paper's reward, counted alike whatever the agent itself is rewarded for."""


class Environment:
    """n episodes advancing together."""

    def __init__(
        self,
        model: StreamModel,
        local: LocalStatistic,
        m: int,
        effects: Floats | None,
        unobserved_cap: int,
        reward: RewardSettings,
        *,
        causal_reward: bool,
        paper_reward: RewardSettings,
    ) -> None:
        self.model = model
        self.local = local
        self.m = m
        self.effects = effects
        self.unobserved_cap = unobserved_cap
        self.reward = reward
        self.causal_reward = causal_reward
        self.paper_reward = paper_reward

    @property
    def inputs(self) -> int:
        """Size of the state."""
        return (2 if self.effects is None else 3) * self.model.p

    def reset(self, episodes: Episodes) -> npt.NDArray[np.float32]:
        self.episodes = episodes
        self.time = 0
        self.state: LocalState = start_local(self.local, len(episodes.values), self.m)
        return self._features()

    def step(self, selected: Ints) -> tuple[npt.NDArray[np.float32], Step]:
        """Read the selected streams (n, m); returns the next state and what it earned."""
        episodes = self.episodes
        rows = np.arange(len(selected))[:, None]
        observed = episodes.values[rows, self.time, selected]
        self.state = observe_local(self.local, self.state, selected, observed)
        since_change = self.time - episodes.change
        running = since_change >= 0
        hits = episodes.shifted[rows, selected]
        outcome = Step(
            shares=reward_shares(hits, since_change, self.reward, causal=self.causal_reward),
            mask=episodes.shifted & running[:, None],
            hits=hits.sum(axis=1) * running,
            paper_reward=reward(hits, since_change, self.paper_reward),
        )
        self.time += 1
        return self._features(), outcome

    def _features(self) -> npt.NDArray[np.float32]:
        return causal_state(self.local, self.state, self.effects, self.unobserved_cap)


def build_environment(
    model: StreamModel, effects: Floats | None, settings: TrainingSettings
) -> Environment:
    """The batched core under a method's settings."""
    agent, method = settings.agent, settings.method
    return Environment(
        model,
        LocalStatistic(model.covariance, settings.statistic, with_mean=method.causal_state),
        settings.m,
        effects if method.causal_state else None,
        agent.unobserved_cap,
        with_overrides(agent.reward, method),
        causal_reward=method.causal_reward,
        paper_reward=agent.reward,
    )
