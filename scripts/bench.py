"""Measure speed as ratios within one run, and write them to a JSON file."""

from pathlib import Path

from causaldq import command
from causaldq.loading import load_config


def work(arguments):
    import numpy as np

    from causaldq.bench import training_speed
    from causaldq.files import write_json
    from causaldq.plan import Plan
    from causaldq.seeds import generator
    from causaldq.streams.simulation import simulate

    overrides = {"profile": "paper", "training_seeds": 1}
    plan = Plan(load_config(Path("config"), overrides))
    settings = plan.train_job("p50.paper.causal_dq.s0")
    model = simulate(plan.config.sources["sim_p50"], generator(0, "bench"))
    measured = training_speed(model, np.eye(model.p), settings, arguments.repeats)
    write_json(arguments.output, {"p": model.p, "training": measured})
    targets = {"training_over_updates": "at most 1.5", "updates_over_stable_baselines3": ""}
    print("| p = 50, one thread | median | least | most | target |\n|---|---:|---:|---:|---|")
    for name, values in measured.items():
        row = f"{np.median(values):.2f} | {min(values):.2f} | {max(values):.2f}"
        print(f"| {name.replace('_', ' ')} | {row} | {targets.get(name, '')} |")


if __name__ == "__main__":
    parser = command.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each measurement")
    parser.add_argument("--output", type=Path, required=True, help="ratios, .json")
    command.run(parser, work)
