"""The locks: made from pyproject.toml, and checked against it.

requirements.lock has every package of the environment for Python 3.11 and later, with markers
where they differ; requirements-cuda.lock what PyPI's build of torch for Linux needs besides;
environment.yml the versions of requirements.lock for those who use conda.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import install
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CONDA = install.ROOT / "environment.yml"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "aarch64-apple-darwin", "windows")
CUDA = re.compile(r"(nvidia|cuda|triton)\b")
"""Names of what only the build of torch with CUDA needs."""
ENTRY = r"[a-z0-9-]+==[\w.]+( ; [^\\\n]+)?"
LEFT_OUT = ("tep",)
"""Extras that are not locked: what has to be compiled would fail where there is no compiler."""
HASH = r"--hash=sha256:[0-9a-f]{64}"
CPU_WHEELS = {
    "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64": (
        "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"
    ),
    "torch-2.13.0+cpu-cp312-cp312-manylinux_2_28_x86_64": (
        "4ca4a9394b0c771238a4f73590fdbbc4debad85ed0fa63d026ae1b085da7d6e2"
    ),
    "torch-2.13.0+cpu-cp313-cp313-manylinux_2_28_x86_64": (
        "3fbf9c9d1f3c10c2d59d04aca426dee9ccc6ceb32d255c61e93acc3b4f75fae6"
    ),
    "torch-2.13.0+cpu-cp314-cp314-manylinux_2_28_x86_64": (
        "d20fa53ee744502fa4c69818a720b05ca0d37abd055d4f6e66cae155114bc691"
    ),
    "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_aarch64": (
        "84453b69508ec79902f899c5ed9495acb9e2bbe9fda5f1d5d6f19e3c3842e1a7"
    ),
    "torch-2.13.0+cpu-cp312-cp312-manylinux_2_28_aarch64": (
        "6f307c2c32d764ffc6ff6893b801fad6d4752f3e67966cb8abf1843427c02604"
    ),
    "torch-2.13.0+cpu-cp313-cp313-manylinux_2_28_aarch64": (
        "0b8f7d0423027ae8b90c7977c627f3379f325363a08224dffad9b4b2d684a83d"
    ),
    "torch-2.13.0+cpu-cp314-cp314-manylinux_2_28_aarch64": (
        "ca021f9eb2f8345c83fa03e3a04587308afb8df71bd472670b3ece00df58621c"
    ),
}
"""Hashes of torch's builds without CUDA, which are not on PyPI, as PyTorch's index states them.

The first was computed from the file. pip refuses a file whose hash is not among them.
"""
HEADER = """\
# Every package of the environment, exactly, with the hashes of its files. Made from
# pyproject.toml by `python tools/lock.py make`; `make environment` installs it.
"""
CUDA_HEADER = """\
# What torch needs besides on Linux, if only its build with CUDA can be had. Made from
# pyproject.toml by `python tools/lock.py make`; `make environment` knows when to install it.
"""
CONDA_HEADER = """\
# For conda users: the versions of requirements.lock. Made by `python tools/lock.py make`.
name: causaldq
channels: [conda-forge, nodefaults]
dependencies:
  - python=3.11
  - pip
  - pip:
"""


def main() -> None:
    """Parse the command line and do it."""
    parser = argparse.ArgumentParser(description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    maker = verbs.add_parser("make", help="make the locks; versions stay as they are if they can")
    maker.add_argument("--upgrade", nargs="*", metavar="NAME", help="take the newest of these")
    verbs.add_parser("check", help="say where the locks do not fit; needs no network")
    verbs.add_parser("wheels", help="show that the library needs no compiler, on any Python")
    given = parser.parse_args()
    if given.verb == "make":
        make(given.upgrade)
    elif given.verb == "wheels":
        show_wheels()
    problems = check(install.ROOT)
    if problems:
        raise SystemExit("\n".join(problems))
    print("The locks fit pyproject.toml.")


def make(upgrade: list[str] | None) -> None:
    """Resolve for all Pythons and platforms at once, and write the three files."""
    options = ["--universal", "--fork-strategy", "fewest", "--generate-hashes"]
    options += [f"--extra={name}" for name in extras(install.ROOT)]
    options += ["--python-version", PYTHONS[0]]
    if upgrade is not None:
        options += [f"--upgrade-package={name}" for name in upgrade] or ["--upgrade"]
    old = [file.read_text() for file in (install.LOCK, install.CUDA_LOCK) if file.exists()]
    made = resolve(str(install.ROOT / "pyproject.toml"), *options, old="\n".join(old))
    cuda = {name: entry for name, entry in made.items() if CUDA.match(name)}
    packages = {name: entry for name, entry in made.items() if name not in cuda}
    hashes = [f"--hash=sha256:{digest}" for digest in CPU_WHEELS.values()]
    packages["torch"] = " \\\n    ".join([packages["torch"], *hashes])
    install.LOCK.write_text(HEADER + "\n".join(packages.values()) + "\n")
    install.CUDA_LOCK.write_text(CUDA_HEADER + "\n".join(cuda.values()) + "\n")
    CONDA.write_text(conda(install.ROOT))


def show_wheels() -> None:
    """Resolve what the library alone needs from wheels, for each Python and platform."""
    core = tomllib.loads((install.ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    for python in PYTHONS:
        for platform in PLATFORMS:
            options = ["--python-version", python, "--python-platform", platform]
            made = resolve("-", *options, "--only-binary", ":all:", given="\n".join(core))
            named = ", ".join(
                made[name]
                for name in sorted(canonicalize_name(Requirement(asked).name) for asked in core)
            )
            print(f"Python {python}, {platform}: {named}, and {len(made) - len(core)} more")


def resolve(source: str, *options: str, old: str = "", given: str = "") -> dict[str, str]:
    """Entries that satisfy requirements, staying with the versions of an old lock if they can."""
    # From the index alone: what else this machine knows, others do not have.
    local = ("UV_FIND_LINKS", "UV_EXTRA_INDEX_URL")
    told = install.uv_settings(sys.executable)
    settings = {name: value for name, value in told.items() if name not in local}
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "lock.txt"
        # Without hashes, so that those of all files come from the index.
        output.write_text(re.sub(rf" \\\n    {HASH}", "", old))
        command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-config", source]
        subprocess.run(
            [*command, *options, "--no-header", "--no-annotate", "--output-file", str(output)],
            env={**os.environ, **settings},
            check=True,
            input=given,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        return install.entries(output.read_text())


# --- checks ---------------------------------------------------------------------------------


def check(root: Path) -> list[str]:
    """Where the locks of a project do not fit, one line each."""
    main, cuda = ((root / file.name).read_text() for file in (install.LOCK, install.CUDA_LOCK))
    packages = install.entries(main)
    problems = []
    for requirement in direct(root):
        found = versions(packages.get(canonicalize_name(requirement.name), ""))
        if not found or not all(map(requirement.specifier.contains, found)):
            problems.append(f"pyproject.toml asks for {requirement}; locked: {found or 'nothing'}")
    for name, entry in [*packages.items(), *install.entries(cuda).items()]:
        for part in re.split(r"\n(?=\S)", entry):
            if not re.fullmatch(rf"{ENTRY}( \\\n    {HASH})+", part):
                problems.append(f"{name} is not locked to one version with hashes")
    problems += [f"{name} belongs to CUDA's lock" for name in packages if CUDA.match(name)]
    torch = versions(packages.get("torch", ""))
    for wheel, digest in CPU_WHEELS.items():
        if wheel.split("+")[0] not in {f"torch-{version}" for version in torch}:
            problems.append(f"CPU_WHEELS in tools/lock.py has {wheel}; locked: {torch}")
        elif digest not in packages["torch"]:
            problems.append(f"torch lacks the hash of {wheel}")
    problems += [f"an address: {found}" for found in re.findall(r".*://.*", main + cuda)]
    if (root / CONDA.name).read_text() != conda(root):
        problems.append(f"{CONDA.name} has other versions than {install.LOCK.name}")
    return problems


def direct(root: Path) -> list[Requirement]:
    """What pyproject.toml asks for: the library, its extras, and to build it."""
    settings = tomllib.loads((root / "pyproject.toml").read_text())
    project = settings["project"]
    asked = [*settings["build-system"]["requires"], *project["dependencies"]]
    for extra in extras(root).values():
        asked += extra
    return [found for found in map(Requirement, asked) if found.name != project["name"]]


def extras(root: Path) -> dict[str, list[str]]:
    """Those that are locked, with what they ask for."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    every: dict[str, list[str]] = project["optional-dependencies"]
    return {name: asked for name, asked in every.items() if name not in LEFT_OUT}


def versions(entry: str) -> list[str]:
    """The versions that an entry names: one, or several if Pythons or platforms differ."""
    return re.findall(r"^[\w.-]+==([^\s;]+)", entry, re.MULTILINE)


def conda(root: Path) -> str:
    """environment.yml."""
    packages = install.entries((root / install.LOCK.name).read_text())
    names = sorted({canonicalize_name(requirement.name) for requirement in direct(root)})
    pins = [f"{name}=={version}" for name in names for version in versions(packages.get(name, ""))]
    lines = [f"--extra-index-url {install.CPU_INDEX}", *pins, "--editable ."]
    return CONDA_HEADER + "".join(f"      - {line}\n" for line in lines)


if __name__ == "__main__":
    main()
