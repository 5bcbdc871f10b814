"""The paper's section 5, checked by machine on problems small enough to solve exactly."""
