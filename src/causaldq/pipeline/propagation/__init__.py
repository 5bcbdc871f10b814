"""Shifts that flow from causes to effects: who finds them first, and who names the cause."""
