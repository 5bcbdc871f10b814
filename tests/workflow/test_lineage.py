"""Versioning and lineage: what is restored is right, what is wrong is found, what is asked is
answered. In temporary clones, with the real pipeline."""

import asyncio
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import asyncssh
import boto3
import pandas as pd
import pytest
import responses
import yaml
from clones import (
    BIN,
    ROOT,
    call,
    commit,
    differences,
    edit_record,
    edit_records,
    jobs,
    records,
    small_clone,
    snakemake,
    start,
    wait_until,
)
from moto.server import ThreadedMotoServer
from rocrate_validator import models, services
from test_pipeline import CI, dry_run

pytestmark = pytest.mark.workflow
T = TypeVar("T")

TABLE = "results/ci/tables/noise_free_p10.tex"
CELL = "causal_dq, case_a, delta=0.5"
GATHER = ["aggregate", "overall", "describe", "summarise_training", "claims", "provenance"]
GATHER += ["metrics"]
"""Rules that are given all settings: a change of any runs them, and what shows their results."""
SHOW = ["tables", "figures", "pictures", "document", "notebook", "front_page", "report"]
SHOW += ["cards"]
STAGES = ["data", "graphs", "networks", "delays", "report"]
OWN = ("dvc.yaml", "data/raw.dvc")
"""What DVC has of this profile; without it DVC speaks of every profile with a lock in the clone."""


def causaldq(folder: Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """The command-line tools, with the clone's own library."""
    return call(
        folder, "env", f"PYTHONPATH={folder}/src", "python", "-m", "causaldq", *arguments,
        check=check,
    )  # fmt: skip


def verify(folder: Path) -> None:
    assert "what the records say" in causaldq(folder, "verify", "results/ci").stdout


def findings(folder: Path) -> dict[str, tuple[str, str]]:
    """What verify says, by file."""
    done = causaldq(folder, "verify", "results/ci", "--json", check=False)
    assert done.returncode == 1, done.stdout
    (verdict,) = json.loads(done.stdout)
    return {f["file"]: (f["kind"], f["why"]) for f in verdict["findings"]}


def edit(folder: Path, name: str, old: str, new: str) -> None:
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1))


def add_setting(folder: Path, line: str) -> None:
    with (folder / "config/ci.yaml").open("a") as handle:
        handle.write(f"{line}\n")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def copy(folder: Path, to: Path) -> Path:
    return shutil.copytree(folder, to, symlinks=True)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which a part of the test profile has run, for all that runs it again."""
    folder = small_clone(tmp_path_factory.mktemp("small") / "clone")
    snakemake(folder, "-j2", *CI)
    return folder


@pytest.fixture
def copy_of_small(small: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return copy(small, tmp_path / "clone")


@pytest.fixture(scope="module")
def origin(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose results are committed, and whose artifacts are in a folder remote."""
    folder = copy(small, tmp_path_factory.mktemp("origin") / "clone")
    call(folder, "make", "publish", "--assume-old=environment", f"BIN={BIN}", "CONFIG=ci")
    commit(folder, "results", "results/ci")
    call(folder, "dvc", "push", *OWN)
    return folder


@pytest.fixture
def restored(origin: Path, tmp_path: Path) -> Path:
    """What somebody else gets: git clone, dvc pull."""
    folder = tmp_path / "restored"
    call(tmp_path, "git", "clone", "-q", str(origin), str(folder))
    remote = str(origin / ".dvc-storage")
    call(folder, "dvc", "remote", "modify", "--local", "storage", "url", remote)
    call(folder, "dvc", "pull", *OWN)
    return folder


@pytest.fixture(scope="module")
def reseeded(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Restored without Snakemake's notes, then run with another seed."""
    folder = copy(small, tmp_path_factory.mktemp("reseeded") / "clone")
    commit(folder, "results", "results/ci")
    shutil.rmtree(folder / ".snakemake")
    add_setting(folder, "seed: 3")
    stale = findings(folder)
    assert stale["artifacts/ci/streams/sim_p10.npz"] == (
        "stale",
        "made with other settings (seed: 20250712 → 3)",
    )
    snakemake(folder, "-j2", *CI)
    commit(folder, "results with another seed", "results/ci")
    return folder


# --- records ---------------------------------------------------------------------------


def test_every_job_has_a_record_and_read_what_its_rule_declares(finished: Path) -> None:
    found = records(finished).values()
    planned = jobs(snakemake(finished, "-n", "--forceall", *CI).stdout)
    assert len(found) == sum(planned.values())
    files = {p for p in (finished / "results/ci/records").rglob("*") if p.is_file()}
    assert {p.name for p in files} == {f"{record['rule']}.jsonl.xz" for record in found}
    maker = {name: record for record in found for name in record["outputs"]}
    for record in found:
        declared = set(record["snakemake"]["input"])
        beside = {name for d in declared & maker.keys() for name in maker[d]["outputs"]}
        assert declared <= set(record["inputs"]), record["job"]
        assert set(record["inputs"]) <= declared | beside, record["job"]
        # Networks that one protocol alone needs have a rule of their own.
        assert record["snakemake"]["rule"].removesuffix("_paper") == record["rule"]
        assert record["status"] == 0
        assert record["code"]["dirty"] is False
        assert repr(record["code"]["hash"]) in record["snakemake"]["params"]


# --- restored trees --------------------------------------------------------------------


def test_a_restored_tree_is_complete_and_runs_exactly_what_a_change_asks_for(
    small: Path, restored: Path
) -> None:
    assert "Nothing to be done" in snakemake(restored, "-j2", *CI).stdout
    verify(restored)
    assert differences(restored, small) == []
    everything = jobs(snakemake(restored, "-n", "--forceall", *CI).stdout)
    shown = {rule: everything[rule] for rule in (*GATHER, *SHOW) if rule in everything}
    networks = {"train": 1, "calibrate": 1, "evaluate": 1, "small_files": 1, **shown}
    study = {rule: everything[rule] for rule in ("propagation", "gather_propagation")}
    settings = restored / "config/ci.yaml"
    before = settings.read_text()
    for change, expected in {
        "seed: 3": everything,
        # The study's second graph takes the second location-agnostic network.
        "training_seeds: 2": networks
        | {"train_equivariant": 1, "propagation": 1, "gather_propagation": 1},
        "discovery: {level: 0.01}": networks | {"discover": 1} | study,
        "report: {title: Other, note: Other.}": shown,
    }.items():
        key = change.partition(":")[0]
        rest = {k: v for k, v in yaml.safe_load(before).items() if k != key}
        settings.write_text(f"{yaml.safe_dump(rest)}\n{change}\n")
        assert dry_run(restored) == expected, change
    settings.write_text(before)
    edit(restored, "config/ci.yaml", "    - 0.5\n    - 2.0\n", "    - 0.5\n    - 1.0\n")
    measured = {"evaluate": 2, "small_files": 1}
    assert dry_run(restored) == shown | measured, "one delta: evaluation only"
    settings.write_text(before)
    edit(restored, "src/causaldq/learn/reward.py", "\n", "\n# a remark\n")
    assert dry_run(restored) == {}


def test_notes_of_other_files_are_not_believed(reseeded: Path, tmp_path: Path) -> None:
    """Files of the first seed, Snakemake's notes of the second, settings of the second."""
    folder = copy(reseeded, tmp_path / "clone")
    call(folder, "git", "checkout", "-q", "HEAD~1", "--", "results")
    assert dry_run(folder)["train"] == 1
    assert findings(folder)["results/ci/add.csv"][0] == "stale"


def test_results_without_records_are_made_again(copy_of_small: Path) -> None:
    shutil.rmtree(copy_of_small / ".snakemake")
    shutil.rmtree(copy_of_small / "results/ci/records")
    found = findings(copy_of_small)
    kind, why = found.pop("results/ci/manifest.json")
    assert kind == "changed"
    assert "is gone" in why
    assert {kind for kind, _ in found.values()} == {"unexplained"}
    done = snakemake(copy_of_small, "-n", *CI)
    assert "no record says how it was made" in done.stdout
    assert jobs(done.stdout) == jobs(snakemake(copy_of_small, "-n", "--forceall", *CI).stdout)


def test_stale_results_are_found_and_repaired(small: Path, reseeded: Path) -> None:
    verify(reseeded)
    changed = differences(reseeded, small)
    assert "artifacts/ci/runs/p10.greedy.csv" in changed
    assert "artifacts/ci/checkpoints/p10.causal_dq.s0.paper.safetensors" in changed
    assert "Nothing to be done" in snakemake(reseeded, "-j2", *CI).stdout


def test_a_clone_without_artifacts_is_verified_down_to_the_runs(
    origin: Path, tmp_path: Path
) -> None:
    """Clean, with one line on what is not here; nothing is pulled."""
    folder = tmp_path / "clone"
    call(tmp_path, "git", "clone", "-q", str(origin), str(folder))
    assert not (folder / "artifacts").exists()
    told = causaldq(folder, "verify", "results/ci").stdout
    assert "what the records say" in told
    (line,) = [line for line in told.splitlines() if "not here" in line]
    assert re.search(r"ci: not here: \d+ files of [\d.]+ MB \(.*in checkpoints", line)
    assert re.search(r"`snakemake` makes them again in about \d+ (s|minutes) of one core", line)
    printed = "Causal DQ, case (a), δ = 0.5, fair protocol"
    told = causaldq(folder, "trace", "ci:noise_free_p10", "--cell", printed).stdout
    assert "recomputed from its runs: the same" in told
    assert "Verified down to the runs: " in told
    assert "`replay` makes them again in about" in told


def test_the_auditors_walk_by_commands(origin: Path, tmp_path: Path) -> None:
    """As the documentation has it, with the test profile in the place of the paper's."""
    folder = tmp_path / "clone"
    call(tmp_path, "git", "clone", "-q", str(origin), str(folder))
    page = (ROOT / "docs/audit.md").read_text()
    for old, new in {"paper:": "ci:", "results/paper": "results/ci", "_p50": "_p10"}.items():
        page = page.replace(old, new)
    commands = [
        shlex.split(words) for words in re.findall(r"^\$ python -m causaldq (.*)$", page, re.M)
    ]
    assert [words[0] for words in commands] == ["trace", "verify", "replay"]
    told = {words[0]: causaldq(folder, *words).stdout for words in commands}
    assert "recomputed from its runs: the same" in told["trace"]
    assert "starts here: made from its settings and seed alone" in told["trace"]
    assert "ci: not here: " in told["verify"]
    assert ": as in commit " in told["verify"]
    assert told["replay"].endswith("Replayed: everything is the same.\n")


# --- dvc repro -------------------------------------------------------------------------


def test_dvc_says_what_moved_between_two_commits(origin: Path, tmp_path: Path) -> None:
    """After a run that Snakemake did, DVC is up to date, adds nothing, and compares commits."""
    folder = copy(origin, tmp_path / "clone")
    assert "up to date" in call(folder, "dvc", "status", *OWN).stdout
    before = {p: p.read_bytes() for p in (folder / "results/ci").rglob("*") if p.is_file()}
    assert "Running stage" not in call(folder, "dvc", "repro").stdout
    assert {p: p.read_bytes() for p in (folder / "results/ci").rglob("*") if p.is_file()} == before
    verify(folder)
    place = folder / "results/ci/metrics.json"
    metrics = json.loads(place.read_text())
    old = metrics["delay"]["fair"]["greedy"]["delta=0.5"]
    assert old == round(measured_delay(folder, "greedy", "fair", 0.5), 2)
    metrics["delay"]["fair"]["greedy"]["delta=0.5"] = old + 1
    claim = next(iter(metrics["claims"]))
    metrics["claims"][claim] = "holds, for once"
    place.write_text(json.dumps(metrics))
    curve = pd.read_csv(folder / "results/ci/headline_curve.csv")
    curve.assign(fair=curve["fair"] + 1).to_csv(folder / "results/ci/headline_curve.csv")
    add_setting(folder, "seed: 3")
    commit(folder, "other numbers", "results/ci")
    shown = json.loads(call(folder, "dvc", "metrics", "diff", "HEAD~1", "HEAD", "--json").stdout)
    moved = shown["results/ci/metrics.json"]
    assert moved["delay.fair.greedy.delta=0.5"]["diff"] == pytest.approx(1)
    assert moved[f"claims.{claim}"]["new"] == "holds, for once"
    assert len(moved) == 2
    assert "metrics.json" in call(folder, "dvc", "metrics", "show").stdout
    settings = json.loads(call(folder, "dvc", "params", "diff", "HEAD~1", "HEAD", "--json").stdout)
    assert settings["config/ci.yaml"]["seed"]["new"] == 3
    call(folder, "dvc", "plots", "diff", "HEAD~1", "HEAD", "--out", "plots")
    page = (folder / "plots/index.html").read_text()
    assert "Delay of Causal DQ in the headline scenario" in page


def measured_delay(folder: Path, method: str, protocol: str, delta: float) -> float:
    rows = pd.read_csv(folder / "results/ci/add.csv")
    rows = rows[(rows["method"] == method) & (rows["protocol"] == protocol)]
    return float(rows[(rows["delta"] == delta) & (rows["setting"] == "case_a")]["add"].iloc[0])


def test_dvc_repro_does_what_snakemake_does(origin: Path, tmp_path: Path) -> None:
    by_dvc, by_snakemake = (copy(origin, tmp_path / name) for name in ("dvc", "snakemake"))
    assert "Running stage" not in call(by_dvc, "dvc", "repro").stdout
    for folder in (by_dvc, by_snakemake):
        edit(folder, "config/ci.yaml", "    - 0.5\n    - 2.0\n", "    - 0.5\n    - 1.0\n")
        edit(folder, "src/causaldq/discovery/algorithms.py", "\n", "\n# a remark\n")
        with (folder / "src/causaldq/learn/reward.py").open("a") as handle:
            handle.write("\nEXTRA = 1\n")
    text = call(by_dvc, "dvc", "repro").stdout
    assert re.findall(r"^Running stage '(\w+)'", text, re.MULTILINE) == STAGES
    ran = set(re.findall(r"^(?:local)?rule (\w+):", text, re.MULTILINE)) - {"all", *STAGES[:4]}
    expected = {"train", "calibrate", "evaluate", "propagation", "gather_propagation"}
    expected |= {"small_files"}
    assert ran - {*GATHER, *SHOW} == expected
    snakemake(by_snakemake, "-j2", *CI, "--", "delays")
    names = ("tables", "figures", "headline", "overview", "paper", "appendix")
    shown = tuple(f"results/ci/{name}" for name in names)
    different = differences(by_dvc, by_snakemake)
    assert [name for name in different if not name.startswith(shown)] == []
    verify(by_dvc)
    assert "up to date" in call(by_dvc, "dvc", "status", *OWN).stdout


@pytest.mark.parametrize("line", ["seed: 3", "discovery: {level: 0.01}", "statistic: {decay: 0.1}"])
def test_dvc_notices_every_setting(origin: Path, line: str) -> None:
    settings = origin / "config/ci.yaml"
    before = settings.read_text()
    try:
        settings.write_text(f"{before}\n{line}\n")
        assert set(json.loads(call(origin, "dvc", "status", "--json", *OWN).stdout)) == {*STAGES}
    finally:
        settings.write_text(before)


def test_a_killed_repro_is_completed_by_the_next(
    origin: Path, reseeded: Path, tmp_path: Path
) -> None:
    folder = copy(origin, tmp_path / "clone")
    add_setting(folder, "seed: 3")
    run = start(folder, "dvc", "repro")
    checkpoints = folder / "artifacts/ci/checkpoints"
    wait_until(lambda: any(checkpoints.glob("*.partial.safetensors")), run)
    os.killpg(run.pid, signal.SIGSTOP)
    second = call(folder, "dvc", "repro", check=False)
    third = snakemake(folder, "-j1", *CI, check=False)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    assert second.returncode != 0
    assert re.search("is busy|another run is at work|acquire lock", second.stdout)
    assert third.returncode != 0
    assert "another run is at work in this folder" in third.stdout
    call(folder, "dvc", "repro")
    verify(folder)
    assert differences(folder, reseeded) == []


# --- remotes ---------------------------------------------------------------------------


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """An object store on this machine; the options of a DVC remote for it."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    boto3.client("s3", endpoint_url=address).create_bucket(Bucket="bucket")
    yield ["s3://bucket/causaldq", "endpointurl", address]
    server.stop()


@pytest.fixture
def ssh(tmp_path: Path) -> Iterator[list[str]]:
    """A server of files over ssh on this machine; the options of a DVC remote for it."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(tmp_path / "key")
    key.write_public_key(tmp_path / "key.pub")
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def wait(work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result(30)

    async def listen() -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[key],
            authorized_client_keys=str(tmp_path / "key.pub"),
            sftp_factory=True,
        )

    server = wait(listen())
    address = f"ssh://tester@127.0.0.1:{server.get_port()}{tmp_path}/store"
    yield [address, "keyfile", str(tmp_path / "key")]
    server.close()
    wait(server.wait_closed())
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)


@pytest.mark.parametrize("kind", ["s3", "ssh"])
def test_everything_comes_back_from_a_remote(
    kind: str, small: Path, origin: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    address, option, value = request.getfixturevalue(kind)
    folder = copy(origin, tmp_path / "clone")
    call(folder, "dvc", "remote", "add", "--local", "elsewhere", address)
    call(folder, "dvc", "remote", "modify", "--local", "elsewhere", option, value)
    call(folder, "dvc", "push", "--remote", "elsewhere", *OWN)
    for place in (".dvc/cache", ".dvc-storage", ".snakemake", "artifacts"):
        shutil.rmtree(folder / place)
    assert "ci: not here: " in causaldq(folder, "verify", "results/ci").stdout
    call(folder, "dvc", "pull", "--remote", "elsewhere", *OWN)
    assert "not here" not in causaldq(folder, "verify", "results/ci").stdout
    assert differences(folder, small) == []


# --- what is wrong is found ------------------------------------------------------------


def test_one_flipped_byte_is_named_and_will_be_repaired(copy_of_small: Path) -> None:
    harmed = [
        "artifacts/ci/injected/p10.npz",
        "artifacts/ci/checkpoints/p10.causal_dq.s0.paper.safetensors",
        "artifacts/ci/runs/p10.greedy.csv",
        TABLE,
    ]
    for name in harmed:
        stamp = (copy_of_small / name).stat()
        flip(copy_of_small / name)
        os.utime(copy_of_small / name, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    found = findings(copy_of_small)
    assert [name for name, (kind, _) in sorted(found.items()) if kind == "changed"] == sorted(
        harmed
    )
    kind, why = found["artifacts/ci/runs/p10.causal_dq.s0.csv"]
    assert kind == "stale"
    assert why.startswith("made from another artifacts/ci/")
    planned = dry_run(copy_of_small)
    assert planned["train"] == planned["inject"] == 1
    assert "simulate" not in planned


def test_a_tree_that_cannot_be_written_is_verified(copy_of_small: Path) -> None:
    # Root writes where nobody may, unless this right is taken from it.
    weaker = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    if weaker and not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed")
    folder = copy_of_small
    call(folder, "chmod", "-R", "a-w", ".")
    try:
        assert call(folder, *weaker, "touch", "new", check=False).returncode != 0
        done = call(
            folder, *weaker, "env", f"PYTHONPATH={folder}/src", "PYTHONDONTWRITEBYTECODE=1",
            "python", "-m", "causaldq", "verify", "results/ci",
        )  # fmt: skip
    finally:
        call(folder, "chmod", "-R", "u+w", ".")
    assert "what the records say" in done.stdout


def test_an_edited_number_is_not_verified(copy_of_small: Path) -> None:
    good = causaldq(copy_of_small, "trace", TABLE, "--cell", CELL).stdout
    assert "Verified" in good
    number = pd.read_csv(copy_of_small / TABLE.replace(".tex", ".csv"))["add"][0]
    edit(copy_of_small, TABLE, f"{number:.1f}", f"{number - 5:.1f}")
    done = causaldq(copy_of_small, "trace", TABLE, "--cell", CELL, check=False)
    assert done.returncode == 1
    assert "Not verified" in done.stdout
    assert f"✗ {TABLE}" in done.stdout


def test_the_records_are_those_of_a_commit(restored: Path) -> None:
    commit = call(restored, "git", "rev-parse", "--short=7", "HEAD").stdout.strip()
    assert f": as in commit {commit}\n" in causaldq(restored, "verify", "results/ci").stdout
    edit_record(restored, "simulate/sim_p10", lambda record: record["host"].update(cpu="another"))
    kind, why = findings(restored)["results/ci/manifest.json"]
    assert (kind, why) == (
        "changed",
        "records are not those it lists: simulate/sim_p10 is another",
    )
    causaldq(restored, "manifest", "results/ci")
    assert ": not committed\n" in causaldq(restored, "verify", "results/ci").stdout


def test_a_records_command_is_not_run(copy_of_small: Path) -> None:
    harm = "python -c 'import os; os.system(\"touch stolen\")'"
    edit_record(copy_of_small, "simulate/sim_p10", lambda record: record.update(command=harm))
    folder = copy_of_small / "replay"
    done = causaldq(
        copy_of_small, "replay", "artifacts/ci/streams/sim_p10.npz", "--folder", str(folder),
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "simulate/sim_p10 is not run again" in done.stdout
    assert not list(copy_of_small.rglob("stolen"))


def test_a_number_forged_in_every_file_and_record_is_found(copy_of_small: Path) -> None:
    """All but the runs: tidy table, table with its twin, all records, and the manifest."""
    tables = pd.read_csv(copy_of_small / "results/ci/add.csv")
    old = f"{tables['add'][0]:.10g}"
    names = ["results/ci/add.csv", TABLE.replace(".tex", ".csv"), TABLE]
    edit(copy_of_small, names[0], f",{old},", ",1.5,")
    edit(copy_of_small, names[1], f",{old},", ",1.5,")
    edit(copy_of_small, names[2], f"{tables['add'][0]:.1f}", "1.5")
    hashes = {name: hashlib.sha256((copy_of_small / name).read_bytes()) for name in names}

    def forge(record: dict[str, Any]) -> None:
        for side in ("inputs", "outputs"):
            for name in names:
                if name in record[side]:
                    record[side][name]["sha256"] = hashes[name].hexdigest()

    edit_records(copy_of_small, forge)
    causaldq(copy_of_small, "manifest", "results/ci")
    row = tables.iloc[0]
    cell = f"{row['method']}, {row['protocol']}, {row['setting']}, delta={row['delta']}"
    done = causaldq(copy_of_small, "trace", TABLE, "--cell", cell, check=False)
    assert done.returncode == 1
    assert f"add: the runs give {old}, the table has 1.5" in done.stdout
    told = causaldq(copy_of_small, "verify", "results/ci", check=False).stdout
    assert "what was done before is not what it tells of" in told


# --- what is asked is answered ---------------------------------------------------------


def test_a_cell_is_traced_to_where_its_streams_come_from(finished: Path, tmp_path: Path) -> None:
    page = tmp_path / "trace.html"
    done = causaldq(finished, "trace", TABLE, "--cell", CELL, "--json", "--html", str(page))
    chain = json.loads(done.stdout)
    assert chain["verified"]
    assert len(chain["cells"]) == 2, "one for each protocol"
    assert [job["record"]["rule"] for job in chain["jobs"]] == [
        *("simulate", "discover", "train", "inject", "calibrate", "evaluate"),
        *("aggregate", "tables"),
    ]
    for job in chain["jobs"]:
        assert job["record"]["command"].startswith("python scripts/")
        assert job["record"]["code"]["commit"]
    assert "Verified: every file of the chain is what its record says" in page.read_text()
    for name in ("results/ci/figures/delay_p10.png", "artifacts/ci/graphs/sim_p10.npz"):
        assert "Verified" in causaldq(finished, "trace", name).stdout


def subject(document: Path) -> str:
    """What a PDF says it is about; hyperref writes it in UTF-16 with octal escapes, or plainly."""
    (found,) = re.findall(rb"/Subject ?\((.*?)\)", document.read_bytes(), re.DOTALL)
    plain = re.sub(rb"\\(\d{3})", lambda match: bytes([int(match[1], 8)]), found)
    return plain.decode("utf-16" if plain.startswith(b"\xfe\xff") else "latin-1")


def test_every_page_prints_the_hash_that_verify_computes(finished: Path) -> None:
    told = causaldq(finished, "verify", "results/ci").stdout
    (short,) = re.findall(r"^ci: provenance ([0-9a-f]{12}),", told, re.MULTILINE)
    results = finished / "results/ci"
    pages = [results / "overview.html", *sorted((results / "notebooks").glob("*.html"))]
    assert len(pages) == 11
    for page in pages:
        assert f"Provenance <code>{short}</code>" in page.read_text(), page.name
    if (results / "paper.pdf").is_file():
        assert subject(results / "paper.pdf") == f"Provenance {short}"


def test_a_cell_is_replayed_in_an_empty_folder(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "replay"
    done = causaldq(
        finished, "replay", TABLE, "--cell", f"{CELL}, fair", "--folder", str(folder)
    ).stdout
    assert done.count("same bytes") == 6
    assert "Replayed: everything is the same." in done
    assert not (folder / "results/ci/add.csv").exists(), "other cells are not run"


def test_a_cell_is_replayed_where_artifacts_are_absent(copy_of_small: Path) -> None:
    """As in a clone: what is not here is made again, which is no fault."""
    cell = "greedy, case_a, delta=0.5, fair"
    shutil.rmtree(copy_of_small / "artifacts")
    (copy_of_small / "results/ci/small_files.parquet").unlink()
    done = causaldq(copy_of_small, "trace", TABLE, "--cell", cell, check=False)
    assert done.returncode == 1
    assert "artifacts/ci/runs/p10.greedy.csv is not there" in done.stdout
    done = causaldq(copy_of_small, "replay", TABLE, "--cell", cell)
    assert "the same from the replayed runs" in done.stdout
    assert "Replayed: everything is the same." in done.stdout


def test_a_replay_that_gives_other_bytes_fails(copy_of_small: Path) -> None:
    streams = "artifacts/ci/streams/sim_p10.npz"
    edit_record(
        *(copy_of_small, "simulate/sim_p10"),
        lambda record: record["outputs"][streams].update(sha256="0" * 64),
    )
    done = causaldq(copy_of_small, "replay", "artifacts/ci/streams/sim_p10.npz", check=False)
    assert done.returncode == 1
    assert "other bytes in artifacts/ci/streams/sim_p10.npz" in done.stdout


def test_two_commits_are_compared(small: Path, reseeded: Path) -> None:
    done = causaldq(reseeded, "diff", "HEAD~1", "HEAD", "--profile", "ci").stdout
    assert "  seed: 20250712 → 3\n" in done
    assert "  artifacts/streams/sim_p10.npz\n" in done
    assert "Code" not in done
    before, after = (pd.read_csv(f / "results/ci/add.csv") for f in (small, reseeded))
    moved = (before["add"] - after["add"]).abs() > 0
    assert f"Cells: {moved.sum()} of {len(before)} moved.\n" in done
    assert re.search(r"p10, .*: [\d.]+ → [\d.]+  \([-+][\d.]+ s\.e\.\)", done)
    same = causaldq(reseeded, "diff", "HEAD", "results/ci", "--profile", "ci").stdout
    assert same.startswith("No difference")


TERMS_OF_RO_CRATE_1_1 = {
    "File": "http://schema.org/MediaObject",
    "conformsTo": "http://purl.org/dc/terms/conformsTo",
    "ComputationalWorkflow": "https://bioschemas.org/ComputationalWorkflow",
    "FormalParameter": "https://bioschemas.org/FormalParameter",
    "input": "https://bioschemas.org/ComputationalWorkflow#input",
    "output": "https://bioschemas.org/ComputationalWorkflow#output",
}
"""Those of its JSON-LD context that are not schema.org's own."""

SCHEMA_ORG = (
    "CreativeWork Dataset Organization SoftwareApplication SoftwareSourceCode ComputerLanguage"
    " HowTo HowToStep PropertyValue CreateAction ControlAction OrganizeAction about name version"
    " description url softwareVersion identifier encodingFormat contentSize softwareRequirements"
    " additionalType programmingLanguage valueRequired position workExample exampleOfWork value"
    " instrument agent object result startTime endTime actionStatus subjectOf propertyID unitCode"
    " license creator author publisher hasPart step datePublished mainEntity mentions"
    " Person Place location additionalProperty"
)
"""Those of its terms that are, as far as a crate of ours uses them."""


def test_a_crate_is_accepted_and_answers_the_eleven_questions(
    finished: Path, tmp_path: Path
) -> None:
    who = ("--operator", "Ada Example", "--host", "bench.example.org")
    causaldq(finished, "crate", str(tmp_path / "crate"), "--profile", "ci", *who)
    context = {term: f"http://schema.org/{term}" for term in SCHEMA_ORG.split()}
    context |= TERMS_OF_RO_CRATE_1_1
    with responses.RequestsMock() as web:
        web.get("https://w3id.org/ro/crate/1.1/context", json={"@context": context})
        result = services.validate(
            services.ValidationSettings(
                rocrate_uri=str(tmp_path / "crate"),
                profile_identifier="provenance-run-crate",
                requirement_severity=models.Severity.RECOMMENDED,
                cache_path=tmp_path / "cache",
            )
        )
    complaints = {(i.severity.name, i.check.identifier) for i in result.get_issues()}
    # Our scripts and the project have no address on the web; all else that is asked is there.
    assert complaints <= {
        ("RECOMMENDED", "process-run-crate-0.5_3.2"),
        ("RECOMMENDED", "process-run-crate-0.5_5.1"),
        ("RECOMMENDED", "ro-crate-1.1_31.2"),
    }
    metadata = json.loads((tmp_path / "crate/ro-crate-metadata.json").read_text())
    entity = {e["@id"]: e for e in metadata["@graph"]}
    workflow, run = entity["Snakefile"], entity["#run"]
    job = entity["#job-train%2Fp10.causal_dq.s0"]
    tool = entity[job["instrument"]["@id"]]
    usage = {entity[u["@id"]]["name"]: entity[u["@id"]]["value"] for u in job["resourceUsage"]}
    settings = next(entity[o["@id"]] for o in job["object"] if o["@id"].startswith("#settings"))
    connected = [entity[c["@id"]] for c in workflow["connection"]]
    assert "No container was used" in workflow["description"]  # 1: containers
    assert float(usage["cpuTime"]) > 0  # 2: resources
    assert int(usage["maxMemory"]) > 1e6
    assert {"@id": "config/ci.yaml"} in run["object"]  # 3: configuration files
    assert json.loads(settings["value"])["networks"][0]["network"] == "p10.causal_dq.s0.paper"
    assert tool["softwareRequirements"] == {"@id": "requirements.lock"}  # 4: environment
    assert (tmp_path / "crate/requirements.lock").is_file()
    assert job["startTime"] < job["endTime"]  # 5: duration of a step
    assert run["startTime"] < job["startTime"] < run["endTime"]  # 6: and of the whole
    assert job["actionStatus"].endswith("/CompletedActionStatus")  # 7: success
    assert {"@id": "results/ci/add.csv"} in run["result"]  # 8: inputs and outputs
    assert {"@id": "data/reference/published.csv"} in run["object"]
    code = {entity[p["@id"]]["name"]: entity[p["@id"]]["value"] for p in job["additionalProperty"]}
    assert re.fullmatch("[0-9a-f]{64}", code["code hash"])  # 9: code version
    head = call(finished, "git", "rev-parse", "HEAD").stdout.strip()
    assert code["commit"] == tool["version"] == workflow["version"] == head
    assert entity[job["agent"]["@id"]]["name"] == "Ada Example"
    assert entity[job["location"]["@id"]]["name"] == "bench.example.org"
    assert tool["@id"] == "scripts/train.py"  # 10: script around a component
    assert settings["exampleOfWork"] == {"@id": "#train-in-settings"}  # 11: parameters
    assert any(
        c["sourceParameter"]["@id"] == "#discover-out-output"
        and c["targetParameter"]["@id"] == "#train-in-graph"
        for c in connected
    )


def test_the_readmes_commands_answer(finished: Path) -> None:
    section = (ROOT / "docs/lineage.md").read_text().partition("## Where a number comes from")[2]
    commands = re.findall(r"^\$ python -m causaldq (.*)$", section.partition("\n## ")[0], re.M)
    assert [command.split()[0] for command in commands] == ["trace", "verify", "replay"]
    for command in commands[:2]:
        words = command.replace("quick", "ci").replace("0.25", "0.5")
        call(finished, "bash", "-c", f"PYTHONPATH=src python -m causaldq {words}")
