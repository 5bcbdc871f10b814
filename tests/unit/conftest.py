"""Shared by the unit tests: one thread, fixed examples, and small things to test on."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings
from made import DEFAULTS
from planted_claims import Plant, planted

from causaldq.learn.settings import TrainingSettings
from causaldq.models.streams import StreamModel
from causaldq.pipeline.loading import merge

# The same examples in every run: a statistical statement then holds or fails for good.
settings.register_profile("fixed", derandomize=True, deadline=None, database=None, max_examples=40)
settings.load_profile("fixed")


@pytest.fixture(scope="session")
def training_settings() -> Callable[..., TrainingSettings]:
    """Makes settings of a small training run; keywords override any of them, nested."""

    def make(**changed: Any) -> TrainingSettings:
        base = {
            "seed": 7,
            "network": "a_network",
            "m": 2,
            "method": DEFAULTS["learned"]["causal_dq"],
            "agent": DEFAULTS["agent"]
            | {
                "hidden": [12],
                "replay": 150,
                "warmup": 40,
                "target_every": 15,
                "unobserved_cap": 20,
                "episodes": 2,
                "episode_steps": 20,
                "latest_change": 10,
                "epochs": 6,
                "frozen_check_every": 3,
                "save_every": 2,
            },
            "hyperparameters": DEFAULTS["hyperparameters"]["p10"] | {"batch": 8},
            "statistic": DEFAULTS["statistic"],
            "plan": {
                "protocol": "fair",
                "places": "first",
                "seed": 7,
                "k": 2,
                "cases": ["case_a", "case_b"],
                "delta": 1.0,
                "sigmas": [0.0, 0.3],
                "propagate": False,
                "latest_change": 10,
            },
        }
        return TrainingSettings.model_validate(merge(base, changed))

    return make


@pytest.fixture(scope="session")
def chain_model() -> Callable[[int], StreamModel]:
    """Makes p streams, each caused by the one before it with effect .6; variances are one."""

    def make(p: int) -> StreamModel:
        place = np.arange(p)
        covariance = 0.6 ** np.abs(place[:, None] - place)
        rows = np.random.default_rng(p).standard_normal((60, p)) @ np.linalg.cholesky(covariance).T
        return StreamModel(
            names=tuple(f"x{i + 1}" for i in range(p)),
            rows=rows,
            covariance=covariance,
            effects=0.6 * np.eye(p, k=1),
        )

    return make


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    """Makes tidy results from planted rows, for the judges of claims."""
    return partial(planted, tmp_path)
