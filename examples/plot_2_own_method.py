"""
A method of your own
====================

A method chooses sensors and computes an alarm statistic. Here is one of a few lines, checked
against the contract that all methods keep, and compared with ours at the same rate of false
alarms.
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

import causaldq
from causaldq.methods.base import top

# %%
# Every stream has an exponentially weighted mean. The method reads the streams that are
# furthest from zero, with some credit for those long unread, and alarms on the largest squares.
# A state has one row per replication, so that many runs advance at once.


@dataclass(frozen=True)
class Averages(causaldq.State):
    mean: np.ndarray  # (n, p)
    unread: np.ndarray  # (n, p), steps since the last reading


class Ewma(causaldq.Method[Averages]):
    """Exponentially weighted means, read where they are largest."""

    weight = 0.2

    def start(self, n, truth, rng):
        return Averages(np.zeros((n, self.problem.p)), np.zeros((n, self.problem.p)))

    def choose(self, state, rng):
        return top(np.abs(state.mean) + 0.1 * state.unread, self.problem.m, rng)

    def observe(self, state, streams, values, rng):
        mean, unread = state.mean.copy(), state.unread + 1
        before = np.take_along_axis(mean, streams, axis=1)
        after = before + self.weight * (values - before)
        np.put_along_axis(mean, streams, after, axis=1)
        np.put_along_axis(unread, streams, 0, axis=1)
        return Averages(mean, unread)

    def statistic(self, state):
        return np.sort(state.mean**2, axis=1)[:, -self.problem.m :].sum(axis=1)


causaldq.check_method(Ewma)  # reads only what it asked for, and so on; an error says what is wrong

# %%
# Fifteen correlated streams, four sensors; three streams, drawn anew in every run, shift by one
# standard deviation. Every method gets its own limit, for one false alarm in 100 steps.

table = causaldq.evaluate(
    {"your Ewma": Ewma, "tras": "tras", "greedy": "greedy", "bayes_posterior": "bayes_posterior"},
    causaldq.simulate(15, degree=3),
    sensors=4,
    shifts=[causaldq.Shift(1.0, streams=3)],
    arl0=100,
    replications=150,
    paths=100,
)
print(
    table[["method", "delay", "low", "high", "missed", "reached"]].round(2).to_string(index=False)
)

# %%
# ``reached`` is the run length without a change, measured on fresh paths: compare delays only
# where it is about the same.

figure, axes = plt.subplots(figsize=(7.2, 2.6))
places = np.arange(len(table))
axes.hlines(places, table.low, table.high)
axes.plot(table.delay, places, "o")
axes.set_yticks(places, table.method)
axes.margins(y=0.15)
axes.invert_yaxis()
axes.set(xlim=(0, None), xlabel="steps", title="Mean delay of four methods, with 95% intervals")
plt.show()
