"""Real data: where it comes from, how it is checked, and how it becomes streams."""
