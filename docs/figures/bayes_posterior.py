"""One run of the filter: the probability that each stream has shifted, and the statistic."""

import matplotlib.pyplot as plt
import numpy as np

import causaldq

streams = causaldq.simulate(12, degree=0)
method = causaldq.methods.BayesPosterior(causaldq.Problem(streams.covariance, m=3))
limit = causaldq.calibrate("bayes_posterior", streams, 3, arl0=200, paths=100).value
rng = np.random.default_rng(0)
values = streams.in_control(1, 60, rng)
values[:, 30:] += causaldq.Shift(1.0, streams=[2, 7]).means(streams, 1, rng)

state = method.start(1, None, rng)
posterior, statistic = np.zeros((streams.p, 60)), np.zeros(60)
for t in range(60):
    chosen = method.choose(state, rng)
    state = method.observe(state, chosen, values[:, t][:, chosen[0]], rng)
    posterior[:, t] = method.posterior(state)[0]
    statistic[t] = method.statistic(state)[0]

figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(7.2, 4.4), height_ratios=(2.2, 1))
picture = above.imshow(posterior, aspect="auto", cmap="Blues", vmin=0, vmax=1)
above.set_yticks(range(streams.p), streams.names, fontsize=8)
for place in (2, 7):
    above.get_yticklabels()[place].set(fontweight="bold")
above.set_title("Probability that a stream has shifted, given a change (shifted ones in bold)")
figure.colorbar(picture, ax=above)
below.plot(statistic)
below.axhline(limit, color="black", linestyle="--", linewidth=1)
below.text(0, limit, "limit", va="bottom")
below.set(xlabel="step", ylabel="statistic")
for axes in (above, below):
    axes.axvline(29.5, color="black", linestyle=":", linewidth=1)
