"""The environment: what is locked, what is installed, and how the installer decides."""

import importlib.metadata
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import install
import lock
import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
FILES = ("pyproject.toml", "requirements.lock", "requirements-cuda.lock", "environment.yml")


# --- the locks ------------------------------------------------------------------------------


def test_the_locks_fit() -> None:
    assert lock.check(ROOT) == []


@pytest.mark.parametrize(
    ("file", "pattern", "replacement", "told"),
    [
        ("pyproject.toml", '"numpy>=2.0,<3"', '"numpy>=99"', "numpy>=99; locked: ['2."),
        ("pyproject.toml", '"numpy>=2.0,<3"', '"numpy", "unheard-of"', "unheard-of; locked: noth"),
        ("requirements.lock", r"\nscipy==.*?(?=\n\w)", "", "scipy<2,>=1.13; locked: nothing"),
        ("requirements.lock", r"(\nyarl==\S+)( \\\n    --hash=\S+)+", r"\1", "yarl is not locked"),
        ("requirements.lock", r"\nyarl==\S+", r"\nyarl>=1", "yarl is not locked"),
        ("requirements-cuda.lock", r"sha256:", "md5:", "nvidia-cublas is not locked"),
        ("requirements.lock", r"\nzipp==", r"\nnvidia-zipp==", "nvidia-zipp belongs to CUDA"),
        ("requirements.lock", r"\ntorch==2\S+", r"\ntorch==2.0.0", "locked: ['2.0.0']"),
        ("requirements.lock", lock.CPU_WHEELS[next(iter(lock.CPU_WHEELS))], "0" * 64, "torch lack"),
        ("requirements.lock", r"\A", "--index-url https://example.org/simple\n", "an address"),
        ("environment.yml", r"numpy==\S+", "numpy==2.0.0", "environment.yml has other"),
    ],
)
def test_a_lock_that_does_not_fit_is_told(
    tmp_path: Path, file: str, pattern: str, replacement: str, told: str
) -> None:
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path)
    text = (tmp_path / file).read_text()
    changed = re.sub(pattern, replacement, text, flags=re.DOTALL)
    assert changed != text
    (tmp_path / file).write_text(changed)
    assert any(told in problem for problem in lock.check(tmp_path)), lock.check(tmp_path)


def test_what_is_compiled_where_it_is_installed_is_not_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    locked = install.entries((ROOT / "requirements.lock").read_text())
    for extra in lock.UNLOCKED:
        names = [Requirement(asked).name for asked in project["optional-dependencies"][extra]]
        assert names
        assert not set(names) & set(locked)
    assert {*lock.extras(ROOT), *lock.UNLOCKED} == set(project["optional-dependencies"])


def test_what_is_installed_is_what_is_locked() -> None:
    """Seen by the metadata of this environment, for the entries that are for this Python."""
    packages = install.entries((ROOT / "requirements.lock").read_text())
    lines = [line.removesuffix(" \\") for entry in packages.values() for line in entry.split("\n")]
    asked = [Requirement(line) for line in lines if not line.startswith(" ")]
    here = [each for each in asked if each.marker is None or each.marker.evaluate()]
    assert len(here) > 200
    wrong = {
        each.name: importlib.metadata.version(each.name)
        for each in here
        if importlib.metadata.version(each.name) not in each.specifier
    }
    assert wrong == {}


def test_an_entry_can_differ_by_python() -> None:
    text = "# words\na==1 ; python_version < '3.12' \\\n    --hash=x\na==2 \\\n    --hash=y\nb==1\n"
    found = install.entries(text)
    assert list(found) == ["a", "b"]
    assert lock.versions(found["a"]) == ["1", "2"]


# --- choosing a Python ----------------------------------------------------------------------


def fake_python(folder: Path, name: str, prints: str, status: int = 0) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\necho {prints}\nexit {status}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_the_newest_python_that_works_is_chosen(path: Path) -> None:
    fake_python(path, "python3.13", "", status=127)  # a name that no version stands behind
    fake_python(path, "python3.12", "3 12", status=1)  # no venv module
    fake_python(path, "python3.11", "3 11")
    fake_python(path, "python3", "3 9")
    assert install.choose(None) == str(path / "python3.11")
    fake_python(path, "python3.12", "3 12")
    assert install.choose(None) == str(path / "python3.12")
    assert install.choose("python3.11") == str(path / "python3.11")


def test_the_python_of_the_environment_itself_is_not_chosen(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    activated = path / ".venv/bin"
    activated.mkdir(parents=True)
    fake_python(activated, "python3.13", "3 13")
    fake_python(path, "python3", "3 11")
    monkeypatch.setattr(install, "VENV", path / ".venv")
    monkeypatch.setenv("PATH", f"{activated}{os.pathsep}{path}")
    assert install.choose(None) == str(path / "python3")


def test_a_python_without_venv_is_named_with_the_package(path: Path) -> None:
    fake_python(path, "python3", "3 13", status=1)
    with pytest.raises(SystemExit, match=r"^Python 3\.13 .*apt-get install python3\.13-venv$"):
        install.choose(None)


@pytest.mark.parametrize("given", [None, "python3"])
def test_an_old_python_is_refused_in_one_line(path: Path, given: str | None) -> None:
    fake_python(path, "python3", "3 10")
    with pytest.raises(SystemExit, match=r"^[^\n]*3\.11 or later[^\n]*$"):
        install.choose(given)


def test_make_finds_a_python_in_a_folder_with_spaces(tmp_path: Path) -> None:
    """As with the environment activated in a clone whose path has some."""
    (folder := tmp_path / "my clöne").mkdir()
    fake_python(folder, "python3", "3 13")
    said = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "environment"],
        cwd=ROOT, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert said.strip() == "PYTHON='' python3 tools/install.py"


# --- whether there is anything to do --------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose environment is this one, as far as the installer can see."""
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".venv/bin").mkdir(parents=True)
    # A link to Python alone would be one without packages.
    (tmp_path / ".venv/bin/python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (tmp_path / ".venv/bin/python").chmod(0o755)
    monkeypatch.delenv("PYTHON", raising=False)
    monkeypatch.setattr(install, "ROOT", tmp_path)
    monkeypatch.setattr(install, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(install, "STAMP", tmp_path / ".venv/installed")
    monkeypatch.setattr(install, "LOCK", tmp_path / "requirements.lock")
    monkeypatch.setattr(install, "CUDA_LOCK", tmp_path / "requirements-cuda.lock")
    return tmp_path


def test_an_environment_is_whole_only_as_it_was_stamped(project: Path) -> None:
    assert install.state() == {}
    (project / ".venv/installed").touch()
    assert install.state() == {}
    (project / ".venv/installed").write_text(json.dumps(install.wanted_state()))
    assert install.state() == install.wanted_state()
    assert install.main() == 0
    with (project / "requirements.lock").open("a") as file:
        file.write("more==1\n")
    assert install.state()["lock"] != install.wanted_state()["lock"]
    assert install.state()["project"] == install.wanted_state()["project"]


def test_another_python_is_another_environment(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stamp = project / ".venv/installed"
    stamp.write_text(json.dumps({"python": "", **install.wanted_state()}))
    monkeypatch.setenv("PYTHON", "python3.12")
    assert not install.wanted_state().items() <= install.state().items()
    stamp.write_text(json.dumps(install.wanted_state()))
    assert install.wanted_state().items() <= install.state().items()
    monkeypatch.delenv("PYTHON")  # any will do
    assert install.wanted_state().items() <= install.state().items()


def test_an_environment_that_was_moved_or_lost_its_python_is_not_whole(project: Path) -> None:
    stamp = project / ".venv/installed"
    stamp.write_text(json.dumps(install.wanted_state() | {"place": "/elsewhere/.venv"}))
    assert install.state() == {}
    stamp.write_text(json.dumps(install.wanted_state()))
    (project / ".venv/bin/python").unlink()
    assert install.state() == {}


# --- what can go wrong ---------------------------------------------------------------------------


def failed_install(monkeypatch: pytest.MonkeyPatch, error: Exception) -> str:
    def fail(_: dict[str, str]) -> None:
        raise error

    monkeypatch.setattr(install, "bring_up_to_date", fail)
    monkeypatch.setattr(sys, "argv", ["install.py", "--chosen"])
    with pytest.raises(SystemExit) as ended:
        install.main()
    return str(ended.value)


@pytest.mark.usefixtures("project")
def test_a_download_that_fails_is_told_with_what_to_look_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = failed_install(monkeypatch, subprocess.CalledProcessError(1, ["uv", "pip", "install"]))
    assert said.startswith("Failed: uv pip install\n")
    assert "PyPI" in said
    assert "`pip config list`" in said


@pytest.mark.usefixtures("project")
def test_a_disk_that_runs_full_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    said = failed_install(monkeypatch, OSError(28, "No space left on device", ".venv/x"))
    assert said == "Failed: [Errno 28] No space left on device: '.venv/x'"


def test_too_little_room_is_told_before_anything_is_downloaded(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert project == install.ROOT
    monkeypatch.setattr(install.subprocess, "run", lambda *_, **__: None)
    monkeypatch.setattr(install.shutil, "disk_usage", lambda _: SimpleNamespace(free=3e8))
    monkeypatch.setattr(install, "pip", lambda *_: pytest.fail("something is downloaded"))
    with pytest.raises(
        SystemExit, match=r"^Too little room in .*: .venv takes .* 0\.3 GB are free"
    ):
        install.make_environment()


def test_the_second_of_two_calls_says_that_it_waits(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    code = f"import install; install.wait_for_others(open({str(lock)!r})); print('mine')"
    with lock.open("w") as held:
        install.wait_for_others(held)
        second = subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT / "tools", stdout=subprocess.PIPE, text=True
        )
        assert second.stdout is not None
        assert "waiting" in second.stdout.readline()
    assert second.communicate()[0] == "mine\n"


def test_without_a_home_nothing_is_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """uv gives up if it cannot make its cache; a user made for a container has no home."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    told: list[str] = []
    monkeypatch.setattr(install, "run", lambda _command, more: told.extend(more))
    for home, names in ((tmp_path, []), (Path(os.devnull), ["UV_NO_CACHE", "PIP_NO_CACHE_DIR"])):
        monkeypatch.setenv("HOME", str(home))
        install.uv_settings.cache_clear()
        told[:] = install.uv_settings(sys.executable)
        install.pip("install")
        assert [name for name in told if "NO_CACHE" in name] == names
    install.uv_settings.cache_clear()


# --- which torch ----------------------------------------------------------------------------


class Tools:
    """In place of uv and pip: notes the calls, and fails where it is told to."""

    def __init__(self, fails: str) -> None:
        self.fails = re.compile(fails)
        self.calls: list[str] = []

    def __call__(self, command: list[str], more: dict[str, str], silent: bool = False) -> None:
        file = Path(command[command.index("--requirement") + 1])
        names = re.findall(r"^(\S+==\S+)", file.read_text(), re.MULTILINE)
        command = [*command, *names]
        self.calls.append(" ".join(command))
        assert "--require-hashes" in command
        if self.fails.search(self.calls[-1]):
            raise subprocess.CalledProcessError(1, command)


def torch_calls(
    monkeypatch: pytest.MonkeyPatch, fails: str, system: str = "Linux"
) -> tuple[list[str], str]:
    tools = Tools(fails)
    said: list[str] = []
    monkeypatch.setattr(install, "run", tools)
    monkeypatch.setattr(install, "say", said.append)
    monkeypatch.setattr(install, "uv_settings", lambda _: {})
    monkeypatch.setattr(install.platform, "system", lambda: system)
    entry = install.entries((ROOT / "requirements.lock").read_text())["torch"]
    install.install_torch(entry)
    return [call for call in tools.calls if "--dry-run" not in call], "\n".join(said)


@pytest.mark.usefixtures("project")
def test_torch_comes_from_a_wheel_folder_first(monkeypatch: pytest.MonkeyPatch) -> None:
    (call,), said = torch_calls(monkeypatch, fails="nothing fails")
    assert "--no-index" in call
    assert call.endswith("torch==2.13.0+cpu")
    assert "GB" not in said


@pytest.mark.usefixtures("project")
def test_torch_comes_from_pytorchs_cpu_index_next(monkeypatch: pytest.MonkeyPatch) -> None:
    (call,), said = torch_calls(monkeypatch, fails="--no-index")
    assert f"--index-url {install.CPU_INDEX}" in call
    assert call.endswith("torch==2.13.0+cpu")
    assert "GB" not in said


@pytest.mark.usefixtures("project")
def test_torch_with_cuda_is_announced_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    (call,), said = torch_calls(monkeypatch, fails=r"\+cpu")
    assert "torch==2.13.0 " in call
    assert "nvidia-cublas==" in call
    assert re.search(r"\d GB to download, \S+ GB on disk", said)
    assert "PIP_FIND_LINKS" in said


@pytest.mark.usefixtures("project")
def test_a_wheel_with_a_wrong_hash_is_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The dry run finds it, uv and pip refuse it; the next place is tried."""
    calls, _ = torch_calls(monkeypatch, fails=r"^(?!.*--dry-run).*--no-index")
    assert len(calls) == 3
    assert f"--index-url {install.CPU_INDEX}" in calls[-1]


@pytest.mark.usefixtures("project")
def test_pip_does_what_uv_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, said = torch_calls(monkeypatch, fails=r"^uv pip install (?!.*--dry-run)")
    assert [call.split()[0] for call in calls] == ["uv", "python"]
    # What uv left half installed looks whole to pip.
    assert "--ignore-installed" in calls[1]
    assert "pip tries the same" in said


@pytest.mark.usefixtures("project")
def test_elsewhere_than_on_linux_torch_has_no_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    (call,), said = torch_calls(monkeypatch, fails=r"\+cpu", system="Darwin")
    assert call.endswith("torch==2.13.0")
    assert said == ""


@pytest.mark.usefixtures("project")
def test_uv_is_told_what_pip_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_", "SSL_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example.org/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels /more")
    monkeypatch.setenv("UV_EXTRA_INDEX_URL", "https://kept.example.org")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://other.example.org")
    install.uv_settings.cache_clear()
    told = install.uv_settings(sys.executable)
    install.uv_settings.cache_clear()
    assert told["UV_INDEX_URL"] == "https://mirror.example.org/simple"
    assert told["UV_FIND_LINKS"] == "/wheels,/more"
    assert "UV_EXTRA_INDEX_URL" not in told
