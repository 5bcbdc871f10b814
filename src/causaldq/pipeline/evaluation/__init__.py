"""From methods to numbers: alarm limits, delays, intervals, the tidy table."""
