"""The library as others get it: the wheel and its own requirements, in an empty environment."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import install
import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
EXTRAS = {"torch", "snakemake", "dvc", "scikit-learn", "matplotlib", "pyyaml", "jinja2", "epyt"}


def run(
    *command: str, folder: Path = Path("/"), check: bool = True
) -> subprocess.CompletedProcess[str]:
    # Away from the project and with no settings of its: only what was installed can be found.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the files that git would take, so that nothing left over gets in."""
    source, output = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "src"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in ["pyproject.toml", *filter(None, names.split("\0"))]:
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps"]
    run(*pip, "--no-build-isolation", "--wheel-dir", str(output), str(source))
    (built,) = output.glob("causaldq-*.whl")
    return built


@pytest.fixture(scope="module")
def bin_folder(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment with the wheel and what it asks for, nothing else."""
    folder = tmp_path_factory.mktemp("empty") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    # The locked versions, from the cache if the environment was made by the installer.
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet"]
    where = ["--python", str(folder / "bin/python"), "--constraint", str(ROOT / install.LOCK.name)]
    settings = {**os.environ, **install.uv_settings(sys.executable)}
    subprocess.run([*uv, *where, str(wheel)], env=settings, check=True)
    return folder / "bin"


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"causaldq"}
    wanted = {str(file.relative_to(ROOT / "src")) for file in (ROOT / "src").rglob("*.py")}
    wanted |= {str(file.relative_to(ROOT / "src")) for file in (ROOT / "src").rglob("templates/*")}
    assert wanted | {"causaldq/py.typed"} <= set(names)


def test_the_library_alone_brings_no_pipeline_and_no_torch(bin_folder: Path) -> None:
    code = (
        "import json, importlib.metadata as m;"
        "print(json.dumps([d.metadata['Name'].lower() for d in m.distributions()]))"
    )
    found = set(json.loads(run(str(bin_folder / "python"), "-c", code).stdout))
    assert {"causaldq", "numpy", "scipy", "pandas"} <= found
    assert not found & EXTRAS
    assert len(found) < 25


def test_the_version_is_the_one_of_the_code(bin_folder: Path) -> None:
    code = (
        "import causaldq as c, importlib.metadata as m; print(c.__version__, m.version(c.__name__))"
    )
    of_code, of_metadata = run(str(bin_folder / "python"), "-c", code).stdout.split()
    assert of_code == of_metadata


def test_the_readmes_example_runs_there(bin_folder: Path, tmp_path: Path) -> None:
    section = README.partition("## As a library")[2].partition("\n## ")[0]
    found = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", section, re.DOTALL)
    assert found
    example, shown = found.groups()
    assert run(str(bin_folder / "python"), "-c", example, folder=tmp_path).stdout == shown
    assert (tmp_path / "plant.monitor").is_file()


def test_the_command_fits_and_watches_there(bin_folder: Path, tmp_path: Path) -> None:
    command = str(bin_folder / "causaldq")
    told = " ".join(run(command, "--help", folder=tmp_path).stdout.split())
    assert "verify, trace, replay and all else of the pipeline is not installed here" in told
    run(command, "example", "plant.csv", folder=tmp_path)
    fit = ["fit", "plant.csv", "--time", "minute", "--sensors", "3", "--normal", "1:700"]
    run(command, *fit, "--arl0", "50", "--output", "plant.monitor", folder=tmp_path)
    watched = run(command, "watch", "plant.monitor", "plant.csv", folder=tmp_path, check=False)
    assert watched.returncode == 3, watched.stderr
    assert "ALARM" in watched.stdout
