"""Methods for leaks: a mixture over where the leak is, and sensors that stay where they are."""

from dataclasses import dataclass

import numpy as np
from scipy.cluster.vq import kmeans2
from scipy.linalg import qr

from causaldq.methods import BayesPosterior
from causaldq.methods.base import Method, State
from causaldq.methods.information import TIE, most_informative
from causaldq.run import step

FLOWS = (2.0, 5.0, 10.0)
"""Sizes of leak that the mixture holds possible, m³/h."""
GROUPS = 60
"""Sensors are chosen for so many groups of leaks that look alike."""


@dataclass(frozen=True)
class LeakState(State):
    """Evidence for every junction and flow."""

    log_grown: np.ndarray
    """log(1 + R), (n, flows, p)."""


class LeakMixture(Method[LeakState]):
    """A Shiryaev-Roberts sum over junctions and flows, with the drops that hydraulics gives.

    If junction r leaks by f, pressures move by f s_r. With Z the junctions read and S_Z their
    in-control covariance, the likelihood ratio of a reading is exp(f l_r - f² I_r / 2), with

        l_r = s_r[Z]' S_Z^-1 x_Z        I_r = s_r[Z]' S_Z^-1 s_r[Z].

    As `causal_sr`, but with signatures from a simulation of the pipes, and leaks only.

    Parameters
    ----------
    problem : Problem
    signatures : array, shape (p, p)
        Row r: what a leak of 1 m³/h at r does to all pressures, in their standard deviations.
    fixed : array, shape (m,), optional
        Sensors that stay; by default they go where they are expected to tell most.
    """

    def __init__(self, problem, signatures, fixed=None):
        super().__init__(problem)
        self.signatures, self.fixed = signatures, fixed
        self.log_prior = -np.log(len(FLOWS) * problem.p)
        self.flows = np.array(FLOWS)[:, None]
        self.member = alike(signatures, min(GROUPS, problem.p))
        self.typical = self.member.T @ signatures / self.member.sum(axis=0)[:, None]

    def start(self, n, truth, rng):
        return LeakState(np.zeros((n, len(FLOWS), self.problem.p)))

    def choose(self, state, rng):
        n = len(state.log_grown)
        if self.fixed is not None:
            return np.tile(self.fixed, (n, 1))
        by_junction = (posterior(state.log_grown) * self.flows**2).sum(axis=1)
        weights = by_junction @ self.member
        weights /= weights.sum(axis=1, keepdims=True)
        noise = 1 + TIE * rng.random((n, self.problem.p))
        return most_informative(
            self.problem.covariance, weights, self.problem.m, self.typical, noise
        )

    def observe(self, state, streams, values, rng):
        block = self.problem.covariance[streams[:, :, None], streams[:, None, :]]
        seen = self.signatures.T[streams]  # (n, m, p)
        whitened = np.linalg.solve(block, seen)
        projection = values[:, None] @ whitened  # l, (n, 1, p)
        information = (seen * whitened).sum(axis=1, keepdims=True)
        log_ratio = self.flows * projection - self.flows**2 * information / 2
        log_r = state.log_grown + log_ratio
        return LeakState(np.maximum(log_r, 0.0) + np.log1p(np.exp(-np.abs(log_r))))

    def statistic(self, state):
        largest = state.log_grown.max(axis=(1, 2))
        grown = np.exp(state.log_grown - largest[:, None, None])
        return largest + np.log(grown.sum(axis=(1, 2))) + self.log_prior  # log(1 + sum)

    def contributions(self, state):
        return posterior(state.log_grown).sum(axis=1)


class FilterInTurn(BayesPosterior):
    """The filter's evidence, with sensors that go round all junctions in their order."""

    def choose(self, state, rng):
        p, m = self.problem.p, self.problem.m
        return (state.time[:, None] * m + np.arange(m)) % p


class FilterFixed(BayesPosterior):
    """The filter's evidence, with sensors that stay where they were placed."""

    def __init__(self, problem, fixed):
        super().__init__(problem)
        self.fixed = fixed

    def choose(self, state, rng):
        return np.tile(self.fixed, (len(state.time), 1))


def placed(signatures, m):
    """m junctions (m,) for sensors that stay: QR with column pivoting.

    The pivots of the m strongest modes of what leaks do, as PySensors and much work on leaks
    place sensors (Manohar et al. 2018, IEEE Control Systems 38(3), 63-86).
    """
    modes = np.linalg.svd(signatures, full_matrices=False)[2][:m]
    return np.sort(qr(modes, mode="r", pivoting=True)[1][:m])


def alike(signatures, groups):
    """Which leaks drop pressures alike: members (p, groups), of 0 and 1."""
    shapes = signatures / np.linalg.norm(signatures, axis=1, keepdims=True)
    _, label = kmeans2(shapes, groups, minit="++", rng=np.random.default_rng(0))
    member = (label[:, None] == np.arange(groups)).astype(float)
    return member[:, member.any(axis=0)]


def posterior(log_grown):
    """Probability of each flow and junction (n, flows, p), given a leak, from log(1 + R)."""
    weights = np.exp(log_grown - log_grown.max(axis=(1, 2), keepdims=True))
    return weights / weights.sum(axis=(1, 2), keepdims=True)


def watched(method, recordings, start, limit, rng):
    """Watch recordings (n, hours, p) with a leak from hour `start` on, each up to its alarm.

    Returns
    -------
    delay : array, shape (n,)
        Hours from the leak to the alarm, both counted; NaN after an alarm before the leak; the
        hours there were where none came.
    missed : array, shape (n,)
    named : array, shape (n,)
        The junction that was suspected most at the alarm, or at the end.
    """
    n, hours, _ = recordings.shape
    delay, named = np.full(n, float(hours - start)), np.zeros(n, dtype=int)
    running, state = np.arange(n), method.start(n, None, rng)
    for hour in range(hours):
        state, _, value = step(method, state, recordings[running, hour], rng)
        over = value > limit
        ended = over | (hour == hours - 1)
        if ended.any():
            suspected = method.contributions(state.take(np.flatnonzero(ended)))
            named[running[ended]] = suspected.argmax(axis=1)
        delay[running[over]] = hour - start + 1 if hour >= start else np.nan
        running, state = running[~over], state.take(np.flatnonzero(~over))
    return delay, np.isin(np.arange(n), running), named
