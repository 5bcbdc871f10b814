"""Worlds to try methods on: simulated streams, shifts injected into them, recorded faults."""
