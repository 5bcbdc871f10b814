"""A workflow that is not ours, as an RO-Crate, by nothing but Snakemake's own interfaces."""

import hashlib
import json
from pathlib import Path

import pytest
import responses
from clones import ROOT, call
from rocrate_validator import models, services
from test_lineage import SCHEMA_ORG, TERMS_OF_RO_CRATE_1_1

pytestmark = pytest.mark.workflow
WORKFLOW = """
rule total:
    input: expand("made/{n}.txt", n=[1, 2])
    output: "total.txt"
    shell: "cat {input} > {output}"

rule draw:
    output: "raw/{n}.txt"
    shell: "echo {wildcards.n} > {output}"

rule beside:
    input: "raw/{n}.txt", "given.txt"
    output: "made/{n}.txt"
    shell: "cat {input} > {output}"
"""


def test_a_foreign_workflow_becomes_a_valid_crate(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(WORKFLOW)
    (tmp_path / "given.txt").write_text("given\n")
    call(tmp_path, "snakemake", "-j2")
    plugin = ["env", f"PYTHONPATH={ROOT}/tools", "snakemake", "--reporter", "rocrate"]
    call(tmp_path, *plugin, "--report-rocrate-folder", "crate", "--report-rocrate-operator", "Ada")
    graph = json.loads((tmp_path / "crate/ro-crate-metadata.json").read_text())["@graph"]
    entity = {e["@id"]: e for e in graph}
    jobs = [e for key, e in entity.items() if key.startswith("#job-")]
    assert sorted(job["instrument"]["@id"] for job in jobs) == [
        *(["#tool-beside"] * 2), *(["#tool-draw"] * 2), "#tool-total"
    ]  # fmt: skip
    (last,) = [job for job in jobs if job["instrument"]["@id"] == "#tool-total"]
    assert {"@id": "made/1.txt"} in last["object"]
    assert last["result"] == [{"@id": "total.txt"}]
    assert entity["#run"]["object"] == [{"@id": "given.txt"}]
    assert entity["#run"]["result"] == [{"@id": "total.txt"}]
    for name in ("given.txt", "raw/1.txt", "made/2.txt", "total.txt", "Snakefile"):
        content = (tmp_path / "crate" / name).read_bytes()
        assert content == (tmp_path / name).read_bytes()
        assert entity[name]["sha256"] == hashlib.sha256(content).hexdigest()
    context = {term: f"http://schema.org/{term}" for term in SCHEMA_ORG.split()}
    with responses.RequestsMock() as web:
        web.get(
            "https://w3id.org/ro/crate/1.1/context",
            json={"@context": context | TERMS_OF_RO_CRATE_1_1},
        )
        result = services.validate(
            services.ValidationSettings(
                rocrate_uri=str(tmp_path / "crate"),
                profile_identifier="provenance-run-crate",
                requirement_severity=models.Severity.REQUIRED,
                cache_path=tmp_path / "cache",
            )
        )
    assert [(i.check.identifier, i.message) for i in result.get_issues()] == []


def test_the_plug_in_knows_nothing_of_this_project_or_of_snakemakes_insides() -> None:
    text = (ROOT / "tools/snakemake_report_plugin_rocrate/__init__.py").read_text()
    imported = {
        line.split()[1] for line in text.splitlines() if line.startswith(("import", "from"))
    }
    assert not {name for name in imported if name.split(".")[0] in ("causaldq", "snakemake")}
