"""What the network sees of a stream: even in the sign of a shift, the same for every p and m."""

import numpy as np

from causaldq.methods.bayes_posterior import BayesPosterior, BayesState
from causaldq.methods.equivariant_network import Seen
from causaldq.types import Floats

NAMES = (
    "log odds of a shift",
    "worth of a reading",
    "steps unread",
    "deviations",
    "information",
    "conditional variance",
)


def conditional_variance(covariance: Floats) -> Floats:
    """Log variance of each stream given all others, (p,)."""
    return np.asarray(-np.log(np.diag(np.linalg.inv(covariance))))


def features(method: BayesPosterior, state: BayesState, alone: Floats) -> Seen:
    """All of size one or so."""
    n, p, m = len(state.time), method.problem.p, method.problem.m
    posterior = np.clip(method.posterior(state), 1e-9, 1 - 1e-9)
    worth = method.expected_worth(state)
    deviations = np.abs(state.score) / np.sqrt(1.0 + state.information)
    streams = np.empty((n, p, len(NAMES)), np.float32)
    streams[:, :, 0] = np.clip(np.log(posterior / (1 - posterior)), -6, 6) / 3
    streams[:, :, 1] = np.clip(np.log(worth / worth.mean(axis=1, keepdims=True)), -6, 6) / 2
    streams[:, :, 2] = np.log1p(state.unread) / 3
    streams[:, :, 3] = method.over_times(state, deviations, 0.0) / 2
    streams[:, :, 4] = method.over_times(state, np.log1p(state.information), 0.0) / 3
    streams[:, :, 5] = alone / 3
    run = np.empty((n, 3), np.float32)
    run[:, 0] = m / p
    run[:, 1] = np.log(p) / 5
    run[:, 2] = np.minimum(method.log_evidence(state), 12) / 5
    return Seen(streams, run, np.asarray(worth, np.float32))
