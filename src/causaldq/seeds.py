"""Random numbers: one generator for each named purpose, all from the config's one seed."""

import hashlib

import numpy as np


def generator(seed: int, *purpose: str | int) -> np.random.Generator:
    """A generator for `purpose`, independent of every other purpose of the same seed.

    The purpose enters by name, so that adding a cell never moves the numbers of another.
    """
    name = "/".join(str(part) for part in purpose)
    digest = hashlib.sha256(name.encode()).digest()
    words = np.frombuffer(digest, dtype=np.uint32)
    return np.random.default_rng(np.random.SeedSequence([seed, *(int(w) for w in words)]))
