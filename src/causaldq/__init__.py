"""Causal DQ: watching p streams with m sensors, and raising the alarm early."""

__version__ = "0.1.0"
