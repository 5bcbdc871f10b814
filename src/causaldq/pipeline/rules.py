"""What a rule of the workflow takes from the definition of its job: all but how it is run."""

import shlex
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from string import Formatter
from types import MappingProxyType
from typing import Any

from causaldq.pipeline.arguments import Files, argv, job_module, settings_model
from causaldq.pipeline.code import job_hash
from causaldq.pipeline.plan import Plan
from causaldq.setting import Settings

Flat = dict[str, str | list[str]]
"""Files by option, as Snakemake takes them."""


class JobRule:
    """A job of the plan.

    The wildcards of its outputs, and what the rule says besides, are arguments of the functions
    that plan the job. Its logs and records are kept under its own name unless there is another.
    """

    def __init__(
        self, plan: Plan, root: Path, job: str, record: str | None = None, **said: Any
    ) -> None:
        self.plan, self.job, self.said = plan, job, said
        self.module = job_module(job)
        self.has_settings = settings_model(self.module.run) is not None
        self.script = root / "scripts" / f"{job}.py"
        self.logs = f"logs/{plan.config.profile}/{record or job}"

    @cached_property
    def outputs(self) -> Flat:
        """With wildcards."""
        found = self._planned("outputs") if hasattr(self.module, "outputs") else self.module.OUTPUTS
        return _flat(found, lambda path: path.replace("{profile}", self.plan.config.profile))

    def inputs(self, wildcards: Mapping[str, str]) -> Flat:
        return _flat(self._inputs(wildcards))

    @property
    def log(self) -> str:
        one = next(iter(self.outputs.values()))
        template = one if isinstance(one, str) else one[0]
        names = dict.fromkeys(name for _, name, _, _ in Formatter().parse(template) if name)
        return self.logs + "".join(f"/{{{name}}}" for name in names) + ".log"

    @property
    def params(self) -> dict[str, Callable[[Mapping[str, str]], str]]:
        """What makes Snakemake run a job again if it changes."""
        given = {"settings": self.settings} if self.has_settings else {}
        return {"code": self.code, **given, "files": self.files}

    @property
    def shell(self) -> str:
        given = "--settings {params.settings:q} " if self.has_settings else ""
        return f"python scripts/{self.job}.py {given}{{params.files}} --log {{log}}"

    def code(self, wildcards: Mapping[str, str]) -> str:
        """Hash of the code a job runs: a change of it re-runs the job, a comment does not."""
        given = self._settings(wildcards)
        return job_hash(self.script, given.model_dump() if given else None)

    def settings(self, wildcards: Mapping[str, str]) -> str:
        """As the text of its command line."""
        given = self._settings(wildcards)
        return given.as_argument() if given else ""

    def files(self, wildcards: Mapping[str, str]) -> str:
        """As the text of its command line."""
        made = _flat(self.outputs, lambda path: path.format(**wildcards))
        return shlex.join(argv(self.job, None, self._inputs(wildcards), made)[2:])

    def _settings(self, wildcards: Mapping[str, str]) -> Settings | None:
        """Its share of the settings; a job that has no share of its own is given all of them."""
        if hasattr(self.module, "settings"):
            share: Settings = self._planned("settings", wildcards)
            return share
        return self.plan.config if self.has_settings else None

    def _inputs(self, wildcards: Mapping[str, str]) -> Files:
        found: Files = self._planned("inputs", wildcards) if hasattr(self.module, "inputs") else {}
        return found

    def _planned(self, what: str, wildcards: Mapping[str, str] = MappingProxyType({})) -> Any:
        return getattr(self.module, what)(self.plan, **wildcards, **self.said)


def _flat(files: Files, path: Callable[[str], str] = str) -> Flat:
    return {
        name: path(given)
        if isinstance(given, str)
        else [path(one) for one in (given.values() if isinstance(given, Mapping) else given)]
        for name, given in files.items()
    }
