"""A small run with its records: delays by hand, gathered and shown by the pipeline's own code."""

import json
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from causaldq.files import write_csv, write_json, write_text
from causaldq.pipeline import code
from causaldq.pipeline.config import Config
from causaldq.pipeline.evaluation.aggregate import aggregate, aggregate_events, gather
from causaldq.pipeline.lineage.dry_run import PlannedJob
from causaldq.pipeline.lineage.manifest import write_manifest
from causaldq.pipeline.lineage.records import (
    CodeFacts,
    Record,
    RecordStore,
    Resources,
    facts,
    seed_of,
    write_record,
)
from causaldq.pipeline.lineage.verify import Verdict, verify
from causaldq.pipeline.loading import load_config
from causaldq.pipeline.plan import Plan
from causaldq.pipeline.report.catalogue import catalogue
from causaldq.pipeline.report.tidy import Tidy

STREAMS, FACTS = "artifacts/ci/streams/sim_p10.npz", "artifacts/ci/streams/sim_p10.json"
RUN, LIMITS = "artifacts/ci/runs/{}.csv", "artifacts/ci/limits/{}.json"
GREEDY, RANDOM = RUN.format("p10.greedy"), RUN.format("p10.random")
ADD, EVENTS = "results/ci/add.csv", "results/ci/events.csv"
TEX, TWIN = "results/ci/tables/noise_free_p10.tex", "results/ci/tables/noise_free_p10.csv"
FIGURE = "results/ci/figures/delay_p10.png"
GIVEN = "data/reference/published.csv"
STARTED, ENDED = "2025-01-01T00:00:00.000+00:00", "2025-01-01T00:00:02.500+00:00"
TOLD = "greedy, paper, case_a, delta=0.5"
"""A cell of the table: delays 10.5, 11.5, 12.5, and one that a false alarm ended."""


def small_config(seed: int = 1) -> Config:
    """Two scenarios that differ in the number of sensors, and two methods."""
    config = load_config(Path(__file__).parents[2] / "config", {"profile": "ci", "only": ["p10"]})
    p10 = config.scenarios["p10"].model_copy(update={"training_study": None, "also": []})
    none = dict.fromkeys(("theory", "cross", "propagation"))
    return config.model_copy(
        update={
            "seed": seed,
            "methods": ["greedy", "random"],
            "scenarios": {"p10": p10, "few": p10.model_copy(update={"m": 3})},
            "report": config.report.model_copy(update={"showcase": None}),
            **none,
        }
    )


def record_of(
    root: Path,
    rule: str,
    job: str,
    inputs: Iterable[str],
    outputs: Sequence[str],
    settings: Any = None,
    **more: Any,
) -> Record:
    """A record of files as they are."""
    script = f"scripts/{rule}.py"
    (root / script).parent.mkdir(exist_ok=True)
    (root / script).touch()
    settings = {"seed": 1} if settings is None else settings
    words = ["python", script, "--settings", json.dumps(settings)]
    words += ["--in", *inputs, "--out", *outputs, "--log", f"logs/ci/{job}.log"]
    made = Record(
        job=job,
        rule=rule,
        script=script,
        command=shlex.join(words),
        settings=settings,
        seed=seed_of(settings),
        inputs={name: facts(root / name) for name in inputs},
        outputs={name: facts(root / name) for name in outputs},
        code=CodeFacts(
            commit="c" * 40, dirty=False, hash=code.job_hash(root / script, settings), lock=None
        ),
        started=STARTED,
        ended=ENDED,
        status=0,
        resources=Resources(cpu_seconds=1.0, peak_memory_bytes=1),
        host={"cpu": "a cpu", "threads": 1, "python": "3", "numpy": "2", "torch": "2"},
    )
    return made.model_copy(update=more)


def delays_of(shift: float) -> pd.DataFrame:
    """Runs of one method: protocols, cases and deltas, four replications, one false alarm."""
    rows = [
        {
            **{"protocol": protocol, "setting": setting, "sigma": 0.0, "delta": delta},
            **{"replication": r, "delay": shift + r + delta, "censored": 0},
            **{"false_alarm": int(r == 3), "event": None, "in_control_steps": None},
        }
        for protocol in ("paper", "fair")
        for setting in ("case_a", "case_b")
        for delta in (0.5, 2.0)
        for r in range(4)
    ]
    return pd.DataFrame(rows)


def published() -> pd.DataFrame:
    """One number in print, beside the cell that is told of."""
    row = {"metric": "add", "table": "noise_free", "setting": "case_a", "p": 10, "m": 6, "k": 5}
    row |= {"sigma": None, "delta": 0.5, "delta_train": 1.0, "method": "greedy", "value": 14.2}
    return pd.DataFrame([row | {"se": 0.7}])


def make_run(root: Path, shift: float = 10.0, seed: int = 1) -> Path:
    """Streams, limits, runs, the tidy table, a table and a figure, with their records."""
    config = small_config(seed)
    plan = Plan(config)
    settings = config.model_dump(mode="json")
    for name in (STREAMS, FIGURE):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / STREAMS).write_bytes(b"streams of seed %d" % seed)
    write_json(root / FACTS, {"p": 10, "label": "simulation"})
    write_csv(root / GIVEN, published())
    part = {"seed": seed}
    records = [record_of(root, "simulate", "simulate/sim_p10", [], [STREAMS, FACTS], part)]
    for name in plan.limits:
        limit = {"limit": 5.0, "arl0": 50.0, "low": 40.0, "high": 60.0}
        write_json(root / LIMITS.format(name), {p: {"*": limit} for p in config.protocols})
        outputs = [LIMITS.format(name)]
        records.append(record_of(root, "calibrate", f"calibrate/{name}", [STREAMS], outputs, part))
    for i, (name, run) in enumerate(plan.runs.items()):
        write_csv(root / RUN.format(name), delays_of(shift + i))
        inputs = [STREAMS, LIMITS.format(plan.limits_of(run))]
        outputs = [RUN.format(name)]
        records.append(record_of(root, "evaluate", f"evaluate/{name}", inputs, outputs, part))
    records += [record_of(root, "aggregate", "aggregate", *gathered(root, config), settings)]
    show(root, config)
    (root / FIGURE).write_bytes(b"a figure")
    records += [
        record_of(root, "tables", "tables", [ADD], [TEX, TWIN], settings),
        record_of(root, "figures", "figures", [ADD], [FIGURE], settings),
    ]
    for record in records:
        write_record(root, "ci", record)
    write_manifest(root, "ci")
    return root


def gathered(root: Path, config: Config) -> tuple[list[str], list[str]]:
    """Write the tidy tables; what they were made from, and their names."""
    plan = Plan(config)
    runs = {name: RUN.format(name) for name in plan.runs}
    limits = {name: LIMITS.format(name) for name in plan.limits}
    found = gather(
        config,
        {name: root / path for name, path in runs.items()},
        {name: root / path for name, path in limits.items()},
        {"sim_p10": root / FACTS},
    )
    found.files.update({name: Path(path) for name, path in runs.items()})
    write_csv(root / ADD, aggregate(found, pd.read_csv(root / GIVEN)))
    write_csv(root / EVENTS, aggregate_events(found))
    return [*runs.values(), *limits.values(), FACTS, GIVEN], [ADD, EVENTS]


def show(root: Path, config: Config) -> None:
    """Write the table and its tidy twin."""
    tidy = Tidy(config, [root / ADD])
    table = next(t for t in catalogue(config).tables if t.name == "noise_free_p10")
    write_text(root / TEX, table.latex(tidy))
    write_csv(root / TWIN, table.twin(tidy))


def edit(root: Path, name: str, old: str, new: str) -> None:
    """Change the first such text of a file."""
    text = (root / name).read_text()
    assert old in text, f"{old!r} is not in {name}"
    (root / name).write_text(text.replace(old, new, 1))


def forge_records(root: Path) -> None:
    """Make every record and the manifest fit the files as they are now."""
    for record in RecordStore(root, "ci").records:
        update = {
            side: {name: facts(root / name) for name in getattr(record, side)}
            for side in ("inputs", "outputs")
        }
        write_record(root, "ci", record.model_copy(update=update))
    write_manifest(root, "ci")


def change_record(root: Path, name: str, /, **changed: Any) -> None:
    """Let a record say something else, whatever it is."""
    place = root / f"results/ci/records/{name}.json"
    write_json(place, json.loads(place.read_text()) | changed)


def plan_of(root: Path) -> list[PlannedJob]:
    """What was run is what is asked for."""
    records = RecordStore(root, "ci").records
    return [PlannedJob(r.rule, list(r.outputs), r.command) for r in records]


def check(root: Path, jobs: list[PlannedJob], within: str | None = None) -> Verdict:
    place = Path(within) if within else None
    return verify(root, "ci", within=place, plan=lambda *_: jobs)


def found(root: Path, jobs: list[PlannedJob], within: str | None = None) -> set[tuple[str, str]]:
    return {(f.kind, f.file) for f in check(root, jobs, within).findings}
