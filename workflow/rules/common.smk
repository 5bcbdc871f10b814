"""Settings, places and the lock: what all rules share."""

import fcntl
import os
import shutil
import sys
import time
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.persistence import RECORD_FORMAT_VERSION

sys.path.insert(0, str(Path(workflow.basedir) / "src"))

from causaldq.code import job_hash
from causaldq.errors import CausalDQError
from causaldq.lineage.memory import Memory, reconcile
from causaldq.lineage.records import Ledger
from causaldq.loading import load_config
from causaldq.plan import Plan
from causaldq.report.catalogue import catalogue

# Jobs run the Python that runs Snakemake, whether or not its environment is activated.
os.environ.update(
    PATH=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()]),
    PYTHONPATH=str(Path(workflow.basedir) / "src"),
)

try:
    SETTINGS = load_config(Path(workflow.basedir) / "config", config)
except CausalDQError as error:
    sys.exit(f"config: {error}")

PLAN = Plan(SETTINGS)
ARTIFACTS = f"artifacts/{SETTINGS.profile}"
RESULTS = f"results/{SETTINGS.profile}"
LOGS = f"logs/{SETTINGS.profile}"

FETCHED = f"{ARTIFACTS}/fetched/{{source}}.json"
STREAMS = f"{ARTIFACTS}/streams/{{source}}.npz"
STREAM_FACTS = f"{ARTIFACTS}/streams/{{source}}.json"
EVENTS = f"{ARTIFACTS}/streams/{{source}}.events.npz"
TIDY = f"{ARTIFACTS}/streams/{{source}}.parquet"
INJECTED = f"{ARTIFACTS}/injected/{{scenario}}.npz"
GRAPH = f"{ARTIFACTS}/graphs/{{graph}}.npz"
GRAPH_SUMMARY = f"{ARTIFACTS}/graphs/{{graph}}.json"
POSSIBLE_GRAPHS = f"{ARTIFACTS}/graphs/{{source}}.possible.npz"
CHECKPOINT = f"{ARTIFACTS}/checkpoints/{{network}}.safetensors"
CHECKPOINT_FACTS = f"{ARTIFACTS}/checkpoints/{{network}}.json"
CURVE = f"{ARTIFACTS}/curves/{{network}}.csv"
THEORY = f"{RESULTS}/theory.json"
THEORY_CURVES = f"{RESULTS}/theory_curves.csv"
TRAINING = f"{RESULTS}/training.csv"
CURVES = f"{RESULTS}/curves.csv"
GRAPHS = f"{RESULTS}/graphs.csv"
SOURCES = f"{RESULTS}/sources.csv"
PATHS = f"{RESULTS}/paths.csv"
EDGES = f"{RESULTS}/edges.csv"
STUDY = f"{ARTIFACTS}/propagation/{{study}}.csv"
STUDY_EXAMPLE = f"{ARTIFACTS}/propagation/{{study}}.json"
CROSSED = f"{ARTIFACTS}/crossed/{{policy}}.csv"
OVERALL = f"{RESULTS}/overall.csv"
CROSS = f"{RESULTS}/cross.csv"
POLICY = f"{ARTIFACTS}/policies/{{run}}.zip"
LIMITS = f"{ARTIFACTS}/limits/{{limits}}.json"
RUN = f"{ARTIFACTS}/runs/{{run}}.csv"


def as_argument(job):
    """A job's settings as the text of its command line."""
    return job.as_argument()


def code_of(script, job=None):
    """Hash of the code a job runs: a change of it re-runs the job, a comment does not."""
    path = Path(workflow.basedir) / "scripts" / f"{script}.py"
    return job_hash(path, job.model_dump() if job else None)


def streams_of(scenario):
    return STREAMS.format(source=PLAN.source_of(scenario))


def names(values):
    """A wildcard's constraint: one of these names; nothing at all if there are none."""
    return "|".join(values) or "(?!)"


def input_of(source):
    """What a recorded source is prepared from."""
    wanted = SETTINGS.sources[source]
    return wanted.file if wanted.kind == "own" else FETCHED.format(source=source)


def given_path(source):
    """The user's own files, which no rule makes; a change of them is noticed."""
    path = getattr(SETTINGS.sources[source], "path", None)
    return [path] if path else []


def events_of(scenario):
    """Recorded events that a scenario is measured on."""
    source = PLAN.source_of(scenario)
    return [EVENTS.format(source=source)] if SETTINGS.scenarios[scenario].events else []


def of_protocols(path, protocols):
    """Files of one run's networks, one for each protocol."""
    return [path.format(network=f"{{run}}.{protocol}") for protocol in protocols]


def given_to(run):
    """Files a run's method needs besides the streams, by name: networks by protocol, graphs."""
    found = {}
    if PLAN.weighs_graphs(run.method):
        found["graphs"] = POSSIBLE_GRAPHS.format(source=PLAN.source_of(run.scenario))
    if PLAN.shared_network(run):
        found["network"] = CHECKPOINT.format(network=PLAN.shared_network(run))
    return found | {
        protocol: CHECKPOINT.format(network=network.id)
        for protocol, network in PLAN.networks_of(run).items()
    }


def given_by_run(runs, prefix="", without=()):
    """The same for a job that goes through several runs; their names lose a prefix."""
    return " ".join(
        f"{run.id.removeprefix(prefix)}:{name}={path}"
        for run in runs
        for name, path in given_to(run).items()
        if name not in without
    )


def given_arguments(run):
    return " ".join(f"--given {name}={path}" for name, path in given_to(run).items())


wildcard_constraints:
    source=names(SETTINGS.sources),
    scenario=names(SETTINGS.scenarios),
    graph=names(PLAN.graphs()),
    network=r"[a-z0-9_.]+",
    limits=r"[a-z0-9_.]+",
    run=r"[a-z0-9_.]+",


# The kernel drops this lock when its holder dies, so a killed run never blocks the next
# one, and two runs never work in one folder. Snakemake's own lock outlives a kill and
# is switched off in workflow/profiles/default.
_LOCK = Path(".snakemake/causaldq.lock")
_HELD = []
# Set where notes are to be left alone: below a run, and by `verify`.
_READ_ONLY = "CAUSALDQ_READ_ONLY"


def lock():
    """This folder's lock, open for as long as it is to be held; None if a run holds it."""
    _LOCK.parent.mkdir(exist_ok=True)
    handle = _LOCK.open("w")
    # Others hold it for a moment only, to remember.
    deadline = time.monotonic() + 2
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                handle.close()
                return None
            time.sleep(0.05)
        else:
            return handle


def remember():
    """Bring what Snakemake believes of files in step with their records."""
    made_again = reconcile(
        Ledger(Path.cwd(), SETTINGS.profile), Memory(Path.cwd(), RECORD_FORMAT_VERSION)
    )
    if made_again:
        name, reason = next(iter(made_again.items()))
        print(
            f"{len(made_again)} files are made again if they are needed, such as {name}: {reason}",
            file=sys.stderr,
        )


# Before Snakemake looks at files, unless a run is at work, which then is the one to do so.
if (
    workflow.is_main_process
    and _READ_ONLY not in os.environ
    and (handle := lock()) is not None
):
    remember()
    handle.close()


onstart:
    _HELD.append(lock())
    if _HELD == [None]:
        raise WorkflowError(
            "another run is at work in this folder; wait for it to end, or stop it"
        )
    os.environ[_READ_ONLY] = "1"
    # For a limit on jobs a second that nothing here comes near, Snakemake looks for jobs again
    # a second after each time it did, so that every job that ends adds a look a second to all
    # later ones. Without the limit it looks when a job has ended.
    workflow.scheduler.job_rate_limiter = None


onsuccess:
    remember()


onerror:
    remember()
