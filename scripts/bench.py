"""Measure speed as ratios within one run; write them to a JSON file and print a table."""

from pathlib import Path

from causaldq.pipeline import command
from causaldq.pipeline.loading import load_config

PARTS = ("training", "environment", "monitoring", "scale", "discovery", "workflow")


def work(arguments):
    from causaldq.files import read_json, write_json
    from causaldq.pipeline.bench.discovery import discovery_speed
    from causaldq.pipeline.bench.monitoring import cell_cost, decision, root_cause_step, scaling
    from causaldq.pipeline.bench.scale import scale
    from causaldq.pipeline.bench.training import environment_speed, training_overhead, update_speed
    from causaldq.pipeline.bench.workflow import workflow_cost
    from causaldq.pipeline.jobs import train
    from causaldq.pipeline.measure import HEADER
    from causaldq.pipeline.plan import Plan
    from causaldq.seeds import generator
    from causaldq.worlds.simulation import simulate

    rounds, overrides = arguments.rounds, {"profile": "paper", "training_seeds": 1}
    plan = Plan(load_config(Path("config"), overrides))
    models = {
        p: simulate(plan.config.sources[f"sim_p{p}"], generator(0, "bench", p))
        for p in (10, 50, 100)
    }
    jobs = {p: train.settings(plan, f"p{p}.causal_dq.s0", ["paper"]).networks[0] for p in models}
    few = max(1, rounds // 3)
    measured = {
        "training": lambda: [
            *(row for p in models for row in update_speed(models[p], jobs[p], rounds)),
            *training_overhead(models[50], jobs[50], few),
        ],
        "environment": lambda: environment_speed(models[50], jobs[50], rounds),
        "monitoring": lambda: [
            *cell_cost(plan.config, models[50], jobs[50], few),
            *scaling(plan.config, jobs[50]),
            *root_cause_step(plan.config),
            *decision(plan.config, jobs[50]),
        ],
        "scale": lambda: scale(rounds),
        "discovery": lambda: discovery_speed(
            plan.config.sources["sim_p50"], plan.config.discovery, few
        ),
        "workflow": lambda: workflow_cost(Path(".snakemake/metadata"), few),
    }
    kept = arguments.only and arguments.output.exists()
    results = read_json(arguments.output) if kept else {}
    print(HEADER)
    for part in arguments.only or PARTS:
        rows = measured[part]()
        results[part] = [row.record() for row in rows]
        print("\n".join(row.row() for row in rows), flush=True)
    write_json(arguments.output, results)


if __name__ == "__main__":
    parser = command.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="runs of a short measurement")
    parser.add_argument(
        "--only", nargs="*", choices=PARTS, help="parts to measure, beside those that the file has"
    )
    parser.add_argument("--output", type=Path, required=True, help="measurements, .json")
    command.run(parser, work)
