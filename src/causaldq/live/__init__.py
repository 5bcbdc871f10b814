"""A monitor in a plant, for a year: rows and commands come in, records and alarms go out."""
