"""
Delay against false alarms
==========================

Rarer false alarms cost delay. A method is a curve, not a number: compare two only at the same
run length without a change.
"""

import matplotlib.pyplot as plt
import pandas as pd

import causaldq

streams = causaldq.simulate(15, degree=3)
shift = causaldq.Shift(1.0, streams=3)
names = ["bayes_posterior", "tssrp", "random"]

tables = []
for arl0 in (20, 40, 80, 160):
    table = causaldq.evaluate(
        names, streams, 4, [shift], arl0=arl0, replications=100, paths=100, before=20
    )
    tables.append(table.assign(arl0=arl0))
table = pd.concat(tables)
print(table.pivot(index="method", columns="arl0", values="delay").loc[names].round(1))

# %%
# The horizontal axis is what the limit reached on fresh paths, not what was asked for: limits
# are set by simulation and have an error of their own.

figure, axes = plt.subplots()
for name in names:
    rows = table[table.method == name]
    (line,) = axes.plot(rows.reached, rows.delay, "o-", markersize=4)
    axes.fill_between(
        rows.reached, rows.low, rows.high, color=line.get_color(), alpha=0.15, linewidth=0
    )
    last = rows.iloc[-1]
    axes.text(last.reached * 1.06, last.delay, name, va="center")
axes.set_xscale("log")
axes.set_xticks([20, 40, 80, 160], ["20", "40", "80", "160"])
axes.minorticks_off()
axes.set(
    xlim=(15, 400), ylim=(0, None), xlabel="steps to a false alarm, reached", ylabel="mean delay"
)
axes.set_title("Mean delay against steps to a false alarm, with 95% intervals")
plt.show()
