"""No published number is left without a measured one in silence."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from causaldq.errors import DataError
from causaldq.pipeline.evaluation.graphs import COLUMNS
from causaldq.pipeline.jobs import claims
from causaldq.pipeline.loading import load_config
from causaldq.pipeline.report.gaps import gaps, promised

ROOT = Path(__file__).parents[2]
PUBLISHED = pd.read_csv(ROOT / "data/reference/published.csv")
PROTOCOLS = ["paper", "fair"]


def complete() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tidy tables that have a number beside every published one."""
    printed = PUBLISHED[PUBLISHED["value"].notna()]
    delays = printed[printed["metric"] == "add"].assign(add=1.0, false_alarm=0.0)
    # Ours always say all: the paper leaves the noise empty, and k and the shift of flares open.
    delays = delays.fillna({"sigma": 0.0, "k": 6, "delta": 1.0, "delta_train": 1.0})
    add = pd.concat([delays.assign(protocol=name) for name in PROTOCOLS], ignore_index=True)
    keys = ["table", "setting", "p", "m", "k", "sigma", "method"]
    graphs = (
        printed[printed["metric"] != "add"]
        .pivot_table(index=keys, columns="metric", values="value")
        .reset_index()
    )
    return add, graphs.reindex(columns=COLUMNS)


def test_the_paper_profile_promises_every_published_number() -> None:
    config = load_config(ROOT / "config", {"profile": "paper"})
    left = PUBLISHED.drop(promised(config, PUBLISHED).index)
    assert left[left["value"].notna()].to_dict("records") == []


def test_a_profile_with_fewer_scenarios_promises_less() -> None:
    config = load_config(ROOT / "config", {"profile": "paper", "only": ["tep_m5"]})
    tep = promised(config, PUBLISHED)
    assert set(tep["table"]) == {"tep"}
    assert set(tep["m"]) == {5}
    # five methods at four shifts
    assert len(tep) == 20


def test_nothing_is_missing_from_complete_results() -> None:
    assert gaps(PUBLISHED, *complete(), PROTOCOLS) == []


def test_each_number_taken_away_is_named() -> None:
    add, graphs = complete()
    for place in range(0, len(add), 37):
        row = add.iloc[place]
        (named,) = gaps(PUBLISHED, add.drop(place), graphs, PROTOCOLS)
        assert named.startswith(f"{row['table']} {row['setting']} {row['method']} m={row['m']}")
        assert named.endswith(f"({row['protocol']} protocol)")
    add.loc[0, "add"] = np.nan
    assert len(gaps(PUBLISHED, add, graphs, PROTOCOLS)) == 1
    # No delay, since every run alarmed before the change: that was measured.
    add.loc[0, "false_alarm"] = 1.0
    assert gaps(PUBLISHED, add, graphs, PROTOCOLS) == []
    graphs.loc[graphs["setting"] == "low", "mfdr"] = np.nan
    expected = "graph_quality low causal_dq m=12 sigma=0.1 delta=1 delta_train=1 mfdr"
    assert gaps(PUBLISHED, add, graphs, PROTOCOLS) == [expected]


def test_claims_are_not_judged_on_results_with_gaps(tmp_path: Path) -> None:
    config = load_config(ROOT / "config", {"profile": "ci", "only": ["p10"]})
    add, graphs = complete()
    add.drop(index=add.index[add["delta"] == 2.0]).to_csv(tmp_path / "add.csv")
    graphs.to_csv(tmp_path / "graphs.csv")
    outputs = {name: tmp_path / name for name in ("output", "cells", "compared")}
    reference = ROOT / "data/reference"
    tidy = [tmp_path / "add.csv", tmp_path / "graphs.csv", reference / "published.csv"]
    with pytest.raises(DataError, match=r"noise_free case_a causal_dq m=6 delta=2 .*add \(fair"):
        claims.run(
            config,
            tidy=tidy,
            claims=reference / "claims.yaml",
            comparison=reference / "comparison.yaml",
            **outputs,
        )
    assert not outputs["output"].exists()
