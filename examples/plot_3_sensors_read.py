"""
Which sensors were read
=======================

A policy has to visit every stream while nothing happens, and to stay where a shift shows. We
run the filter `bayes_posterior` on 200 replications of the same change and look at how often
each stream is read.
"""

import matplotlib.pyplot as plt
import numpy as np

import causaldq

streams = causaldq.simulate(16, degree=3, seed=1)
problem = causaldq.Problem(streams.covariance, m=4)
method = causaldq.methods.BayesPosterior(problem)
shift = causaldq.Shift(1.0, streams=[3, 8, 12])

# %%
# The loop is what `causaldq.evaluate` does inside: choose, read, observe. The means shift at
# step 30.

runs, steps, change = 200, 70, 30
rng = np.random.default_rng(0)
values = streams.in_control(runs, steps, rng)
values[:, change:] += shift.means(streams, runs, rng)[:, None]

state = method.start(runs, None, rng)
read = np.zeros((streams.p, steps))
for t in range(steps):
    chosen = method.choose(state, rng)
    state = method.observe(state, chosen, np.take_along_axis(values[:, t], chosen, axis=1), rng)
    read[:, t] = np.bincount(chosen.ravel(), minlength=streams.p) / runs

# %%
# Before the change the sensors go round. After it they settle on few streams, and not only on
# those that shifted: a neighbour that moves along in normal operation tells how much of a
# stream's deviation is noise that both share. What counts is what the set as a whole tells
# (:doc:`/how/bayes_posterior`).

figure, axes = plt.subplots(figsize=(7.2, 4.0))
picture = axes.imshow(read, aspect="auto", vmin=0, vmax=1, interpolation="nearest", cmap="Blues")
axes.axvline(change - 0.5, color="black", linestyle="--")
axes.set_yticks(range(streams.p), streams.names, fontsize=8)
for place in shift.streams:
    axes.get_yticklabels()[place].set_fontweight("bold")
axes.set(xlabel=f"step (change at {change})", ylabel="stream (shifted ones in bold)")
axes.set_title("How often each stream is read, before and after the change")
figure.colorbar(picture, label="share of runs that read it")
plt.show()
