"""The paper's reward, split among the selected streams."""

import numpy as np

from causaldq.learn.settings import LearnedMethod, RewardSettings
from causaldq.types import Bools, Floats, Ints


def with_overrides(reward: RewardSettings, method: LearnedMethod) -> RewardSettings:
    """The reward of one method, where it sets values of its own."""
    own = {"hit": method.hit, "miss": method.miss}
    return reward.model_copy(update={key: v for key, v in own.items() if v is not None})


def reward_shares(
    hits: Bools, since_change: Ints, settings: RewardSettings, *, causal: bool
) -> Floats:
    """Each selected stream's share (n, m) of the step's reward.

    `hits` (n, m) are the selected streams that shift; `since_change` (n,) is the step minus the
    change time: negative before it. Causal: every hit earns `hit`, plus `hit_state`, since the
    state's indicator repeats the action. Not causal: any hit counts the same, so one hit earns
    every selected stream what a hit earns, and nobody learns which it was. No hit at all
    costs `miss`, split evenly, as are the constant rewards.
    """
    m = hits.shape[1]
    any_hit: Bools = np.any(hits, axis=1)
    each = settings.hit + settings.hit_state
    earned = hits * each if causal else np.full(hits.shape, each)
    during = np.where(any_hit[:, None], earned, settings.miss / m)
    before = (since_change < 0)[:, None]
    after = (since_change > settings.duration)[:, None]
    return np.where(before, settings.before / m, np.where(after, settings.after / m, during))


def reward(hits: Bools, since_change: Ints, settings: RewardSettings) -> Floats:
    """The paper's reward of the step, (n,): what the causal shares add up to."""
    count = hits.sum(axis=1)
    during = np.where(count > 0, count * (settings.hit + settings.hit_state), settings.miss)
    after = since_change > settings.duration
    return np.where(since_change < 0, settings.before, np.where(after, settings.after, during))
