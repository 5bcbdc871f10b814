"""The index of each stream under four policies, in one run with the same values."""

import matplotlib.pyplot as plt
import numpy as np

import causaldq
from causaldq.run import step

streams = causaldq.simulate(8, degree=0)
problem = causaldq.Problem(streams.covariance, m=2)
shifted = 5
figure, panels = plt.subplots(1, 4, sharex=True, figsize=(7.6, 2.8))
for axes, name in zip(panels, ("Tras", "Tssrp", "Asmp", "Cmab"), strict=True):
    method = getattr(causaldq.methods, name)(problem)
    rng = np.random.default_rng(2)
    values = streams.in_control(1, 60, rng)
    values[:, 30:, shifted] += 1.5
    state = method.start(1, None, rng)
    index = np.zeros((60, streams.p))
    for t in range(60):
        state, _, _ = step(method, state, values[:, t], rng)
        index[t] = method.contributions(state)[0]
    axes.plot(np.delete(index, shifted, axis=1), color="0.7", linewidth=1)
    axes.plot(index[:, shifted], color="C1", linewidth=2)
    axes.axvline(30, color="black", linestyle=":", linewidth=1)
    axes.set(title=name.upper(), xlabel="step")
panels[0].set_ylabel("index of each stream")
