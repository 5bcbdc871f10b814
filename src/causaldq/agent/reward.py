"""The paper's reward, split among the selected streams."""

import numpy as np

from causaldq.config import LearnedMethod, RewardSettings
from causaldq.types import Bools, Floats, Ints


def with_overrides(reward: RewardSettings, method: LearnedMethod) -> RewardSettings:
    """The reward of one method, where it sets values of its own."""
    own = {"hit": method.hit, "miss": method.miss}
    return reward.model_copy(update={key: v for key, v in own.items() if v is not None})


def reward_shares(
    selected: Ints,
    shifted: Bools,
    since_change: Ints,
    settings: RewardSettings,
    *,
    causal: bool,
) -> Floats:
    """Each selected stream's share (n, m) of the step's reward.

    `since_change` (n,) is the step minus the change time: negative before it.
    Causal: every shifted stream among the selected earns `hit`, plus `hit_state`, since the
    state's indicator repeats the action. Not causal: any hit counts the same, so one hit earns
    every selected stream what a hit earns, and nobody learns which it was. No hit at all
    costs `miss`, split evenly, as are the constant rewards.
    """
    m = selected.shape[1]
    hits = shifted[np.arange(len(selected))[:, None], selected]
    any_hit: Bools = np.any(hits, axis=1)
    each = settings.hit + settings.hit_state
    earned = hits * each if causal else np.full(hits.shape, each)
    during = np.where(any_hit[:, None], earned, settings.miss / m)
    before = (since_change < 0)[:, None]
    after = (since_change > settings.duration)[:, None]
    return np.where(before, settings.before / m, np.where(after, settings.after / m, during))


def reward(selected: Ints, shifted: Bools, since_change: Ints, settings: RewardSettings) -> Floats:
    """The paper's reward of the step, (n,): what the causal shares add up to."""
    hits = shifted[np.arange(len(selected))[:, None], selected].sum(axis=1)
    during = np.where(hits > 0, hits * (settings.hit + settings.hit_state), settings.miss)
    after = since_change > settings.duration
    return np.where(since_change < 0, settings.before, np.where(after, settings.after, during))
