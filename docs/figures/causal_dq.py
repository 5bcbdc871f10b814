"""The causal state: what the network sees of each stream, ten steps after a change."""

import matplotlib.pyplot as plt
import numpy as np

import causaldq
from causaldq.discovery.algorithms import discover
from causaldq.discovery.effects import propagation_effects
from causaldq.discovery.settings import DiscoverySettings
from causaldq.methods.causal_dq import causal_statistic
from causaldq.run import step
from causaldq.statistic import LocalStatistic

streams = causaldq.simulate(10, degree=3, seed=4)
rng = np.random.default_rng(0)
graph = discover(streams, DiscoverySettings())
effects = propagation_effects(graph, np.corrcoef(streams.rows.T), 20, rng)
problem = causaldq.Problem(streams.covariance, m=4)
method = causaldq.methods.Greedy(problem)
method.local = LocalStatistic(streams.covariance, problem.statistic)
values = streams.in_control(1, 40, rng)
values[:, 30:] += causaldq.Shift(1.5, streams=[1, 6]).means(streams, 1, rng)
state = method.start(1, None, rng)
for t in range(40):
    state, _, _ = step(method, state, values[:, t], rng)

mean = method.local.mean(state.evidence)
parts = (
    (r"$\Lambda_i$, local statistic", state.contributions[0]),
    (r"$\varphi_i$, causal statistic", causal_statistic(mean, effects)[0]),
    (r"$Y_i$, steps unread", state.unobserved[0]),
)
figure, panels = plt.subplots(1, 3, sharey=True, figsize=(7.4, 3.0))
for axes, (title, part) in zip(panels, parts, strict=True):
    bars = axes.barh(streams.names, part)
    for place in (1, 6):
        bars[place].set_color("C1")
    axes.set_title(title)
panels[0].invert_yaxis()
panels[0].set_ylabel("stream (orange: shifted)")
