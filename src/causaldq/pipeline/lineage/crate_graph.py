"""How the files, jobs and rules of a run belong together: the entities of its RO-Crate."""

from importlib.metadata import version
from pathlib import Path
from urllib.parse import quote

from causaldq.files import canonical_json, read_json
from causaldq.pipeline.lineage.crate_entities import CrateEntities, Options, address, ref
from causaldq.pipeline.lineage.manifest import place_of_manifest, place_of_signature
from causaldq.pipeline.lineage.records import LOCK, Record

PROFILES = (
    *(f"https://w3id.org/ro/wfrun/{kind}/0.5" for kind in ("process", "workflow", "provenance")),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
)
FRAME = Path(__file__).parent / "templates" / "crate.json"
"""Entities that every crate has."""
LICENCE = "https://spdx.org/licenses/MIT"
COMPLETED = "http://schema.org/CompletedActionStatus"
WORKFLOW = "Snakefile"
LIBRARY = "src/causaldq"
ENGINE = "#snakemake"
PROJECT = "#project"
RUN = "#run"
FINDINGS = "findings.json"


class CrateGraph(CrateEntities):
    """What can run, what ran, and what went in and came out."""

    def build(self) -> None:
        self._frame()
        outputs, inputs = self._overall()
        tools = {self.script(record): self._tool(record) for record in self.records}
        steps = [self._step(i, rule) for i, rule in enumerate(self.rules(), 1)]
        actions = [self._job(record) for record in self.records]
        connections = self._connections()
        self._workflow(list(tools.values()), steps, connections, inputs, outputs)
        self._run(actions, inputs, outputs)
        self._root()

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
        self.file("README.md", encodingFormat="text/markdown", about=ref("./"))
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
            options = Options(job)
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
        return self.formal(f"{rule}-{way}-{option}", option, f"--{option} of the rule {rule}")

    def _overall_parameter(self, way: str, name: str) -> dict[str, str]:
        return self.formal(f"workflow-{way}-{name}", name, f"{name} of the workflow as a whole")

    def _connection(self, key: str, rule: str, source: str, target: str) -> dict[str, str]:
        """Between two parameters; all steps that run the script of a rule are told of it."""
        scripts = {record.rule: record.script for record in self.records}
        for other in self.rules():
            if scripts[other] == scripts[rule]:
                step = self.entities[f"{WORKFLOW}#{other}"]
                step.setdefault("connection", []).append(ref(key))
        ends = {"sourceParameter": ref(source), "targetParameter": ref(target)}
        return self.add(key, "ParameterConnection", **ends)

    def _step(self, position: int, rule: str) -> dict[str, str]:
        record = next(record for record in self.records if record.rule == rule)
        return self.add(
            f"{WORKFLOW}#{rule}",
            "HowToStep",
            name=rule,
            position=str(position),
            workExample=ref(address(self.script(record))),
        )

    def _connections(self) -> list[dict[str, str]]:
        """Which output of a rule becomes which input of another."""
        found: dict[str, dict[str, str]] = {}
        for record in self.records:
            here = Options(record)
            for name in record.inputs:
                maker = self.store.makers.get(name)
                if maker is None:
                    continue
                source = f"#{maker.rule}-out-{Options(maker).of(name)}"
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
        for rule in self.rules():
            target = f"#{rule}-in-settings"
            if target in self.entities:
                key = f"#connection-workflow-settings-{rule}"
                connections.append(self._connection(key, rule, settings["@id"], target))
        for name in inputs:
            self.example(self.file(name), given)
        for name in outputs:
            self.example(self.file(name), made)
        self.file(
            WORKFLOW,
            kind=["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"],
            name="Causal DQ",
            conformsTo=ref("https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"),
            description=(
                "From streams to tables and figures. No container was used: every job ran in one"
                f" environment, pinned by {LOCK}."
            ),
            version=self.code.commits.get("", "unknown"),
            license=ref(LICENCE),
            creator=ref(PROJECT),
            programmingLanguage=ref("https://w3id.org/workflowhub/workflow-ro-crate#snakemake"),
            softwareRequirements=ref(address(LOCK)),
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
        options = Options(record)
        used = {name: self.file(name) for name in record.inputs}
        made = {name: self.file(name) for name in record.outputs}
        for name, entity in used.items():
            self.example(entity, ref(f"#{record.rule}-in-{options.of(name)}"))
        for name, entity in made.items():
            self.example(entity, ref(f"#{record.rule}-out-{options.of(name)}"))
        objects = list(used.values())
        if record.settings is not None:
            objects.append(
                self.property_value(
                    f"#settings-{quote(record.job, safe='')}",
                    "settings",
                    canonical_json(record.settings),
                    exampleOfWork=ref(f"#{record.rule}-in-settings"),
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
            instrument=ref(address(self.script(record))),
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
            instrument=ref(f"{WORKFLOW}#{record.rule}"),
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
            self.property_value(f"#code-{job}", "code hash", record.code.hash, description=about),
            self.property_value(f"#commit-{job}", "commit", commit),
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
            self.property_value(
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
        settings = self.property_value(
            "#settings",
            "settings",
            canonical_json(whole.settings),
            exampleOfWork=ref("#workflow-in-settings"),
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
            instrument=ref(WORKFLOW),
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
            instrument=ref(ENGINE),
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
            license=ref(LICENCE),
            author=ref(PROJECT),
            publisher=ref(PROJECT),
            conformsTo=[ref(address) for address in PROFILES],
            hasPart=[
                *(ref(f"{prefix}{LIBRARY}/") for prefix in self.code.trees),
                *([ref(FINDINGS)] if self.packed.findings else []),
                *(ref(address(name)) for name in self.files),
            ],
            mainEntity=ref(WORKFLOW),
            mentions=[
                ref(name)
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


def _status(record: Record) -> str:
    return COMPLETED if record.status == 0 else "http://schema.org/FailedActionStatus"
