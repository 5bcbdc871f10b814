"""The stationary law of both forms of the local statistic, against the chi-square law."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import chi2

import causaldq
from causaldq.run import statistics
from causaldq.statistic import StatisticSettings

streams, m = causaldq.simulate(8, degree=3), 3
rng = np.random.default_rng(0)
paths = streams.in_control(2000, 150, rng)
read = np.tile([0, 3, 5], (1, 1))


class SameSensors(causaldq.methods.Greedy):
    """Reads the same three streams throughout."""

    def choose(self, state, rng):
        return np.tile(read, (len(state.contributions), 1))


grid = np.linspace(0, 15, 200)
figure, panels = plt.subplots(1, 2, sharey=True, figsize=(7.2, 2.8))
for axes, form, factor in zip(panels, ("normalised", "raw"), (1.0, 2 - 0.02), strict=True):
    settings = StatisticSettings(form=form)
    method = SameSensors(causaldq.Problem(streams.covariance, m, settings))
    last = statistics(method, paths, None, rng)[:, -1]
    axes.hist(last, bins=40, range=(0, 15), density=True, color="C4", label="measured")
    axes.plot(grid, chi2.pdf(grid, m), color="black", label=r"$\chi^2_3$")
    if factor != 1:
        axes.plot(grid, factor * chi2.pdf(factor * grid, m), "--", color="C1",
                  label=r"$\chi^2_3 / (2 - \lambda)$")  # fmt: skip
    axes.set(title=form, xlabel="statistic in control")
    axes.legend()
