"""What can go wrong. Every message names the place, the value and the remedy."""


class CausalDQError(Exception):
    """Base of all errors a user can cause; shown as one line, without a traceback.

    Examples
    --------
    >>> from causaldq import CausalDQError, Monitor
    >>> try:
    ...     Monitor.load("no.monitor")
    ... except CausalDQError as error:
    ...     print(type(error).__name__)
    DataError
    """


class ConfigError(CausalDQError):
    """A setting is missing, misspelt, out of range or at odds with another."""


class DataError(CausalDQError):
    """A data file cannot be read, or its content cannot be used."""


class DiscoveryError(CausalDQError):
    """Causal discovery cannot run on these streams."""


class CheckpointError(CausalDQError):
    """A checkpoint is damaged, or belongs to other settings."""


class FallsShort(UserWarning):
    """A monitor raises false alarms more than twice as often as was asked for."""
