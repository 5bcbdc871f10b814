"""Plants' files: what is in them, what is odd about it, and the rows that can be used."""
