"""The run length that a limit gives, without a change and after one."""

import matplotlib.pyplot as plt
import numpy as np

import causaldq
from causaldq.calibration import average_run_length, limit_for, run_lengths
from causaldq.run import statistics

streams = causaldq.simulate(10, degree=3)
method = causaldq.methods.Greedy(causaldq.Problem(streams.covariance, m=3))
rng = np.random.default_rng(0)
normal = streams.in_control(200, 600, rng)
shifted = streams.in_control(200, 200, rng)
shifted += causaldq.Shift(1.0, streams=3).means(streams, 200, rng)[:, None]
before = statistics(method, normal, None, rng)
after = statistics(method, shifted, None, rng)

limits = np.linspace(6, 16, 60)
figure, axes = plt.subplots(figsize=(6.4, 3.2))
for seen, name in ((before, "in control"), (after, "shifted")):
    lengths = [average_run_length(*run_lengths(seen, limit)) for limit in limits]
    axes.plot(limits, lengths)
    axes.text(limits[-1], lengths[-1], f" {name}", va="center")
wanted = 200
limit = limit_for(before, wanted)
axes.plot(
    [limits[0], limit, limit], [wanted, wanted, 1], color="black", linestyle="--", linewidth=1
)
axes.text(limits[0], wanted, "asked for: 200", va="bottom")
axes.text(limit, 1.2, f" limit {limit:.1f}")
axes.set(yscale="log", xlim=(6, 18), ylim=(1, 1000), xlabel="alarm limit", ylabel="mean run length")
