"""What somebody, or bad luck, may do to a finished run, and who notices.

The page docs/attacks.md shows this table: `python tests/slow/attacks.py` with tests/workflow on
PYTHONPATH prints it.
"""

import io
import json
import os
import shlex
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from clones import IDENTITY, call, commit, edit_record, records
from tampering import (
    RECORDS,
    add_record,
    change,
    drop_record,
    edit,
    edit_line,
    flip,
    forge,
    nested,
    packed_line,
    put,
    swap,
    then_forged,
)

from causaldq.pipeline.lineage.record_files import fold, pack, unfolded

TABLE, TWIN = "results/ci/tables/noise_free_p10.tex", "results/ci/tables/noise_free_p10.csv"
ADD, RUN = "results/ci/add.csv", "artifacts/ci/runs/p10.causal_dq.s0.csv"
LIMITS, SMALL = "artifacts/ci/limits/p10.causal_dq.s0.json", "results/ci/small_files.parquet"
STREAMS, FACTS = "artifacts/ci/streams/sim_p10.npz", "artifacts/ci/streams/sim_p10.json"
PUBLISHED, MANIFEST = "data/reference/published.csv", "results/ci/manifest.json"
RAW = "data/raw/tep_classic/d01_te.dat"
CELL = "causal_dq, fair, case_a, delta=0.5"
EVALUATE, OTHER = "evaluate/p10.causal_dq.s0", "evaluate/p10.greedy"
NOT_COMMITTED = "not committed"
PROTOCOLS = ("fair", "paper")


@dataclass(frozen=True)
class Attack:
    """Something done to a run, and what those say who notice it; others must not."""

    what: str
    harm: Callable[[Path], object]
    verify: str | None = None
    trace: str | None = None
    target: tuple[str, str | None] = (TABLE, CELL)
    """What is traced."""
    by_command: bool = False
    """Whether it is asked on the command line, with the run's own code and plan."""
    environment: dict[str, str] = field(default_factory=dict)


def flips() -> Iterator[Attack]:
    """One bit, in a file of each kind; the file itself is traced."""
    for kind, name in {
        "the list of downloaded files": "artifacts/ci/fetched/tep.json",
        "streams": STREAMS,
        "what is known of streams": FACTS,
        "injected shifts": "artifacts/ci/injected/p10.npz",
        "a graph": "artifacts/ci/graphs/sim_p10.npz",
        "a network": "artifacts/ci/checkpoints/p10.causal_dq.s0.fair.safetensors",
        "a log of training": "artifacts/ci/curves/p10.causal_dq.s0.fair.csv",
        "limits": LIMITS,
        "runs": RUN,
        "a study of shifts that spread": "artifacts/ci/propagation/p6.g0.json",
        "the tidy table": ADD,
        "a table": TABLE,
        "a table's rows": TWIN,
        "a figure": "results/ci/figures/delay_p10.png",
        "the overview": "results/ci/overview.html",
        "a notebook's page": "results/ci/notebooks/detection.html",
        "the page of cards": "results/ci/cards.html",
        "metrics": "results/ci/metrics.json",
        "the small files kept for clones": SMALL,
        "the provenance": "results/ci/provenance.json",
    }.items():
        yield Attack(
            f"one bit in {kind}",
            lambda root, name=name: flip(root, name),
            verify=f"{name}: ",
            trace=f"{name} ",
            target=(name, None),
        )
    yield Attack(
        "one bit in downloaded data",
        lambda root: flip(root, RAW),
        verify=f"made from another {RAW}",
        trace=f"{RAW} has ",
        target=("results/ci/tables/tep_m5.tex", None),
    )
    yield Attack(
        "one bit in the paper's numbers",
        lambda root: flip(root, PUBLISHED),
        verify=f"made from another {PUBLISHED}",
        trace=f"{PUBLISHED} has ",
    )
    yield Attack("one bit in the manifest", lambda root: flip(root, MANIFEST), verify="is damaged")
    yield Attack("one bit in a record", _bit_of_record, verify="is another", trace="but its record")


def _bit_of_record(root: Path) -> None:
    """In a digit of a hash, so that it still is a record."""
    known = records(root)[EVALUATE]["outputs"][RUN]
    other = ("1" if known["sha256"][0] == "0" else "0") + known["sha256"][1:]
    change(EVALUATE, outputs={RUN: known | {"sha256": other}})(root)


# --- accidents ---------------------------------------------------------------------------


def _cut(root: Path, name: str) -> None:
    put(root / name, (root / name).read_bytes()[:-30])


def _as_folder(root: Path) -> None:
    (root / ADD).unlink()
    (root / ADD).mkdir()


def _merge_conflict(root: Path) -> None:
    edit_line(root, "evaluate", lambda line: f"<<<<<<< ours\n{line}\n=======\n{line}\n>>>>>>> it")


def accidents() -> Iterator[Attack]:
    yield Attack(
        "a table is gone",
        lambda root: (root / TABLE).unlink(),
        verify=f"{TABLE}: it is asked for",
        trace="is not there",
    )
    yield Attack(
        "runs are cut short", lambda root: _cut(root, RUN), verify=f"{RUN}: ", trace=f"{RUN} has "
    )
    yield Attack(
        "runs are empty", lambda root: put(root / RUN, ""), verify=f"{RUN}: ", trace=f"{RUN} has "
    )
    yield Attack(
        "the tidy table is a folder", _as_folder, verify=f"{ADD}: it is asked for", trace="add.csv"
    )
    yield Attack(
        "runs of two methods are swapped",
        lambda root: swap(root, RUN, "artifacts/ci/runs/p10.greedy.csv"),
        verify=f"{RUN}: ",
        trace=f"{RUN} has ",
    )
    yield Attack(
        "a file of somebody else's among the results",
        lambda root: put(root / "results/ci/tables/ours.csv", "a\n1\n"),
        verify="ours.csv: no record",
        trace="no successful record",
        target=("results/ci/tables/ours.csv", None),
    )
    yield Attack(
        "a merge leaves its marks in the records",
        _merge_conflict,
        verify="is no record",
    )
    yield Attack(
        "the file of a rule's records is cut short",
        lambda root: _cut(root, f"{RECORDS}/evaluate.jsonl.xz"),
        verify="records are not those it lists",
        trace="no successful record",
    )
    yield Attack(
        "the manifest is gone", lambda root: (root / MANIFEST).unlink(), verify="there is none"
    )
    yield Attack(
        "all records are gone",
        lambda root: shutil.rmtree(root / RECORDS),
        verify="is gone",
        trace="no successful record",
    )
    yield Attack(
        "dvc.lock is damaged",
        lambda root: put(root / "dvc.lock", "stages: [\n"),
        verify="dvc.lock is damaged",
    )
    yield Attack(
        "dvc.lock has another hash of a result",
        lambda root: put(root / "dvc.lock", _lock("0" * 32)),
        verify="stage delays of dvc.lock has another",
    )


def _lock(md5: str) -> str:
    return f"schema: '2.0'\nstages:\n  delays:\n    outs:\n    - {{path: {ADD}, md5: '{md5}'}}\n"


# --- forgeries ---------------------------------------------------------------------------


def _number(root: Path) -> tuple[str, str]:
    """The cell's number as rows and as the table spell it."""
    rows = pd.read_csv(root / TWIN)
    chosen = rows[(rows["method"] == "causal_dq") & (rows["protocol"] == "fair")]
    value = chosen[chosen["delta"] == 0.5]["add"].iloc[0]
    return f"{value:.10g}", f"{value:.1f}"


def _better_table(root: Path) -> None:
    edit(root, TABLE, _number(root)[1], "1.5")


def _better_rows(root: Path, *names: str) -> None:
    old = _number(root)[0]
    for name in names:
        edit(root, name, f",{old},", ",1.5,")


def _better_everywhere(root: Path) -> None:
    _better_table(root)
    _better_rows(root, TWIN, ADD)


def _better_runs(root: Path, *names: str) -> None:
    for name in names:
        runs = pd.read_csv(root / name)
        runs["delay"] = runs["delay"].clip(upper=2)
        runs.to_csv(root / name, index=False)


def _better_limit(root: Path) -> None:
    edit(root, LIMITS, '"arl0": ', '"arl0": 9')


def _published(root: Path) -> None:
    text = (root / PUBLISHED).read_text().replace("19.5", "99.5")
    put(root / PUBLISHED, text)


def _small_files(root: Path) -> None:
    """As in a clone: no artifacts, and other runs among the small files."""
    table = pq.read_table(root / SMALL).to_pydict()
    at = table["file"].index(RUN)
    table["content"][at] = table["content"][at].replace(b"9", b"8")
    pq.write_table(pa.table(table), root / SMALL)
    shutil.rmtree(root / "artifacts")
    forge(root, [SMALL])


def _picture(root: Path) -> None:
    swap(root, "results/ci/figures/delay_p10.png", "results/ci/figures/looks.png")


def _another_maker(root: Path) -> None:
    """A record of a later job, which says that it made the forged table from nothing."""
    _better_everywhere(root)
    said = records(root)["tables"]
    job = "tables/again"
    said |= {"job": job, "command": f"python scripts/tables.py --log logs/ci/{job}.log"}
    said |= {"settings": None, "seed": None, "inputs": {}, "ended": records(root)["cards"]["ended"]}
    said["outputs"] = {ADD: {"sha256": "0" * 64, "size": 1}}
    add_record(root, said)
    pack(root, root / RECORDS)
    forge(root, [TABLE, TWIN, ADD])


def forgeries() -> Iterator[Attack]:
    forged = then_forged
    yield Attack(
        "a table, with its hash in all records, provenance and manifest",
        forged(_better_table, TABLE),
        verify=NOT_COMMITTED,
        trace="is not what its tidy results give",
    )
    yield Attack(
        "its rows, with their hash everywhere",
        forged(lambda root: _better_rows(root, TWIN), TWIN),
        verify=NOT_COMMITTED,
        trace="is not what its tidy results give",
    )
    yield Attack(
        "table, rows and tidy table, with their hashes everywhere",
        forged(_better_everywhere, TABLE, TWIN, ADD),
        verify=NOT_COMMITTED,
        trace="add: the runs give ",
    )
    yield Attack(
        "runs, with their hash everywhere",
        forged(lambda root: _better_runs(root, RUN), RUN),
        verify=NOT_COMMITTED,
        trace="add: the runs give ",
    )
    yield Attack(
        "limits, with their hash everywhere",
        forged(_better_limit, LIMITS),
        verify=NOT_COMMITTED,
        trace="arl0: the runs give ",
    )
    yield Attack(
        "the paper's number, with its hash everywhere",
        forged(_published, PUBLISHED),
        verify="is not that of its commit",
        trace="published_add: the runs give ",
    )
    yield Attack(
        "runs among the small files of a clone, with the hash everywhere",
        _small_files,
        verify=RUN,
        trace=f"{RUN} has ",
    )
    yield Attack(
        "a figure, with its hash everywhere",
        forged(_picture, "results/ci/figures/delay_p10.png", "results/ci/figures/looks.png"),
        verify=NOT_COMMITTED,
    )
    yield Attack(
        "a number on the overview, with its hash everywhere",
        forged(
            lambda root: edit(root, "results/ci/overview.html", "0.5", "0.6"),
            "results/ci/overview.html",
        ),
        verify=NOT_COMMITTED,
    )
    yield Attack(
        "a record of another job that claims the tidy table",
        _another_maker,
        verify=f"{ADD}: made with other settings",
        trace="no job that gathers runs",
    )


# --- records ------------------------------------------------------------------------------


def _swap_records(root: Path) -> None:
    said = records(root)
    one, other = said[EVALUATE]["outputs"], said[OTHER]["outputs"]
    edit_record(root, EVALUATE, lambda record: record.update(outputs=other))
    edit_record(root, OTHER, lambda record: record.update(outputs=one))


def _twice(root: Path) -> None:
    """A second line for a job, after the good one, so that readers of the first are content."""
    said = records(root)["evaluate/tep_m5.greedy"] | {"operator": "somebody else"}
    place = root / RECORDS / "evaluate.jsonl.xz"
    fold(place, unfolded(place) + packed_line(said) + "\n")


def _loose(root: Path) -> None:
    add_record(root, records(root)[OTHER] | {"operator": "somebody else"})


def _stranger(root: Path) -> None:
    """A commit that is in the repository, as by a pull request, and not in the history."""
    made = subprocess.run(
        ["git", *IDENTITY, "commit-tree", "-m", "x", "HEAD^{tree}"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    change(EVALUATE, code={"commit": made.stdout.strip()})(root)
    forge(root)


def _link(root: Path) -> None:
    """A folder of results, moved out of the project with a link in its place."""
    shutil.move(root / "results/ci/tables", root.parent / "tables")
    (root / "results/ci/tables").symlink_to(root.parent / "tables")


def _escapes(root: Path) -> None:
    """A name that would write a good verdict on a terminal."""
    name = "\x1b[2J\rci: 1 files are what the records say\nci: all is well.csv"
    put(root / "results/ci" / name, "x")


def of_records() -> Iterator[Attack]:
    invalid = "cannot be right: "
    yield Attack(
        "a record is deleted, and the manifest made to fit",
        then_forged(lambda root: drop_record(root, EVALUATE)),
        verify=f"{RUN}: no record",
        trace="no successful record",
    )
    yield Attack(
        "two records are swapped",
        _swap_records,
        verify=f"its command does not make {RUN}",
        trace=f"{invalid}its command does not make {RUN}",
    )
    yield Attack(
        "a failed job's record",
        then_forged(change(EVALUATE, status=1)),
        verify=f"{RUN}: no record",
        trace="no successful record",
    )
    yield Attack(
        "a second record of a job in the same file", _twice, verify="a second record of the job"
    )
    yield Attack("a record beside the packed ones", _loose, verify=f"{OTHER} is another")
    yield Attack(
        "another seed",
        then_forged(change(EVALUATE, seed=7)),
        verify="its seed is 7",
        trace=f"{invalid}its seed is 7",
    )
    yield Attack(
        "other settings",
        then_forged(change(EVALUATE, settings={"method": "greedy"})),
        verify="its settings are not those of its command",
        trace=f"{invalid}its settings are not",
    )
    yield Attack(
        "a start before the commit",
        then_forged(change(EVALUATE, started="2020-01-01T00:00:00.000+00:00")),
        verify="it started before its commit",
        trace=f"{invalid}it started before its commit",
    )
    yield Attack(
        "an end in the future",
        then_forged(change(EVALUATE, ended="2999-01-01T00:00:00.000+00:00")),
        verify="it ended in the future",
        trace=f"{invalid}it ended in",
    )
    yield Attack(
        "another host", change(EVALUATE, host={"cpu": "faster"}), verify=f"{EVALUATE} is another"
    )
    yield Attack(
        "another operator, and the manifest made to fit",
        then_forged(change(EVALUATE, operator="somebody else")),
        verify=NOT_COMMITTED,
    )
    yield Attack(
        "a commit that does not exist",
        then_forged(change(EVALUATE, code={"commit": "d" * 40})),
        verify="is not in the history",
        trace="is not in the history",
    )
    yield Attack(
        "a commit that was never merged",
        _stranger,
        verify="is not in the history",
        trace="is not in the history",
    )
    yield Attack(
        "another hash of the code",
        then_forged(change(EVALUATE, code={"hash": "0" * 64})),
        verify="its code is not that of its commit",
        trace="its code is not that of its commit",
    )
    yield Attack(
        "a job that is called ../../x",
        lambda root: edit_line(
            root,
            "evaluate",
            lambda _: packed_line(records(root)[OTHER] | {"job": "evaluate/../../../x"}),
        ),
        verify="which has another place",
        trace="no successful record",
    )
    yield Attack(
        "an output outside the project",
        change(EVALUATE, outputs={"../outside.csv": {"sha256": "0" * 64, "size": 1}}),
        verify="is no plain path",
        trace="no successful record",
    )
    yield Attack(
        "a command of the forger's",
        then_forged(change(EVALUATE, command="python -c 'import os; os.system(\"x\")'")),
        verify="its command is no run of",
        trace="its command is no run of",
    )
    yield Attack(
        "a record with NaN",
        lambda root: edit_line(
            root,
            "tables",
            lambda line: (
                line.replace('"status":0', '"status":NaN')
                if '"status":0' in line
                else line[:-1] + ',"extra":NaN}'
            ),
        ),
        verify="NaN is no value of JSON",
        trace="no successful record",
    )
    yield Attack(
        "a record that nests without end",
        lambda root: edit_line(root, "tables", lambda _: nested(200_000)),
        verify="is no record",
        trace="no successful record",
    )
    yield Attack(
        "a record of 50 MB",
        change(EVALUATE, host={"cpu": "x" * 50_000_000}),
        verify=f"{EVALUATE} is another",
    )
    yield Attack(
        "results behind a link that leads out of the project",
        _link,
        verify="lies behind a link",
        trace="no successful record",
    )
    yield Attack(
        "a file's name with a terminal's commands", _escapes, verify="\\x1b[2J\\rci: 1 files"
    )


# --- archives, code and repositories --------------------------------------------------------


def _bomb(root: Path) -> None:
    """Small files that unfold to 200 GB: one content, named a hundred thousand times."""
    names = pa.array([f"artifacts/ci/runs/{n}.csv" for n in range(100_000)])
    content = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(100_000, np.int32)), pa.array([bytes(2_000_000)])
    )
    table = pa.table([names, content], names=["file", "content"])
    pq.write_table(table, root / SMALL, compression="zstd", store_schema=False)


def _zip_bomb(root: Path) -> None:
    with zipfile.ZipFile(root / STREAMS, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("rows.npy", bytes(200_000_000))


def _header(root: Path) -> None:
    """An array that says it has a million million rows."""
    text = io.BytesIO()
    kind = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 50)}
    np.lib.format.write_array_header_1_0(text, kind)
    with zipfile.ZipFile(root / STREAMS, "w") as archive:
        archive.writestr("rows.npy", text.getvalue())


def _other_code(root: Path) -> None:
    place = root / "src/causaldq/statistic.py"
    put(place, f"{place.read_text()}\nEXTRA = 1\n")


def _other_settings(root: Path) -> None:
    place = root / "config/ci.yaml"
    put(place, f"{place.read_text()}\nseed: 3\n")


def _other_repository(root: Path) -> None:
    shutil.rmtree(root / ".git")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    put(root / ".gitignore", "artifacts/\nresults/paper/\n.snakemake/\ndata/raw/\n")
    commit(root, "as if it were ours")


def _tarball(root: Path) -> None:
    """Unpacked inside another repository, which has committed the very manifest."""
    shutil.rmtree(root / ".git")
    subprocess.run(["git", "init", "-q"], cwd=root.parent, check=True)
    commit(root.parent, "a tarball", f"{root.name}/{MANIFEST}")


def _replaced_objects(root: Path) -> None:
    """Git is told to show another commit, with the forged manifest, in the place of HEAD."""
    change(EVALUATE, operator="somebody else")(root)
    forge(root)
    tip = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()
    forged = commit(root, "forged", "results/ci")
    subprocess.run(["git", "update-ref", "HEAD", tip], cwd=root, check=True)
    subprocess.run(["git", "replace", tip, forged], cwd=root, check=True)


def of_the_rest() -> Iterator[Attack]:
    yield Attack(
        "small files that unfold to 200 GB",
        _bomb,
        verify=f"{SMALL}: ",
        trace=f"{SMALL} ",
        target=(SMALL, None),
    )
    yield Attack(
        "an archive of streams that unfolds a thousandfold",
        _zip_bomb,
        verify=f"{STREAMS}: ",
        trace=f"{STREAMS} has ",
    )
    yield Attack(
        "an array whose header asks for 400 TB",
        _header,
        verify=f"{STREAMS}: ",
        trace=f"{STREAMS} has ",
    )
    yield Attack("code is replaced", _other_code, verify="made by other code", by_command=True)
    yield Attack(
        "settings are replaced", _other_settings, verify="seed: 20250712 → 3", by_command=True
    )
    yield Attack(
        "another repository in the place of this one",
        _other_repository,
        verify="is not in the history",
        trace="is not in the history",
    )
    yield Attack("a tarball inside another repository", _tarball, verify=NOT_COMMITTED)
    yield Attack(
        "git is told to show another commit as HEAD", _replaced_objects, verify=NOT_COMMITTED
    )
    yield Attack(
        "git is pointed at another repository by the environment",
        then_forged(change(EVALUATE, operator="somebody else")),
        verify=NOT_COMMITTED,
        environment={"GIT_DIR": os.devnull},
    )


# --- ways around it ---------------------------------------------------------------------------


def _settings_and_command(root: Path) -> None:
    def reseed(record: dict[str, Any]) -> None:
        words = shlex.split(record["command"])
        at = words.index("--settings") + 1
        settings = json.loads(words[at]) | {"seed": 99}
        words[at] = json.dumps(settings, separators=(",", ":"))
        record.update(settings=settings, seed=99, command=shlex.join(words))

    edit_record(root, EVALUATE, reseed)


def _look_alike(root: Path) -> None:
    """A Cyrillic letter in the name of a method."""
    for name in (TWIN, ADD):
        put(root / name, (root / name).read_text().replace("causal_dq,", "c\u0430usal_dq,"))


def _spelt_otherwise(root: Path) -> None:
    old = _number(root)[0]
    edit(root, TWIN, f",{old},", f",{float(old):e},")


def _row_twice(root: Path) -> None:
    head, *rows = (root / ADD).read_text().splitlines()
    old = _number(root)[0]
    better = next(row for row in rows if f",{old}," in row).replace(f",{old},", ",1.5,", 1)
    put(root / ADD, "\n".join([head, better, *rows]) + "\n")


def _other_profile(root: Path) -> None:
    text = json.dumps(records(root)[EVALUATE]).replace("/ci/", "/quick/")
    place = root / RECORDS / f"{EVALUATE}.json"
    place.parent.mkdir(exist_ok=True)
    put(place, text)


def _linked_folder(root: Path) -> None:
    (root.parent / "elsewhere").mkdir()
    put(root.parent / "elsewhere/overview.html", "other numbers")
    (root / "results/ci/more").symlink_to(root.parent / "elsewhere")


def _hard_link(root: Path) -> None:
    (root / RUN).unlink()
    os.link(root / "artifacts/ci/runs/p10.greedy.csv", root / RUN)


def _taken_out(root: Path) -> None:
    """As in a clone: no artifacts, and the runs of a method not among the small files."""
    table = pq.read_table(root / SMALL).to_pydict()
    at = table["file"].index(RUN)
    for column in table.values():
        del column[at]
    pq.write_table(pa.table(table), root / SMALL)
    shutil.rmtree(root / "artifacts")
    forge(root, [SMALL])


def _beside_git(root: Path, name: str, text: str) -> None:
    place = root / ".git/info" / name
    place.parent.mkdir(exist_ok=True)
    put(place, text)


def _left_out_by_attributes(root: Path) -> None:
    _published(root)
    _beside_git(root, "attributes", "published.csv export-ignore\n")


def _grafted(root: Path) -> None:
    _stranger(root)
    tip = call(root, "git", "rev-parse", "HEAD").stdout.strip()
    _beside_git(root, "grafts", f"{tip} {records(root)[EVALUATE]['code']['commit']}\n")


def of_ways_around() -> Iterator[Attack]:
    forged = then_forged
    networks = [f"artifacts/ci/checkpoints/p10.causal_dq.s0.{p}.safetensors" for p in PROTOCOLS]
    yield Attack(
        "other settings, in the command as well",
        forged(_settings_and_command),
        verify="made with other settings (seed: 99 → 20250712)",
    )
    yield Attack(
        "downloaded data, with their hash everywhere",
        forged(lambda root: flip(root, RAW), RAW),
        verify="it is not the one of data/sources.yaml",
        trace="it is not the one of data/sources.yaml",
        target=("results/ci/tables/tep_m5.tex", None),
    )
    yield Attack(
        "networks of two protocols are swapped, with their hashes everywhere",
        forged(lambda root: swap(root, *networks), *networks),
        verify=NOT_COMMITTED,
    )
    yield Attack(
        "a method's name in letters that look alike, with the hashes everywhere",
        forged(_look_alike, TWIN, ADD),
        verify=NOT_COMMITTED,
        trace="no row with 'causal_dq'",
    )
    yield Attack(
        "a number spelt otherwise, with the hash everywhere",
        forged(_spelt_otherwise, TWIN),
        verify=NOT_COMMITTED,
        trace="is not what its tidy results give",
    )
    yield Attack(
        "a cell that stands twice, with the hash everywhere",
        forged(_row_twice, ADD),
        verify=NOT_COMMITTED,
        trace="add: the runs give ",
        target=(ADD, CELL),
    )
    yield Attack(
        "a record of another profile",
        forged(_other_profile),
        verify="its output artifacts/quick/runs",
        trace="no successful record",
    )
    yield Attack(
        "a page among the records",
        lambda root: put(root / RECORDS / "overview.html", "other numbers"),
        verify=f"{RECORDS}/overview.html: no record",
    )
    yield Attack(
        "a link to a folder of somebody else's",
        _linked_folder,
        verify="results/ci/more: no record",
    )
    yield Attack(
        "runs of another method by a hard link", _hard_link, verify=f"{RUN}: ", trace=f"{RUN} has "
    )
    yield Attack(
        "runs taken out of the small files of a clone, with the hash everywhere",
        _taken_out,
        verify=NOT_COMMITTED,
        trace=f"{RUN} is not there",
    )
    yield Attack(
        "the paper's number, which git is told to leave out of archives",
        forged(_left_out_by_attributes, PUBLISHED),
        verify="is not that of its commit",
        trace="published_add: the runs give ",
    )
    yield Attack(
        "git is told of a history with a commit that was never merged",
        _grafted,
        verify="is not in the history",
        trace="is not in the history",
    )
    yield Attack(
        "code that is said to have been changed",
        forged(change(EVALUATE, code={"dirty": True})),
        verify=NOT_COMMITTED,
    )


ATTACKS = [*flips(), *accidents(), *forgeries(), *of_records(), *of_the_rest(), *of_ways_around()]


def as_table() -> str:
    """The attacks as they stand in the documentation."""
    rows = ["| what is done | `verify` | `trace` |", "|---|---|---|"]
    told = [[a.what, *(shown(text) for text in (a.verify, a.trace))] for a in ATTACKS]
    return "\n".join([*rows, *(f"| {' | '.join(cells)} |" for cells in told)])


def shown(text: str | None) -> str:
    """What somebody says who notices."""
    if text is None:
        return ""
    short = text.rpartition("/")[2].replace("|", "\\|").strip(" :")
    return short if text == NOT_COMMITTED else "finds it"


if __name__ == "__main__":
    print(as_table())
