"""Results that say what a test wants them to say, for the judges of claims."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from causaldq.pipeline.config import Config
from causaldq.pipeline.evaluation.aggregate import COLUMNS
from causaldq.pipeline.evaluation.training import summarise
from causaldq.pipeline.loading import load_config
from causaldq.pipeline.report.claims import (
    judge,
    read_claims,
)
from causaldq.pipeline.report.judges import JUDGES
from causaldq.pipeline.report.judges.evidence import (
    Judgement,
)
from causaldq.pipeline.report.tidy import Tidy

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "data/reference"
PUBLISHED = pd.read_csv(REFERENCE / "published.csv")
CLAIMS = read_claims(REFERENCE / "claims.yaml")
BY_ID = {claim["id"]: claim for claim in CLAIMS}

Row = dict[str, Any]
Plant = Callable[..., Tidy]


def settings(**changed: Any) -> Config:
    """A config with a scenario for each of the paper's cells that the tests plant."""

    def scenario(table: str, source: str, m: int, k: int, **more: Any) -> dict[str, Any]:
        made = {"table": table, "source": source, "m": m, "k": k, "deltas": [0.25, 0.5, 1.0]}
        return made | {"hyperparameters": "p10"} | more

    given = {
        "profile": "planted",
        "methods": ["causal_dq", "greedy"],
        "sources": {f"sim_p{p}": {"p": p} for p in (10, 50, 100)},
        "scenarios": {
            "p10": scenario("noise_free", "sim_p10", 6, 5),
            "p50": scenario("noise_free", "sim_p50", 12, 10),
            "p100": scenario("noise_free", "sim_p100", 22, 20),
            "flowing": scenario("sensitivity", "sim_p10", 6, 5, propagate=True),
        },
        "report": {"title": "planted", "note": ""},
    }
    return load_config(ROOT / "config", given | changed)


def planted(folder: Path, add: list[Row] | None = None, **files: pd.DataFrame) -> Tidy:
    """Tidy results with these rows of delays and these files."""
    frames = {"add": pd.DataFrame(add or [], columns=COLUMNS), "published": PUBLISHED, **files}
    for name, frame in frames.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return Tidy(settings(), [folder / f"{name}.csv" for name in frames])


def cell(
    delays: dict[str, float],
    best: set[str],
    *,
    protocol: str = "paper",
    table: str = "noise_free",
    setting: str = "case_a",
    scenario: str = "p10",
    size: tuple[int, int, int] = (10, 6, 5),
    delta: float = 0.5,
    sigma: float = 0.0,
    delta_train: float = 1.0,
    se: float = 0.1,
    **more: Any,
) -> list[Row]:
    """Rows of one cell: mean delays by method, and who is among the best."""
    return [
        {
            **dict(zip(("p", "m", "k"), size, strict=True)),
            **{"table": table, "setting": setting, "scenario": scenario, "protocol": protocol},
            **{"delta": delta, "sigma": sigma, "delta_train": delta_train, "method": method},
            **{"add": value, "se": se, "ci_low": value - 2 * se, "ci_high": value + 2 * se},
            **{"n_rep": 100, "n_seeds": 2, "freedom": 99.0, "censored": 0.0, "false_alarm": 0.2},
            **{"arl0": 200.0},
            **{"arl0_low": 180.0, "arl0_high": 220.0, "among_best": int(method in best)},
            **more,
        }
        for method, value in delays.items()
    ]


def outcomes(judgement: Judgement) -> list[tuple[str, str]]:
    return [(p.protocol, p.outcome) for p in judgement.pieces if p.outcome != "missing"]


def shortest(tidy: Tidy, **more: Any) -> Judgement:
    return JUDGES["shortest"](tidy, tables=["noise_free"], **more)


FIRST = {"causal_dq": 10.0, "tssrp": 12.0, "greedy": 13.0, "oracle_set": 5.0}
SECOND = {"causal_dq": 12.0, "tssrp": 10.0, "greedy": 13.0, "oracle_set": 5.0}


def verdicts(tidy: Tidy, name: str, **parameters: Any) -> pd.Series:
    claim = {"id": "one", "place": "here", "part": "delays", "claim": "It is so."}
    table, _ = judge([claim | {"judge": name, "with": parameters}], tidy)
    return table.iloc[0]


def curves(ends: dict[str, list[tuple[float, int]]], scenario: str) -> Iterator[pd.DataFrame]:
    """Training logs: for each seed of a method where it ends, and from which epoch on."""
    epochs = np.arange(1, 41)
    for method, seeds in ends.items():
        for seed, (end, rise) in enumerate(seeds):
            reward = np.where(epochs < rise, 0.0, end)
            known = {"epoch": epochs, "paper_reward": reward, "hit_share": 0.5}
            names = {"scenario": scenario, "protocol": "paper", "method": method}
            yield pd.DataFrame(known).assign(
                frozen_hit_share=0.5, training_seed=f"s{seed}", **names
            )


def training(**by_scenario: dict[str, list[tuple[float, int]]]) -> pd.DataFrame:
    logs = [log for name, ends in by_scenario.items() for log in curves(ends, name)]
    return summarise(pd.concat(logs, ignore_index=True), 0.95)


EARLY, LATE = [(100.0, 8), (101.0, 9), (99.0, 8)], [(50.0, 28), (51.0, 29), (50.0, 30)]
