"""One set of pins: pyproject.toml, requirements.lock and environment.yml agree."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def pins() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["dev"]]


def split(pin: str) -> tuple[str, str]:
    name, version = pin.split("==")
    return re.sub(r"[-_.]+", "-", name).lower(), version


def locked() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    return dict(split(line) for line in lines if line and not line.startswith("#"))


def test_what_the_project_uses_directly_is_pinned_exactly() -> None:
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins())


def test_the_lock_holds_every_pin() -> None:
    lock = locked()
    assert {pin: lock.get(split(pin)[0]) for pin in pins()} == {p: split(p)[1] for p in pins()}


def test_conda_users_get_the_same_pins() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    listed = environment["dependencies"][-1]["pip"]
    assert sorted(pin for pin in listed if "==" in pin) == sorted(pins())


def test_torch_is_the_build_that_needs_no_accelerator() -> None:
    assert locked()["torch"] == "2.13.0"
    assert not [name for name in locked() if name.startswith("nvidia")]
