"""A run as a Workflow Run RO-Crate, of the Provenance Run Crate profile.

The crate is a folder with the workflow, the code, the settings, every file that a job read or
made, the records, and ro-crate-metadata.json, which says how they belong together. It is made
from the records alone.
"""

import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any

from causaldq.errors import DataError
from causaldq.files import write_json
from causaldq.pipeline.lineage.crate_entities import Packed
from causaldq.pipeline.lineage.crate_graph import FINDINGS, LIBRARY, CrateGraph
from causaldq.pipeline.lineage.records import RecordStore


def make_crate(root: Path, profile: str, folder: Path, packed: Packed) -> Path:
    """Write the crate of a profile's run to `folder`, which must be new."""
    store = RecordStore(root, profile)
    if not store.makers:
        raise DataError(f"results/{profile} has no records; run the pipeline first")
    if folder.exists():
        raise DataError(f"{folder} exists already; give a new folder")
    with tempfile.TemporaryDirectory() as scratch:
        crate = CrateGraph(store, packed, Path(scratch))
        crate.build()
        absent = [name for name in crate.files if not crate.path(name).is_file()]
        if absent and not packed.findings:
            raise DataError(f"{absent[0]} is not there; get it by `dvc pull`, or make it again")
        outside = [name for name in crate.files if PurePosixPath(name).is_absolute()]
        if outside:
            raise DataError(f"{outside[0]} lies outside the project; put it below data/, run again")
        for name in crate.files:
            if name not in absent:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(crate.path(name), folder / name)
        for prefix, tree in crate.code.trees.items():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            whole = folder / prefix / LIBRARY
            shutil.copytree(tree / LIBRARY, whole, ignore=ignored, dirs_exist_ok=True)
    if packed.findings:
        write_json(folder / FINDINGS, [asdict(finding) for finding in packed.findings])
    path = folder / "ro-crate-metadata.json"
    write_json(path, {"@context": _context(), "@graph": crate.graph()})
    return path


def _context() -> list[Any]:
    """Terms of the profile spelt out, so that no page has to be loaded to understand them."""
    terms = [
        *("ParameterConnection", "connection", "sourceParameter", "targetParameter"),
        *("resourceUsage", "sha256"),
    ]
    return [
        "https://w3id.org/ro/crate/1.1/context",
        {term: f"https://w3id.org/ro/terms/workflow-run#{term}" for term in terms},
    ]
