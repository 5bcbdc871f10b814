"""How the files, jobs and rules of a run belong together: the entities of its RO-Crate."""

import mimetypes
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from causaldq.errors import DataError
from causaldq.files import canonical_json, read_json, sha256
from causaldq.pipeline.lineage.crate_code import CrateCode
from causaldq.pipeline.lineage.manifest import place_of_manifest, place_of_signature
from causaldq.pipeline.lineage.records import LOCK, Record, RecordStore
from causaldq.pipeline.lineage.verify import Finding

Entity = dict[str, Any]
PROFILES = (
    *(f"https://w3id.org/ro/wfrun/{kind}/0.5" for kind in ("process", "workflow", "provenance")),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
)
FRAME = Path(__file__).parent / "templates" / "crate.json"
"""Entities that every crate has."""
PARAMETER_PROFILE = "https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE"
LICENCE = "https://spdx.org/licenses/MIT"
FORMATS = {
    ".npz": "application/zip",
    ".safetensors": "application/octet-stream",
    ".parquet": "application/vnd.apache.parquet",
    ".tex": "text/x-tex",
    ".yaml": "application/yaml",
    ".smk": "text/plain",
    ".lock": "text/plain",
    ".ipynb": "application/x-ipynb+json",
}
COMPLETED = "http://schema.org/CompletedActionStatus"
WORKFLOW = "Snakefile"
LIBRARY = "src/causaldq"
ENGINE = "#snakemake"
PROJECT = "#project"
RUN = "#run"
FINDINGS = "findings.json"


@dataclass(frozen=True)
class Packed:
    """What a crate says of its making."""

    findings: list[Finding]
    """What `verify` found, if the run was packed anyway."""
    operator: str
    host: str
    """For jobs whose records do not say it."""


def _ref(name: str) -> dict[str, str]:
    return {"@id": name}


def _id(name: str) -> str:
    """A file's name as an address."""
    return quote(name)


class CrateGraph:
    """The entities, and the files that the crate is to hold."""

    def __init__(self, store: RecordStore, packed: Packed, scratch: Path) -> None:
        self.store, self.packed = store, packed
        made = {record.job: record for record in store.makers.values()}
        self.records = sorted(made.values(), key=lambda record: record.started)
        self.entities: dict[str, Entity] = {}
        self.files: list[str] = []
        self.data = {name for r in self.records for name in (*r.inputs, *r.outputs)}
        self.code = CrateCode(store.root, self.records, scratch)
        if self.code.unknown and not packed.findings:
            job = self.code.unknown[0].job
            raise DataError(f"{job}: its code is in no commit, and not here; run it again")

    def path(self, name: str) -> Path:
        """Where a file of the crate is taken from: code from its commit, data from here."""
        if name in self.data:
            return self.store.root / name
        for prefix, tree in sorted(self.code.trees.items(), reverse=True):
            inside = name.removeprefix(prefix)
            if name.startswith(prefix) and (tree / inside).is_file():
                return tree / inside
        return self.store.root / name

    def script(self, record: Record) -> str:
        """A job's script, as it lies in the crate."""
        return f"{self.code.prefix.get(record.job, '')}{record.script}"

    def add(self, identity: str, kind: str | list[str], /, **facts: Any) -> dict[str, str]:
        """An entity, once; what comes later under the same name is left out."""
        known = {key: value for key, value in facts.items() if value not in (None, [])}
        self.entities.setdefault(identity, {"@id": identity, "@type": kind, **known})
        return _ref(identity)

    def file(self, name: str, /, **facts: Any) -> dict[str, str]:
        if name not in self.files:
            self.files.append(name)
        path = self.path(name)
        guess = FORMATS.get(path.suffix) or mimetypes.guess_type(name)[0] or "text/plain"
        given = {
            "name": name,
            "encodingFormat": guess,
            "contentSize": str(path.stat().st_size) if path.is_file() else None,
            "sha256": sha256(path) if path.is_file() else None,
        }
        return self.add(_id(name), facts.pop("kind", "File"), **(given | facts))

    def graph(self) -> list[Entity]:
        """All entities; a list of one is written as that one."""
        return [
            {
                key: value[0] if isinstance(value, list) and len(value) == 1 else value
                for key, value in entity.items()
            }
            for entity in self.entities.values()
        ]

    def build(self) -> None:
        self._frame()
        outputs, inputs = self._overall()
        tools = {self.script(record): self._tool(record) for record in self.records}
        steps = [self._step(i, rule) for i, rule in enumerate(self._rules(), 1)]
        actions = [self._job(record) for record in self.records]
        connections = self._connections()
        self._workflow(list(tools.values()), steps, connections, inputs, outputs)
        self._run(actions, inputs, outputs)
        self._root()

    def _rules(self) -> list[str]:
        return list(dict.fromkeys(record.rule for record in self.records))

    def _frame(self) -> None:
        snakemake = {"VERSION": version("snakemake")}
        for entity in read_json(FRAME):
            known = {key: snakemake.get(str(value), value) for key, value in entity.items()}
            self.add(known.pop("@id"), known.pop("@type"), **known)
        for prefix, commit in self.code.commits.items():
            self.add(
                f"{prefix}{LIBRARY}/",
                "Dataset",
                name="The library that the scripts call",
                version=commit,
            )
        self.file("README.md", encodingFormat="text/markdown", about=_ref("./"))
        for place in (
            place_of_manifest(self.store.profile),
            place_of_signature(self.store.profile),
        ):
            if (self.store.root / place).is_file():
                self.file(
                    place.as_posix(), description="One hash over all records, or who signed it"
                )

    def _overall(self) -> tuple[list[str], list[str]]:
        """Files that came out of the run as a whole, and that went into it."""
        made = set(self.store.makers)
        used = {name for record in self.records for name in record.inputs}
        results = sorted(name for name in made if name.startswith("results/"))
        config = [f"config/{name}.yaml" for name in ("defaults", self.store.profile)]
        given = [name for name in config if (self.store.root / name).is_file()]
        return results, [*given, *sorted(used - made)]

    # --- what can run ------------------------------------------------------------------

    def _tool(self, record: Record) -> dict[str, str]:
        """A script, with the parameters that it was ever given by the rules that call it."""
        jobs = [other for other in self.records if self.script(other) == self.script(record)]
        inputs, outputs = set(), set()
        for job in jobs:
            options = _Options(job)
            inputs |= {(job.rule, options.of(name)) for name in job.inputs}
            outputs |= {(job.rule, options.of(name)) for name in job.outputs}
            inputs |= {(job.rule, "settings")} if job.settings is not None else set()
        rules = ", ".join(dict.fromkeys(job.rule for job in jobs))
        return self.file(
            self.script(record),
            kind=["File", "SoftwareSourceCode"],
            name=Path(record.script).name,
            description=f"Script behind {rules}",
            version=self.code.commits.get(self.code.prefix.get(record.job, ""), "unknown"),
            softwareRequirements=self.file(
                LOCK, description="Every package of the environment, pinned"
            ),
            programmingLanguage=self._python(),
            input=[self._parameter(rule, name, "in") for rule, name in sorted(inputs)],
            output=[self._parameter(rule, name, "out") for rule, name in sorted(outputs)],
        )

    def _python(self) -> dict[str, str]:
        return self.add(
            "#python", "ComputerLanguage", name="Python", version=self.records[0].host["python"]
        )

    def _parameter(self, rule: str, option: str, way: str) -> dict[str, str]:
        return self._formal(f"{rule}-{way}-{option}", option, f"--{option} of the rule {rule}")

    def _formal(self, identity: str, name: str, description: str) -> dict[str, str]:
        return self.add(
            f"#{identity}",
            "FormalParameter",
            name=name,
            additionalType="PropertyValue" if name == "settings" else "File",
            conformsTo=_ref(PARAMETER_PROFILE),
            description=description,
            valueRequired=True,
        )

    def _overall_parameter(self, way: str, name: str) -> dict[str, str]:
        return self._formal(f"workflow-{way}-{name}", name, f"{name} of the workflow as a whole")

    def _property(self, identity: str, name: str, value: str, /, **facts: Any) -> dict[str, str]:
        return self.add(identity, "PropertyValue", name=name, value=value, **facts)

    def _connection(self, key: str, rule: str, source: str, target: str) -> dict[str, str]:
        """Between two parameters; all steps that run the script of a rule are told of it."""
        scripts = {record.rule: record.script for record in self.records}
        for other in self._rules():
            if scripts[other] == scripts[rule]:
                step = self.entities[f"{WORKFLOW}#{other}"]
                step.setdefault("connection", []).append(_ref(key))
        ends = {"sourceParameter": _ref(source), "targetParameter": _ref(target)}
        return self.add(key, "ParameterConnection", **ends)

    def _step(self, position: int, rule: str) -> dict[str, str]:
        record = next(record for record in self.records if record.rule == rule)
        return self.add(
            f"{WORKFLOW}#{rule}",
            "HowToStep",
            name=rule,
            position=str(position),
            workExample=_ref(_id(self.script(record))),
        )

    def _connections(self) -> list[dict[str, str]]:
        """Which output of a rule becomes which input of another."""
        found: dict[str, dict[str, str]] = {}
        for record in self.records:
            here = _Options(record)
            for name in record.inputs:
                maker = self.store.makers.get(name)
                if maker is None:
                    continue
                source = f"#{maker.rule}-out-{_Options(maker).of(name)}"
                target = f"#{record.rule}-in-{here.of(name)}"
                key = f"#connection-{source[1:]}-{target[1:]}"
                if key not in found:
                    found[key] = self._connection(key, record.rule, source, target)
        return list(found.values())

    def _workflow(
        self,
        tools: list[dict[str, str]],
        steps: list[dict[str, str]],
        connections: list[dict[str, str]],
        inputs: list[str],
        outputs: list[str],
    ) -> None:
        for name in self._rule_files():
            self.file(name, description="Rules of the workflow")
        settings = self._overall_parameter("in", "settings")
        given, made = (
            self._overall_parameter("in", "files"),
            self._overall_parameter("out", "results"),
        )
        for rule in self._rules():
            target = f"#{rule}-in-settings"
            if target in self.entities:
                key = f"#connection-workflow-settings-{rule}"
                connections.append(self._connection(key, rule, settings["@id"], target))
        for name in inputs:
            self._example(self.file(name), given)
        for name in outputs:
            self._example(self.file(name), made)
        self.file(
            WORKFLOW,
            kind=["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"],
            name="Causal DQ",
            conformsTo=_ref("https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"),
            description=(
                "From streams to tables and figures. No container was used: every job ran in one"
                f" environment, pinned by {LOCK}."
            ),
            version=self.code.commits.get("", "unknown"),
            license=_ref(LICENCE),
            creator=_ref(PROJECT),
            programmingLanguage=_ref("https://w3id.org/workflowhub/workflow-ro-crate#snakemake"),
            softwareRequirements=_ref(_id(LOCK)),
            hasPart=tools,
            step=steps,
            connection=connections,
            input=[settings, given],
            output=[made],
        )

    def _rule_files(self) -> list[str]:
        tree = self.code.trees.get("", self.store.root)
        rules = sorted((tree / "workflow" / "rules").glob("*.smk"))
        return [path.relative_to(tree).as_posix() for path in rules]

    # --- what ran ----------------------------------------------------------------------

    def _job(self, record: Record) -> dict[str, str]:
        """A job: what it used, made and took, and the step it carried out."""
        options = _Options(record)
        used = {name: self.file(name) for name in record.inputs}
        made = {name: self.file(name) for name in record.outputs}
        for name, entity in used.items():
            self._example(entity, _ref(f"#{record.rule}-in-{options.of(name)}"))
        for name, entity in made.items():
            self._example(entity, _ref(f"#{record.rule}-out-{options.of(name)}"))
        objects = list(used.values())
        if record.settings is not None:
            objects.append(
                self._property(
                    f"#settings-{quote(record.job, safe='')}",
                    "settings",
                    canonical_json(record.settings),
                    exampleOfWork=_ref(f"#{record.rule}-in-settings"),
                )
            )
        note = self.file(
            self.store.place(record.job).partition("#")[0],
            description=f"Records of the rule {record.rule}",
        )
        action = self.add(
            f"#job-{quote(record.job, safe='')}",
            "CreateAction",
            name=record.job,
            description=record.command,
            instrument=_ref(_id(self.script(record))),
            agent=self._operator(record),
            location=self._host(record),
            object=objects,
            result=list(made.values()),
            additionalProperty=self._code_of(record),
            startTime=record.started,
            endTime=record.ended,
            actionStatus=_status(record),
            subjectOf=note,
            resourceUsage=self._resources(record),
        )
        return self.add(
            f"#control-{quote(record.job, safe='')}",
            "ControlAction",
            name=f"step {record.rule}",
            instrument=_ref(f"{WORKFLOW}#{record.rule}"),
            object=action,
            actionStatus=_status(record),
        )

    def _operator(self, record: Record | None = None) -> dict[str, str]:
        """Who ran a job: as its record says, or as was told when the crate was made."""
        name = (record.operator if record else None) or self.packed.operator
        return self.add(f"#operator-{quote(name, safe='')}", "Person", name=name)

    def _host(self, record: Record) -> dict[str, str]:
        name = record.host.get("name") or self.packed.host
        facts = ", ".join(str(record.host.get(key)) for key in ("system", "cpu"))
        key = f"#host-{quote(f'{name}, {facts}', safe='')}"
        return self.add(key, "Place", name=name, description=facts)

    def _code_of(self, record: Record) -> list[dict[str, str]]:
        """The code that a job ran, which its script alone does not tell."""
        job = quote(record.job, safe="")
        commit = (record.code.commit or "none") + ("+changes" if record.code.dirty else "")
        about = "SHA-256 over all code that the job can reach: causaldq.pipeline.code"
        return [
            self._property(f"#code-{job}", "code hash", record.code.hash, description=about),
            self._property(f"#commit-{job}", "commit", commit),
        ]

    def _resources(self, record: Record) -> list[dict[str, str]]:
        job = quote(record.job, safe="")
        used, host = record.resources, record.host
        measured = {
            "cpuTime": (f"{used.cpu_seconds:g}", "SEC"),
            "maxMemory": (str(used.peak_memory_bytes), "BYTE"),
            "threads": (str(host.get("threads")), "NUM"),
            "cpu": (str(host.get("cpu")), "UNITLESS"),
        }
        return [
            self._property(
                f"#{name}-{job}",
                name,
                value,
                propertyID=f"https://w3id.org/ro/terms/workflow-run#{name}",
                unitCode=f"https://qudt.org/vocab/unit/{unit}",
            )
            for name, (value, unit) in measured.items()
        ]

    def _run(self, actions: list[dict[str, str]], inputs: list[str], outputs: list[str]) -> None:
        """The run as a whole, and the engine that organised it."""
        whole = next((r for r in self.records if r.job == "aggregate"), self.records[-1])
        settings = self._property(
            "#settings",
            "settings",
            canonical_json(whole.settings),
            exampleOfWork=_ref("#workflow-in-settings"),
        )
        times = {
            "startTime": min(record.started for record in self.records),
            "endTime": max(record.ended for record in self.records),
        }
        run = self.add(
            RUN,
            "CreateAction",
            name=f"Run of profile {self.store.profile}",
            description=f"snakemake --config profile={self.store.profile}",
            instrument=_ref(WORKFLOW),
            agent=self._operator(),
            object=[settings, *(self.file(name) for name in inputs)],
            result=[self.file(name) for name in outputs],
            actionStatus=COMPLETED,
            **times,
        )
        self.add(
            "#organise",
            "OrganizeAction",
            name="Run of Snakemake",
            instrument=_ref(ENGINE),
            object=actions,
            result=run,
            actionStatus=COMPLETED,
            **times,
        )

    def _root(self) -> None:
        self.add(
            "./",
            "Dataset",
            name=f"Causal DQ, profile {self.store.profile}",
            description=self._described(),
            datePublished=max(record.ended for record in self.records),
            license=_ref(LICENCE),
            author=_ref(PROJECT),
            publisher=_ref(PROJECT),
            conformsTo=[_ref(address) for address in PROFILES],
            hasPart=[
                *(_ref(f"{prefix}{LIBRARY}/") for prefix in self.code.trees),
                *([_ref(FINDINGS)] if self.packed.findings else []),
                *(_ref(_id(name)) for name in self.files),
            ],
            mainEntity=_ref(WORKFLOW),
            mentions=[
                _ref(name)
                for name, entity in self.entities.items()
                if entity["@type"] in ("CreateAction", "OrganizeAction", "ControlAction")
            ],
        )

    def _described(self) -> str:
        """What the crate is; and that it was packed though something was wrong, if it was."""
        text = "A run of the pipeline: its settings, code, every file, and every job."
        found = self.packed.findings
        if not found:
            return f"{text} Everything was verified before it was packed."
        self.add(
            FINDINGS,
            "File",
            name="What was found wrong",
            encodingFormat="application/json",
            description="Findings of `causaldq verify` when the crate was made",
        )
        unknown = [record.job for record in self.code.unknown]
        code = f" The code of {', '.join(unknown[:5])} is not in it." if unknown else ""
        return f"{text} NOT VERIFIED: it was packed with {len(found)} findings, {FINDINGS}.{code}"

    def _example(self, entity: dict[str, str], parameter: dict[str, str]) -> None:
        """Say which parameter a value was given for."""
        examples = self.entities[entity["@id"]].setdefault("exampleOfWork", [])
        if parameter not in examples:
            examples.append(parameter)


def _status(record: Record) -> str:
    return COMPLETED if record.status == 0 else "http://schema.org/FailedActionStatus"


class _Options:
    """Which option of a job's command a file was given by."""

    def __init__(self, record: Record) -> None:
        self.by_value: dict[str, str] = {}
        option = "script"
        for word in record.words[2:]:
            if word.startswith("--"):
                option = word[2:]
            else:
                self.by_value[word] = option
                self.by_value[word.partition("=")[2] or word] = option

    def of(self, name: str) -> str:
        """The option; that of the folder a file is in; `files` if it was not on the command."""
        for place in (name, Path(name).parent.as_posix()):
            if place in self.by_value:
                return self.by_value[place]
        return "files"
