"""Methods: what chooses the sensors and what raises the alarm. One file each.

A method's class is an attribute of this package: `methods.BayesPosterior` is the class of
`bayes_posterior.py`.

Examples
--------
>>> import numpy as np
>>> from causaldq import Problem, methods
>>> filter = methods.BayesPosterior(Problem(np.eye(5), 2))
>>> filter.problem.p
5
"""

import re
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def __getattr__(name: str) -> Any:
    place = f"{__name__}.{re.sub('(?<!^)(?=[A-Z])', '_', name).lower()}"
    if not name[:1].isupper() or find_spec(place) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(place), name)
