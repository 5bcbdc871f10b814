"""Delays of a run."""

from pathlib import Path

import numpy as np
import pandas as pd

from causaldq.files import read_json, write_csv
from causaldq.jobs.method import build_method
from causaldq.jobs.settings import Cell, EvaluateJob
from causaldq.methods.base import Truth
from causaldq.monitor import delays
from causaldq.seeds import generator
from causaldq.shifts import InjectedSet
from causaldq.streams.model import StreamModel


def run_evaluate(
    job: EvaluateJob,
    streams: Path,
    injected: Path,
    limits: Path,
    checkpoints: dict[str, Path],
    output: Path,
) -> None:
    """Measure the delay of every replication in every cell, under both protocols."""
    model = StreamModel.load(streams)
    sets = InjectedSet.load(injected)
    known = read_json(limits)
    rows: list[pd.DataFrame] = []
    for protocol in job.protocols:
        method = build_method(job, protocol, model, checkpoints)
        by_limit: dict[str, list[Cell]] = {}
        for cell in job.cells:
            key = cell.key if cell.key in known[protocol] else "*"
            by_limit.setdefault(key, []).append(cell)
        for key, cells in by_limit.items():
            means = [sets.mean(protocol, c.case, c.delta, c.sigma) for c in cells]
            truths = [Truth(sets.shifted[protocol], mean) for mean in means]
            outcomes = delays(
                method,
                sets.paths,
                sets.change,
                means,
                list(truths) if method.is_bound else [None] * len(means),
                known[protocol][key]["limit"],
                generator(job.seed, job.scenario, job.method, protocol, "evaluation"),
            )
            rows += [
                pd.DataFrame(
                    {
                        "protocol": protocol,
                        "setting": cell.case,
                        "sigma": cell.sigma,
                        "delta": cell.delta,
                        "replication": np.arange(len(outcome.delay)),
                        "delay": outcome.delay,
                        "censored": outcome.censored.astype(int),
                        "false_alarm": outcome.false_alarm.astype(int),
                    }
                )
                for cell, outcome in zip(cells, outcomes, strict=True)
            ]
    write_csv(output, pd.concat(rows, ignore_index=True))
