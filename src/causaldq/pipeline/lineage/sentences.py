"""What a job did, in one sentence for people."""

from collections.abc import Mapping
from typing import Any

from causaldq.pipeline.lineage.records import Record
from causaldq.pipeline.lineage.safe_names import texts
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.sources.catalogue import Credits

OF_RULES = {
    "prepare": "The recorded streams of {name} were scaled, and rows were held out.",
    "discover": "The causal graph of {name} was estimated from in-control rows.",
    "possible_graphs": "Graphs of {name} that the in-control rows leave possible were drawn.",
    "inject": "In-control streams of scenario {name} were drawn, and shifts were added to them.",
    "train_equivariant": "The location-agnostic network {name} was trained on many problems.",
    "calibrate": (
        "Alarm limits of {name} were set on in-control paths, and the run length to a false alarm"
        " was measured on fresh ones."
    ),
    "aggregate": (
        "The delays of all runs were averaged, with standard errors, beside the paper's numbers."
    ),
    "claims": "Each claim of the paper was held against every cell that bears on it, and counted.",
    "overall": "Methods were compared over all shifts of each scenario.",
    "describe": "Sources, streams and graphs were described in tables.",
    "showcase": "Single runs were followed step by step.",
    "theory": "The theorems were checked by numbers.",
    "cross": "Each policy of {name} was run with every alarm statistic.",
    "propagation": "Shifts that spread along a graph were monitored, study {name}.",
    "gather_propagation": "The studies of shifts that spread were gathered.",
    "name_causes": "The root causes that methods name for {name} were written down.",
    "flare_scale": "Surrogate flares were drawn with windows that differ more and more.",
    "faults": ("Every method of {name} watched recorded faults and rows held out, at many limits."),
    "summarise_training": (
        "The logs of all training runs were summarised: where rewards end, and how soon."
    ),
}
"""By rule, where its name is all that has to be said of a job."""


def sentence(record: Record, credits: Mapping[str, Credits]) -> str:
    """What a job did, from its settings; that it ran, where nothing better is known."""
    name = record.job.partition("/")[2]
    settings = record.settings if isinstance(record.settings, dict) else {}
    if record.rule in OF_RULES:
        return OF_RULES[record.rule].format(name=name)
    try:
        if record.rule == "fetch":
            return _fetched(settings, credits)
        if record.rule == "simulate":
            return _simulated(name, settings)
        if record.rule == "train":
            return _trained(name, settings)
        if record.rule == "evaluate":
            return _evaluated(settings)
    except (KeyError, IndexError, TypeError, AttributeError):
        pass
    return f"The job {record.job} of the pipeline ran."


def _fetched(settings: Mapping[str, Any], credits: Mapping[str, Credits]) -> str:
    known = next((text for text in texts(settings) if text in credits), None)
    if known is None:
        return "The data were fetched, and their hashes compared with data/sources.yaml."
    data = credits[known]
    return (
        f"The data are {data.title}; licence: {data.licence}. Their hashes were"
        " compared with those in data/sources.yaml."
    )


def _simulated(name: str, settings: Mapping[str, Any]) -> str:
    streams = settings["simulation"]["p"]
    return (
        f"The streams {name} were drawn: a random graph over {streams} streams, and how each"
        " depends on its causes. No data, and so no licence."
    )


def _trained(name: str, settings: Mapping[str, Any]) -> str:
    networks = settings["networks"]
    agent = networks[0]["agent"]
    protocols = " and ".join(label(network["plan"]["protocol"]) for network in networks)
    return (
        f"Networks of {label(name.split('.')[1])} were trained for {protocols}:"
        f" {agent['epochs']} epochs of {agent['episodes']} episodes of {agent['episode_steps']}"
        " steps."
    )


def _evaluated(settings: Mapping[str, Any]) -> str:
    return (
        f"{label(settings['method'])} monitored scenario {settings['scenario']} with"
        f" {settings['m']} sensors, with {len(settings['cells'])} kinds of shifts and several"
        " replications of each; each delay was written down."
    )
