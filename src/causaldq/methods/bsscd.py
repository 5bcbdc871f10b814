"""BSSCD: sparse shifts by spike and slab, a posterior Bayes factor, and Thompson sampling.

J. Guo, H. Yan and C. Zhang (2023). A Bayesian partially observable online change detection
approach with Thompson sampling. Technometrics 65(2), 179-191; first version arXiv 2009.10645.

Values are a normal part, an abnormal part a, and noise; all in deviations of their streams. The
normal part and the noise have the in-control correlation, and a is sparse: a_i = r_i w_i with
r_i one with probability q, and w_i normal with variance v0. With h and J the evidence of
`causaldq.statistic`, the log likelihood ratio of a is h'a - a'Ja/2. Its posterior is taken for
independent between streams (variational Bayes): r_i is one with probability alpha_i, and then w_i
is normal with mean mu_i and variance v_i,

    v_i = 1 / (J_ii + 1/v0)        g_i = h_i - sum_{j != i} J_ij alpha_j mu_j        mu_i = v_i g_i
    logit alpha_i = logit q + log(v_i / v0) / 2 + mu_i^2 / (2 v_i),

one stream after the other. The alarm statistic is the log of the posterior Bayes factor, the mean
of the likelihood ratio over this posterior. Sensors: draw a from the posterior and read the m
streams where it is furthest off, the largest terms of the Bayes factor to be expected.

What we could read of the publication are its abstracts, so the rest is decided here. The normal
part is integrated out exactly, where they estimate its coefficients: the correlation is known,
and nothing else of it is. An abnormal basis is the streams themselves, as shifts of single
streams ask for. Memory fades as in `cmab`, the bandit of the same group. The Bayes factor's mean
over streams that depend on each other has no closed form; products of the deviations of two
streams, whose mean under the posterior is zero, are left out. That is exact where streams are
independent, and a matter of some tenths beside values of 30 and more where we compared. The
posterior of the last step is where the next one starts, so that few sweeps do. The share q and
the memory were chosen in its favour, on streams that no table shows.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from causaldq.covariance import correlation_of
from causaldq.methods.base import Method, Problem, State, Truth, top
from causaldq.setting import Count, Positive, Settings, Share
from causaldq.statistic import Evidence, LocalStatistic, StatisticSettings
from causaldq.types import Floats, Ints


class BsscdSettings(Settings):
    """Spike and slab with Thompson sampling."""

    share: Annotated[Share, Field(description="q, prior share of shifted streams")] = 0.4
    slab: Annotated[
        Positive, Field(description="v0, variance of shifts, in stream deviations squared")
    ] = 1.0
    decay: Annotated[Share, Field(description="lambda, the share of memory lost at each step")] = (
        0.1
    )
    sweeps: Annotated[
        Count, Field(description="passes over the streams at each step, if they are correlated")
    ] = 2


@dataclass(frozen=True)
class BsscdState(State):
    """Evidence so far, and the posterior of each stream's shift."""

    evidence: Evidence
    logit: Floats
    """logit alpha_i, (n, p)."""
    mean: Floats
    """mu_i, (n, p)."""
    variance: Floats
    """v_i, (n, p)."""
    value: Floats
    """Log of the posterior Bayes factor, (n,)."""


class Bsscd(Method[BsscdState]):
    """Draws a shift from its posterior, reads where it is largest; alarms on the Bayes factor."""

    options: ClassVar[type[Settings]] = BsscdSettings

    publishes_run_length: ClassVar[bool] = True

    def __init__(self, problem: Problem, settings: BsscdSettings | None = None) -> None:
        super().__init__(problem)
        self.settings = settings or BsscdSettings()
        self.prior_logit = float(np.log(self.settings.share / (1.0 - self.settings.share)))
        self.deviation: Floats = np.sqrt(problem.variance)
        own = StatisticSettings(
            decay=self.settings.decay, form="raw", ridge=problem.statistic.ridge
        )
        correlation = correlation_of(problem.covariance, self.deviation)
        self.local = LocalStatistic(correlation, own)

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> BsscdState:
        shape = (n, self.problem.p)
        return BsscdState(
            evidence=self.local.start(n),
            logit=np.full(shape, self.prior_logit),
            mean=np.zeros(shape),
            variance=np.full(shape, self.settings.slab),
            value=np.zeros(n),
        )

    def choose(self, state: BsscdState, rng: np.random.Generator) -> Ints:
        """Many draws are zero, and which of those are read is left to chance."""
        shifted = rng.random(state.logit.shape) < _probability(state.logit)
        size = state.mean + np.sqrt(state.variance) * rng.standard_normal(state.mean.shape)
        return top(np.abs(shifted * size), self.problem.m, rng)

    def observe(
        self, state: BsscdState, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> BsscdState:
        evidence = self.local.update(state.evidence, streams, values / self.deviation[streams])
        h, j = evidence.h, evidence.j
        if self.local.independent:
            logit, mean, variance = self._belief(h, j)
            value = self._log_factors(h, j, logit, mean, variance).sum(axis=1)
            return BsscdState(evidence, logit, mean, variance, np.asarray(value, np.float64))
        # Streams that nobody has read keep their prior, and move no others.
        known = evidence.known
        h, own = h[:, known], np.einsum("nii->ni", j)
        logit, mean, variance = (part.copy() for part in (state.logit, state.mean, state.variance))
        at_known = [part[:, known] for part in (logit, mean, variance)]
        expected = _probability(at_known[0]) * at_known[1]
        for _ in range(self.settings.sweeps):
            for i in range(len(known)):
                others = np.einsum("nj,nj->n", j[:, i], expected) - own[:, i] * expected[:, i]
                belief = self._belief(h[:, i] - others, own[:, i])
                for part, found in zip(at_known, belief, strict=True):
                    part[:, i] = found
                expected[:, i] = _probability(belief[0]) * belief[1]
        others = (j @ expected[:, :, None])[:, :, 0] - own * expected
        factors = self._log_factors(h - others, own, *at_known)
        value = factors.sum(axis=1) + (expected * others).sum(axis=1) / 2
        logit[:, known], mean[:, known], variance[:, known] = at_known
        return BsscdState(evidence, logit, mean, variance, np.asarray(value, np.float64))

    def contributions(self, state: BsscdState) -> Floats:
        return state.logit

    def statistic(self, state: BsscdState) -> Floats:
        return state.value

    def _belief(self, rest: Floats, information: Floats) -> tuple[Floats, Floats, Floats]:
        """logit alpha, mu and v, given g and J_ii."""
        slab = self.settings.slab
        variance = 1.0 / (information + 1.0 / slab)
        mean = variance * rest
        logit = self.prior_logit + (np.log(variance / slab) + mean * rest) / 2
        return logit, mean, variance

    @staticmethod
    def _log_factors(
        rest: Floats, information: Floats, logit: Floats, mean: Floats, variance: Floats
    ) -> Floats:
        """log(1 - alpha + alpha E exp(g w - J_ii w^2 / 2)), w normal with mean mu, variance v."""
        grown = 1.0 + information * variance
        log_ratio = rest**2 * variance + 2 * rest * mean - information * mean**2
        log_ratio = (log_ratio / grown - np.log(grown)) / 2
        return np.asarray(np.logaddexp(0.0, logit + log_ratio) - np.logaddexp(0.0, logit))


def _probability(logit: Floats) -> Floats:
    return np.asarray(0.5 + 0.5 * np.tanh(logit / 2), np.float64)
