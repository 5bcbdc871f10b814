"""What a monitor says of one row."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class NamedCause:
    """A suspected root cause, in the plant's words.

    Parameters
    ----------
    stream : str
    probability : float
        Given that there was a change.
    shift : float
        Its own shift, in standard deviations.
    paths : list of list of str
        How it reaches the streams that were read, if it does.

    Examples
    --------
    >>> NamedCause("pump", 0.9, 1.5, [["pump", "flow"]]).stream
    'pump'
    """

    stream: str
    probability: float
    shift: float
    paths: list[list[str]]


@dataclass(frozen=True)
class Reading:
    """What one row of values says.

    Parameters
    ----------
    step : int
        Rows so far, this one included.
    time : any
        As given with the values.
    alarm : bool
        Whether the statistic exceeds its limit.
    statistic : float
        Minus infinity where nothing has been read since the monitor began or forgot.
    limit : float
        Of the statistic.
    contributions : dict of str to float
        The streams that speak for a change most, largest first.
    causes : list of NamedCause
        At an alarm, if the method weighs root causes: the most likely ones first.
    read : list of str
        Sensors whose values were taken in.
    missing : list of str
        Sensors that were asked for and gave no usable value.
    aside : list of str
        Sensors whose value was so far off that it is believed only if repeated.
    values : dict of str to float
        What the sensors gave, read or put aside, in the plant's units.
    next : list of str
        Sensors to read at the next step.
    fault : str
        Why the monitor had to begin afresh, if its statistic was no number.

    Examples
    --------
    >>> from causaldq import Monitor, example_plant
    >>> rows = example_plant()
    >>> monitor = Monitor.fit(rows[:700], sensors=3, arl0=100, method="greedy")
    >>> reading = monitor.update({monitor.next[0]: rows.loc[700, monitor.next[0]]})
    >>> len(reading.read), len(reading.missing), len(reading.next)
    (1, 2, 3)
    """

    step: int
    time: Any
    alarm: bool
    statistic: float
    limit: float
    contributions: dict[str, float]
    causes: list[NamedCause]
    read: list[str]
    missing: list[str]
    aside: list[str]
    values: dict[str, float]
    next: list[str]
    fault: str = ""
