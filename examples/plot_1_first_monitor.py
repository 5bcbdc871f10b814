"""
A first monitor
===============

A made-up plant has eight streams, of which three can be read at a time. We fit a monitor to
rows of normal operation, then feed it row by row what it asks for.
"""

import matplotlib.pyplot as plt

from causaldq import Monitor, example_plant

rows = example_plant()  # one column per stream; the reactor runs hot from minute 800 on
monitor = Monitor.fit(rows[:700], sensors=3, arl0=200)
print(monitor.summary())

# %%
# The second line is the promise: false alarms as rare as asked for, measured on rows that the
# fit had not seen. With 700 rows its interval is wide.
#
# Now the plant runs. At each step the monitor says which sensors to read next, takes their
# values, and compares its statistic with the limit.

readings = []
for minute, row in rows[700:].iterrows():
    readings.append(monitor.update(row[monitor.next], time=minute))
    if readings[-1].alarm:
        break

alarm = readings[-1]
print(f"alarm at minute {alarm.time}, {alarm.time - 800 + 1} readings after the fault")
for stream, probability in alarm.contributions.items():
    print(f"{probability:5.0%}  {stream}")

# %%
# The contributions of `bayes_posterior`, the default method, are probabilities that a stream
# has shifted.

minutes = [reading.time for reading in readings]
figure, axes = plt.subplots()
axes.plot(minutes, [reading.statistic for reading in readings], label="statistic")
axes.axhline(alarm.limit, color="black", linestyle="--", linewidth=1)
axes.text(701, alarm.limit, "alarm limit", va="bottom")
axes.axvspan(800, minutes[-1], color="C1", alpha=0.2, linewidth=0, label="fault")
axes.plot(alarm.time, alarm.statistic, "o", color="C1")
axes.set(xlabel="minute", ylabel="statistic", title="Statistic and alarm limit up to the alarm")
axes.legend(loc="upper left", bbox_to_anchor=(0, 0.9))
plt.show()
