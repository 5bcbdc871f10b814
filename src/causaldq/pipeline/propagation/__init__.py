"""Shifts that propagate downstream: who finds them first, and identifies the root cause."""
