"""Reading the settings of a run.

`config/defaults.yaml` holds the method's settings; a profile such as
`config/quick.yaml` says what to run and may override any of them. A profile may extend
another file: `quick` extends `paper`, which extends `config/experiments.yaml`. `only: [p50]` keeps
some of the scenarios, and `leave_out: [p50, propagation.p100]` all but some of the scenarios
and of the problems of the study on propagation; where both are given, `only` decides on the
scenarios. All are merged and validated, and only then is a job graph built.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from causaldq.errors import ConfigError
from causaldq.files import one_line
from causaldq.methods.build import index_class
from causaldq.methods.registry import has_shared_network, index_methods, own_settings
from causaldq.pipeline.config import Config, MisfitError
from causaldq.pipeline.sources.registry import is_recorded

TYPED = re.compile(r"[-+]?\d+(\.\d*)?([eE][-+]?\d+)?|true|false|null")


def merge(base: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """`overlay` over `base`; mappings merge, everything else is replaced."""
    merged = dict(base)
    for key, value in overlay.items():
        below = merged.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(below, value) if both else value  # type: ignore[arg-type]
    return merged


def read_yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text())
    except FileNotFoundError:
        names = ", ".join(sorted(p.stem for p in path.parent.glob("*.yaml"))) or "none"
        raise ConfigError(f"{path} does not exist; profiles in {path.parent}: {names}") from None
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} is not valid YAML: {one_line(error)}") from None
    if not isinstance(content, dict):
        raise ConfigError(f"{path} must be a mapping of settings, not {type(content).__name__}")
    return content


def load_config(folder: Path, given: Mapping[str, Any]) -> Config:
    """The settings of one run.

    `given` is what the command line brought: nothing (the quick profile), a profile's
    name, single overrides, a whole profile file of the user's own, or, marked `complete`,
    settings to which nothing is to be added.
    """
    if given.get("complete"):
        return validate({key: value for key, value in typed(given).items() if key != "complete"})
    name = given.get("profile", "quick")
    profile_file = folder / f"{name}.yaml"
    own = "scenarios" in given and not profile_file.exists()
    profile = merge({} if own else read_yaml(profile_file), typed(given))
    base = read_yaml(folder / "defaults.yaml")
    merged = merge(base, _extended(folder, profile))
    only, left_out = merged.pop("only", None), merged.pop("leave_out", None)
    if left_out is not None:
        study = merged.get("propagation") or {}
        problems = {f"propagation.{name}": name for name in study.get("problems", {})}
        dropped = _listed(merged, "leave_out", left_out, problems)
        if only is None:
            only = [name for name in merged["scenarios"] if name not in dropped]
        if study:
            kept = {
                name: study["problems"][name] for p, name in problems.items() if p not in dropped
            }
            merged["propagation"] = {**study, "problems": kept}
    if only is not None:
        asked = _listed(merged, "only", only)
        for scenario in given.get("scenarios") or ():
            if scenario not in asked:
                raise ConfigError(
                    f"scenarios.{scenario}: {name} does not run it; ask for it by only=[{scenario}]"
                )
        merged = _some(merged, asked)
    return validate(merged)


def _extended(
    folder: Path, profile: dict[str, Any], beyond: tuple[str, ...] = ()
) -> dict[str, Any]:
    """A profile over those that it extends."""
    extended = profile.pop("extends", None)
    if extended is None:
        return profile
    if extended in beyond:
        raise ConfigError(f"extends: {extended} extends itself, by {', '.join(beyond)}")
    below = _extended(folder, read_yaml(folder / f"{extended}.yaml"), (*beyond, extended))
    return merge(below, profile)


def check_files(config: Config) -> None:
    """Refuse settings that name a file of the user's own which is not there.

    Snakemake would not miss it: what was once made from it is there, and would be served again.
    Paths are taken from the current folder, as jobs take them.

    Raises
    ------
    ConfigError
        If a file does not exist, or is a folder where only a file will do.
    """
    graph = config.discovery.file
    named = {} if graph is None else {"discovery.file": graph}
    for name, source in config.sources.items():
        if is_recorded(source):
            named |= {f"sources.{name}.{key}": path for key, path in source.own_files().items()}
    for place, path in named.items():
        if not Path(path).exists():
            raise ConfigError(f"{place}: {path} does not exist; put it there or correct the path")
        if place.endswith(".file") and not Path(path).is_file():
            raise ConfigError(f"{place}: {path} is a folder; give a file")


def _listed(values: Mapping[str, Any], key: str, given: Any, more: Iterable[str] = ()) -> list[str]:
    known = [*values.get("scenarios", {}), *more]
    names = given if isinstance(given, list) else [given]
    for name in names:
        if name not in known:
            raise ConfigError(f"{key}: there is no scenario {name!r}; give {', '.join(known)}")
    return names


def _some(values: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """The settings with some of the scenarios, and what these need."""
    scenarios = values.get("scenarios", {})
    kept = {name: scenarios[name] for name in scenarios if name in names}
    dropped = {name: scenarios[name] for name in scenarios if name not in names}
    unused = _sources(dropped) - _sources(kept)
    sources = {name: e for name, e in values.get("sources", {}).items() if name not in unused}
    shown = values.get("report", {}).get("showcase")
    report = {**values.get("report", {}), "showcase": None if shown in dropped else shown}
    of_one = {key: values.get(key) for key in ("cross", "flare_scale")}
    for key, part in of_one.items():
        if isinstance(part, Mapping) and part.get("scenario") in dropped:
            of_one[key] = None
    return {**values, "scenarios": kept, "sources": sources, "report": report, **of_one}


def _sources(scenarios: Mapping[str, Any]) -> set[Any]:
    return {entry.get("source") for entry in scenarios.values() if isinstance(entry, Mapping)}


def typed(value: Any) -> Any:
    """Numbers and truth values that arrive as text, as Snakemake hands on nested overrides."""
    if isinstance(value, Mapping):
        return {key: typed(part) for key, part in value.items()}
    if isinstance(value, list):
        return [typed(part) for part in value]
    if isinstance(value, str) and TYPED.fullmatch(value):
        return yaml.safe_load(value)
    return value


def validate(values: Mapping[str, Any]) -> Config:
    """Check the merged settings; the first thing wrong becomes one line."""
    try:
        config = Config.model_validate(_with_defaults(values))
    except ValidationError as error:
        raise ConfigError(_one_line(error)) from None
    known = [*config.learned, *index_methods()]
    listed = {"methods": config.methods}
    for name, scenario in config.scenarios.items():
        listed[f"scenarios.{name}.methods"] = scenario.methods or []
    if config.propagation is not None:
        # Agents learn on streams, and rows alone do not tell how a shift propagates.
        for told, learned in (("told_truth", config.learned), ("told_rows", {})):
            for method in getattr(config.propagation, told):
                if index_class(method) is None and method not in learned:
                    allowed = ", ".join([*learned, *index_methods()])
                    place = f"propagation.{told}"
                    raise ConfigError(str(MisfitError(place, method, f"one of {allowed}")))
    if config.cross is not None:
        listed["cross.policies"] = config.cross.policies
        _check_untrained("cross.statistics", config.cross.statistics)
    if config.faults is not None:
        _check_untrained("faults.also", config.faults.also)
    if config.flare_scale is not None:
        _check_untrained("flare_scale.methods", config.flare_scale.methods)
    for place, methods in listed.items():
        for method in methods:
            if method not in known:
                raise ConfigError(str(MisfitError(place, method, f"one of {', '.join(known)}")))
    return config


def _check_untrained(place: str, methods: Iterable[str]) -> None:
    for method in methods:
        if index_class(method) is None or has_shared_network(method):
            raise ConfigError(str(MisfitError(place, method, "methods that are not learned")))


def _with_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """Sources and scenarios take what they leave out from `source_defaults` and so on.

    A method whose settings are not given has those of its class.
    """
    filled = dict(values)
    filled["baselines"] = _over({name: {} for name in own_settings()}, filled.get("baselines", {}))
    by_kind = filled.pop("source_defaults", {})
    for_all = filled.pop("scenario_defaults", {})
    sources, scenarios = filled.get("sources"), filled.get("scenarios")
    if isinstance(sources, Mapping):
        filled["sources"] = {name: _with_kind(entry, by_kind) for name, entry in sources.items()}
    if isinstance(scenarios, Mapping):
        filled["scenarios"] = {name: _over(for_all, entry) for name, entry in scenarios.items()}
    return filled


def _with_kind(entry: Any, by_kind: Mapping[str, Any]) -> Any:
    named = _over({"kind": "simulation"}, entry)
    return _over(by_kind.get(named["kind"], {}), named) if isinstance(named, Mapping) else named


def _over(defaults: Mapping[str, Any], entry: Any) -> Any:
    return merge(defaults, entry) if isinstance(entry, Mapping) else entry


def _one_line(error: ValidationError) -> str:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"] if part != "[key]")
    text = first["msg"].removeprefix("Value error, ")
    if first["type"] == "value_error" and isinstance(first["ctx"]["error"], MisfitError):
        line = text
    elif first["type"] == "extra_forbidden":
        allowed = ", ".join(_keys_at(first["loc"][:-1]))
        line = f"{key}: there is no such setting; allowed here: {allowed}"
    elif first["type"] == "missing":
        line = f"{key}: is missing"
    else:
        line = f"{key}: {first['input']!r} is not allowed; {text[0].lower()}{text[1:]}"
    more = error.error_count() - 1
    return line + (f" (and {more} more)" if more else "")


def _keys_at(location: tuple[int | str, ...]) -> list[str]:
    """Names of the settings at a place of the config, for the error message."""
    model: Any = Config
    for part in location:
        if isinstance(model, type) and issubclass(model, BaseModel) and part in model.model_fields:
            model = model.model_fields[str(part)].annotation
        elif getattr(model, "__origin__", None) is dict:
            model = model.__args__[1]
    return list(getattr(model, "model_fields", []))
