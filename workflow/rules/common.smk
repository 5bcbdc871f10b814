"""Settings, jobs and the lock: what all rules share."""

import fcntl
import os
import sys
import time
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.persistence import RECORD_FORMAT_VERSION

sys.path.insert(0, str(Path(workflow.basedir) / "src"))

from causaldq.errors import CausalDQError
from causaldq.pipeline import places
from causaldq.pipeline.code import PACKAGE, code_hash
from causaldq.pipeline.lineage.dry_run import LATEX
from causaldq.pipeline.lineage.manifest import write_manifest
from causaldq.pipeline.lineage.record_files import pack
from causaldq.pipeline.lineage.records import RecordStore, folder_of
from causaldq.pipeline.lineage.snakemake_metadata import SnakemakeMetadata, reconcile
from causaldq.pipeline.loading import check_files, load_config
from causaldq.pipeline.plan import Plan
from causaldq.pipeline.report.catalogue import catalogue
from causaldq.pipeline.rules import JobRule
from causaldq.pipeline.sources.catalogue import read_catalogue

# Jobs run the Python that runs Snakemake, whether or not its environment is activated.
os.environ.update(
    PATH=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()]),
    PYTHONPATH=str(Path(workflow.basedir) / "src"),
)

try:
    SETTINGS = load_config(Path(workflow.basedir) / "config", config)
    check_files(SETTINGS)
    PLAN = Plan(SETTINGS, read_catalogue(Path(workflow.basedir) / "data/sources.yaml"))
except CausalDQError as error:
    sys.exit(f"config: {error}")

# `verify` asks for what the machine of a run could make, whatever is installed on this one.
if LATEX in os.environ:
    Plan.has_latex = os.environ[LATEX] == "yes"


def job(name, record=None, **said):
    """The definition of a job, which tells its rule what it needs, makes and runs."""
    return JobRule(PLAN, Path(workflow.basedir), name, record, **said)


def code_of_everything():
    """Hash of all that any job runs."""
    scripts = sorted((Path(workflow.basedir) / "scripts").glob("*.py"))
    return code_hash(*scripts, *sorted((PACKAGE / "methods").glob("*.py")))


def names(values):
    """A wildcard's constraint: one of these names; nothing at all if there are none."""
    return "|".join(values) or "(?!)"


def shown(path, category, what, caption):
    """A result that the HTML report shows."""
    caption = f"../report/{caption}.rst"
    return report(path, category=category, labels={"what": what}, caption=caption)


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
        RecordStore(Path.cwd(), SETTINGS.profile),
        SnakemakeMetadata(Path.cwd(), RECORD_FORMAT_VERSION),
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


def close():
    """What a run leaves: notes that fit, records by rule, and one hash over them."""
    remember()
    pack(Path.cwd(), Path.cwd() / folder_of(SETTINGS.profile))
    write_manifest(Path.cwd(), SETTINGS.profile)


onsuccess:
    close()


onerror:
    close()
