"""A job's command line, which is the signature of its work.

`run(job: CalibrateJob, *, streams: Path, given: dict[str, Path], output: Path)` is called by
`python scripts/calibrate.py --settings JSON --streams FILE --given NAME=FILE ... --output FILE`.
Whatever has a default may be left out, and so may files by name.
"""

import argparse
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_origin, get_type_hints

from pydantic import ValidationError

from causaldq.errors import ConfigError
from causaldq.setting import Settings

Files = Mapping[str, str | Sequence[str] | Mapping[str, str]]
"""By option: a file, several, or several by name."""
HELP = {"file": "a file", "files": "files", "named": "files by name"}


@dataclass(frozen=True)
class Option:
    """One parameter of a job's work."""

    name: str
    kind: Literal["file", "files", "named"]
    required: bool


def job_module(name: str) -> ModuleType:
    """The definition of a job."""
    return import_module(f"causaldq.pipeline.jobs.{name}")


def settings_model(run: Callable[..., None]) -> type[Settings] | None:
    """What a job is given besides files, if anything."""
    first = next(iter(inspect.signature(run).parameters.values()))
    is_given = first.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    return get_type_hints(run)[first.name] if is_given else None


def options(run: Callable[..., None]) -> list[Option]:
    """The files of a job, in the order of its signature."""
    hints = get_type_hints(run)
    found = []
    for name, parameter in inspect.signature(run).parameters.items():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            kind = _kind(hints[name])
            is_open = kind == "named" or parameter.default is not inspect.Parameter.empty
            found.append(Option(name, kind, not is_open))
    return found


def _kind(hint: Any) -> Literal["file", "files", "named"]:
    if get_origin(hint) is dict:
        return "named"
    return "file" if hint in (Path, Path | None) else "files"


def add_options(parser: argparse.ArgumentParser, run: Callable[..., None]) -> None:
    """Teach a parser the options of a job."""
    model = settings_model(run)
    if model is not None:
        names = ", ".join(model.model_fields)
        parser.add_argument("--settings", required=True, help=f"JSON, or a file of it: {names}")
    for option in options(run):
        several: dict[str, Any] = {} if option.kind == "file" else {"nargs": "*"}
        parser.add_argument(
            f"--{option.name}",
            type=str if option.kind == "named" else Path,
            required=option.required,
            metavar="NAME=FILE" if option.kind == "named" else "FILE",
            help=HELP[option.kind],
            **several,
        )


def call(run: Callable[..., None], arguments: argparse.Namespace) -> None:
    """Do a job's work with what its parser has read."""
    model = settings_model(run)
    given = [] if model is None else [read_settings(arguments.settings, model)]
    files = {}
    for option in options(run):
        value = getattr(arguments, option.name)
        if option.kind == "named":
            files[option.name] = _by_name(value or [])
        elif value is not None:
            files[option.name] = value
    run(*given, **files)


def read_settings(text: str, model: type[Settings]) -> Settings:
    """Read the settings argument: JSON itself, or the name of a file that holds it."""
    source = text if text.lstrip().startswith("{") else Path(text).read_text()
    try:
        return model.model_validate_json(source)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "--settings"
        raise ConfigError(f"--settings: {place}: {first['msg']}") from None


def _by_name(texts: list[str]) -> dict[str, Path]:
    return {name: Path(path) for name, _, path in (text.partition("=") for text in texts)}


def file_words(run: Callable[..., None], files: Files) -> list[str]:
    """A job's files as words of its command; what there is none of is left out."""
    words = []
    for option in options(run):
        given = files.get(option.name, [])
        if isinstance(given, Mapping):
            given = [f"{name}={path}" for name, path in given.items()]
        elif isinstance(given, str):
            given = [given]
        words += [f"--{option.name}", *given] if given else []
    return words


def argv(job: str, settings: Settings | None, inputs: Files, outputs: Files) -> list[str]:
    """The command that does a job, as a list of words; it has no log, and leaves no record."""
    given = [] if settings is None else ["--settings", settings.as_argument()]
    files = file_words(job_module(job).run, {**inputs, **outputs})
    return ["python", f"scripts/{job}.py", *given, *files]
