"""One run: what is there, and what a policy has seen of it."""

import matplotlib.pyplot as plt
import numpy as np

import causaldq

streams = causaldq.simulate(12, degree=3, seed=2)
method = causaldq.methods.Greedy(causaldq.Problem(streams.covariance, m=3))
rng = np.random.default_rng(1)
values = streams.in_control(1, 60, rng)
values[:, 30:] += causaldq.Shift(2.0, streams=[2, 7]).means(streams, 1, rng)

seen = np.full((streams.p, 60), np.nan)
state = method.start(1, None, rng)
for t in range(60):
    chosen = method.choose(state, rng)
    state = method.observe(state, chosen, values[:, t][:, chosen[0]], rng)
    seen[chosen[0], t] = values[0, t, chosen[0]]

figure, panels = plt.subplots(1, 2, sharey=True, figsize=(7.4, 3.2))
titles = ("all p = 12 streams", "what m = 3 sensors saw")
for axes, shown, title in zip(panels, (values[0].T, seen), titles, strict=True):
    picture = axes.imshow(shown, aspect="auto", cmap="RdBu_r", vmin=-4, vmax=4)
    axes.axvline(29.5, color="black", linestyle="--", linewidth=1)
    axes.set(title=title, xlabel="step (change after 30)")
    axes.set_facecolor("0.92")
panels[0].set_yticks(range(streams.p), streams.names, fontsize=8)
figure.colorbar(picture, ax=panels, label="value, in standard deviations")
