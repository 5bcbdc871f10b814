"""What each job is given: its share of the settings. A file each, so that a change of one
re-runs no other."""
