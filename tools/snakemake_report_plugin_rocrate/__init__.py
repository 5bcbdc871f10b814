"""A finished run of any Snakemake workflow as an RO-Crate (Provenance Run Crate).

`snakemake --reporter rocrate --report-rocrate-folder crate` writes a folder with the workflow,
every file that a job read or made, and ro-crate-metadata.json: which job made what from what,
when, by which rule, with SHA-256. It uses nothing but the interfaces that Snakemake publishes
for plug-ins and nothing of causaldq, and needs no change of the workflow.
"""

import hashlib
import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Optional
from urllib.parse import quote

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_report_plugins.interfaces import JobRecordInterface
from snakemake_interface_report_plugins.reporter import ReporterBase
from snakemake_interface_report_plugins.settings import ReportSettingsBase

WORKFLOWS = ("Snakefile", "workflow/Snakefile", "snakefile", "workflow/snakefile")
KINDS = ("process", "workflow", "provenance")
COMPLETED = "http://schema.org/CompletedActionStatus"
LANGUAGE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
Entity = dict[str, Any]


@dataclass
class ReportSettings(ReportSettingsBase):
    """What a run does not know of itself."""

    folder: Optional[Path] = field(  # noqa: UP045 - read by the plug-in's registry
        default=None, metadata={"help": "New folder for the crate.", "required": True}
    )
    workflow: Optional[Path] = field(  # noqa: UP045 - read by the plug-in's registry
        default=None, metadata={"help": "The Snakefile, if it is not at a usual place."}
    )
    title: str = field(
        default="A run of a Snakemake workflow", metadata={"help": "What the run is."}
    )
    license: str = field(
        default="https://spdx.org/licenses/NOASSERTION",
        metadata={"help": "Address of the licence under which the crate is given."},
    )
    operator: Optional[str] = field(  # noqa: UP045 - read by the plug-in's registry
        default=None, metadata={"help": "Who ran it; left out if unknown."}
    )


class Reporter(ReporterBase):  # type: ignore[misc]
    """Called by Snakemake with the rules and jobs of a finished run."""

    def render(self) -> None:
        """Write the crate."""
        settings: ReportSettings = self.settings
        if settings.folder is None or settings.folder.exists():
            raise WorkflowError("--report-rocrate-folder: give a new folder")
        places = [settings.workflow] if settings.workflow else [Path(p) for p in WORKFLOWS]
        workflow = next((place for place in places if place.is_file()), None)
        if workflow is None:
            raise WorkflowError("--report-rocrate-workflow: there is no such Snakefile here")
        crate = _Crate(settings, workflow.as_posix())
        crate.build(
            sorted(self.jobs, key=lambda job: (job.starttime, sorted(map(str, job.output))))
        )
        crate.write(settings.folder)


def ref(key: str) -> dict[str, str]:
    return {"@id": key}


def refs(keys: Iterable[str]) -> list[dict[str, str]]:
    return [ref(key) for key in keys]


def when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


class _Crate:
    """Entities by their names, and the files that belong to them."""

    def __init__(self, settings: ReportSettings, workflow: str) -> None:
        self.settings, self.workflow = settings, workflow
        self.entities: dict[str, Entity] = {}
        self.files: dict[str, Path] = {}

    def add(self, key: str, kind: str | list[str], **said: Any) -> str:
        """Say something of an entity; what is None is left unsaid."""
        known = {name: value for name, value in said.items() if value is not None}
        self.entities.setdefault(key, {"@id": key, "@type": kind}).update(known)
        return key

    def file(self, name: str) -> str | None:
        """A file of the run; None if it is gone, as temporary files are, or is a folder."""
        path = Path(name)
        if not path.is_file():
            return None
        inside = f"outside/{path.name}" if path.is_absolute() or ".." in path.parts else name
        key = quote(inside)
        if key not in self.files:
            self.files[key] = path
            with path.open("rb") as handle:
                digest = hashlib.file_digest(handle, "sha256").hexdigest()
            size = str(path.stat().st_size)
            self.add(key, "File", name=path.name, contentSize=size, sha256=digest)
        return key

    def present(self, names: Iterable[str]) -> list[str]:
        found = (self.file(str(name)) for name in names)
        return [key for key in dict.fromkeys(found) if key is not None]

    def build(self, jobs: list[JobRecordInterface]) -> None:
        if not jobs:
            raise WorkflowError("no job of this workflow has run to its end here")
        self._frame()
        ran = [self._job(number, job) for number, job in enumerate(jobs, 1)]
        made = {key for job in jobs for key in self.present(job.output)}
        used = {key for job in jobs for key in self.present(job.job.input)}
        times = {
            "startTime": when(min(job.starttime for job in jobs)),
            "endTime": when(max(job.endtime for job in jobs)),
        }
        given, results = sorted(used - made), sorted(made - used)
        self._workflow(list(dict.fromkeys(job.job.rule.name for job in jobs)), given, results)
        agent = self._agent()
        self.add(
            "#run", "CreateAction", name="The run", instrument=ref(self.workflow), agent=agent,
            object=refs(given), result=refs(results), actionStatus=COMPLETED, **times,
        )  # fmt: skip
        self.add(
            "#organise", "OrganizeAction", name="Run of Snakemake", instrument=ref("#engine"),
            agent=agent, object=refs(ran), result=ref("#run"), actionStatus=COMPLETED, **times,
        )  # fmt: skip
        actions = ("CreateAction", "ControlAction", "OrganizeAction")
        self.add(
            "./", "Dataset", name=self.settings.title,
            description="A finished run: its workflow, every file, and every job.",
            datePublished=times["endTime"], license=ref(self.settings.license),
            conformsTo=refs(key for key in self.entities if "/wfrun/" in key),
            hasPart=refs(self.files), mainEntity=ref(self.workflow),
            mentions=refs(k for k, e in self.entities.items() if e["@type"] in actions),
        )  # fmt: skip

    def _frame(self) -> None:
        base = "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
        self.add(
            "ro-crate-metadata.json", "CreativeWork", about=ref("./"),
            conformsTo=refs(["https://w3id.org/ro/crate/1.1", base]),
        )  # fmt: skip
        for kind in KINDS:
            name = f"{kind.title()} Run Crate"
            key = f"https://w3id.org/ro/wfrun/{kind}/0.5"
            self.add(key, "CreativeWork", name=name, version="0.5")
        self.add(self.settings.license, "CreativeWork", name="Licence")
        home = ref("https://snakemake.github.io")
        number = version("snakemake")
        self.add(LANGUAGE, "ComputerLanguage", name="Snakemake", url=home, version=number,
                 identifier=home)  # fmt: skip
        self.add("#engine", "SoftwareApplication", name="Snakemake", url=home,
                 softwareVersion=number)  # fmt: skip

    def _agent(self) -> dict[str, str] | None:
        who = self.settings.operator
        return ref(self.add(f"#{quote(who)}", "Person", name=who)) if who else None

    def _job(self, number: int, record: JobRecordInterface) -> str:
        """A job, with what it read and made, and the step of the workflow that it carried out."""
        rule = record.job.rule.name
        self.add(f"#tool-{rule}", "SoftwareApplication", name=rule, softwareVersion="of the run",
                 description=f"What the rule {rule} runs", url=ref(self.workflow))  # fmt: skip
        action = self.add(
            f"#job-{number}", "CreateAction", name=f"{rule}, job {number}",
            instrument=ref(f"#tool-{rule}"), agent=self._agent(),
            object=refs(self.present(record.job.input)), result=refs(self.present(record.output)),
            startTime=when(record.starttime), endTime=when(record.endtime), actionStatus=COMPLETED,
        )  # fmt: skip
        return self.add(
            f"#control-{number}", "ControlAction", name=f"step {rule}",
            instrument=ref(f"{self.workflow}#{rule}"), object=ref(action), actionStatus=COMPLETED,
        )  # fmt: skip

    def _workflow(self, rules: list[str], given: list[str], results: list[str]) -> None:
        self.file(self.workflow)
        profile = ref("https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE")
        for way, keys in {"input": given, "output": results}.items():
            self.add(f"#{way}", "FormalParameter", name=f"{way} files", additionalType="File",
                     conformsTo=profile, workExample=refs(keys))  # fmt: skip
            for key in keys:
                self.add(key, "File", exampleOfWork=ref(f"#{way}"))
        for position, rule in enumerate(rules, 1):
            self.add(f"{self.workflow}#{rule}", "HowToStep", name=rule, position=str(position),
                     workExample=ref(f"#tool-{rule}"))  # fmt: skip
        entity = self.entities[self.workflow]
        entity["@type"] = ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"]
        self.add(
            self.workflow, "", name=self.settings.title, programmingLanguage=ref(LANGUAGE),
            hasPart=refs(f"#tool-{rule}" for rule in rules), input=[ref("#input")],
            output=[ref("#output")], step=refs(f"{self.workflow}#{rule}" for rule in rules),
        )  # fmt: skip

    def write(self, folder: Path) -> None:
        for key, path in self.files.items():
            place = folder / (f"outside/{path.name}" if key.startswith("outside/") else path)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
        terms = {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}
        context = ["https://w3id.org/ro/crate/1.1/context", terms]
        crate = {"@context": context, "@graph": list(self.entities.values())}
        (folder / "ro-crate-metadata.json").write_text(json.dumps(crate, indent=1) + "\n")
