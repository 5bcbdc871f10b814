"""Causal DQ: watch p streams with m sensors, and raise the alarm as early as the data allow.

Examples
--------
A plant of eight streams, of which three can be read at a time; its reactor runs hot from row
800 on:

>>> import causaldq
>>> rows = causaldq.example_plant()
>>> monitor = causaldq.Monitor.fit(rows[:700], sensors=3, arl0=500)
>>> for minute, row in rows[700:].iterrows():
...     reading = monitor.update(row[monitor.next], time=minute)
...     if reading.alarm:
...         print(minute, max(reading.contributions, key=reading.contributions.get))
...         break
814 reactor_temperature
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from causaldq import methods
    from causaldq.comparison import calibrate, evaluate
    from causaldq.contract import check_method
    from causaldq.covariance import BlockCovariance, FactorCovariance
    from causaldq.errors import CausalDQError
    from causaldq.example import example_plant
    from causaldq.fleet import Fleet, FleetReading
    from causaldq.limits import Limit
    from causaldq.live.session import Session
    from causaldq.live.settings import WatchSettings
    from causaldq.many_streams import LargeMonitor
    from causaldq.methods.base import Method, Problem, State, Truth
    from causaldq.methods.registry import method_names
    from causaldq.models.graph_covariance import GraphCovariance
    from causaldq.models.streams import StreamModel
    from causaldq.monitor import Monitor
    from causaldq.reading import NamedCause, Reading
    from causaldq.sensors import SensorRules
    from causaldq.worlds.public import Shift, simulate

__version__ = "0.2.0"

_HOMES = {
    "BlockCovariance": "causaldq.covariance",
    "CausalDQError": "causaldq.errors",
    "FactorCovariance": "causaldq.covariance",
    "Fleet": "causaldq.fleet",
    "FleetReading": "causaldq.fleet",
    "GraphCovariance": "causaldq.models.graph_covariance",
    "LargeMonitor": "causaldq.many_streams",
    "Limit": "causaldq.limits",
    "Method": "causaldq.methods.base",
    "Monitor": "causaldq.monitor",
    "NamedCause": "causaldq.reading",
    "Problem": "causaldq.methods.base",
    "Reading": "causaldq.reading",
    "SensorRules": "causaldq.sensors",
    "Session": "causaldq.live.session",
    "Shift": "causaldq.worlds.public",
    "State": "causaldq.methods.base",
    "StreamModel": "causaldq.models.streams",
    "Truth": "causaldq.methods.base",
    "WatchSettings": "causaldq.live.settings",
    "calibrate": "causaldq.comparison",
    "check_method": "causaldq.contract",
    "evaluate": "causaldq.comparison",
    "example_plant": "causaldq.example",
    "method_names": "causaldq.methods.registry",
    "methods": "",
    "simulate": "causaldq.worlds.public",
}
"""Where each public name lives; loaded when asked for, so that importing the package is quick."""

__all__ = [  # noqa: RUF022 - in the order of use
    "Monitor", "Reading", "NamedCause", "SensorRules", "Session", "WatchSettings", "simulate",
    "Shift", "StreamModel", "calibrate", "Limit", "evaluate", "check_method", "methods",
    "method_names", "Method", "Problem", "State", "Truth", "FactorCovariance", "BlockCovariance",
    "GraphCovariance", "LargeMonitor", "Fleet", "FleetReading", "example_plant", "CausalDQError",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'causaldq' has no attribute {name!r}")
    home = _HOMES[name]
    found = getattr(import_module(home), name) if home else import_module(f"causaldq.{name}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
