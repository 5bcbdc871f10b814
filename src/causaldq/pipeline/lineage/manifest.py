"""One hash over all records of a run, which a commit or a signature can hold.

results/<profile>/manifest.json lists the hash of every record, and one over them all. Snakemake's
notes in a record are left out: they change when Snakemake does.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from causaldq.errors import CausalDQError, DataError
from causaldq.files import canonical_json, sha256_of_text, write_json
from causaldq.pipeline.lineage.provenance import hash_over
from causaldq.pipeline.lineage.record_files import Entry, read_entries
from causaldq.pipeline.lineage.records import folder_of
from causaldq.pipeline.lineage.repository import git, head
from causaldq.setting import Settings

NAMESPACE = "causaldq"
"""What a signature is for, as ssh-keygen wants it: one for something else is none."""


class Manifest(Settings):
    version: int = 1
    hash: str
    records: dict[str, str]


def place_of_manifest(profile: str) -> Path:
    return folder_of(profile).with_name("manifest.json")


def place_of_signature(profile: str) -> Path:
    return folder_of(profile).with_name("manifest.json.sig")


def manifest_of(root: Path, profile: str) -> Manifest:
    """The manifest of the records as they are now."""
    entries = read_entries(root, root / folder_of(profile))
    digests = {entry.job: _digest(entry) for entry in entries if entry.text}
    return Manifest(hash=hash_over(digests), records=digests)


def _digest(entry: Entry) -> str:
    """Of what a record says, packed or not; of its text if it says nothing."""
    if entry.said is None:
        return sha256_of_text(entry.text)
    said = {key: value for key, value in entry.said.items() if key != "snakemake"}
    return sha256_of_text(canonical_json(said))


def write_manifest(root: Path, profile: str) -> Manifest | None:
    """Write the manifest of a run; None if it has no records. A signature of another goes."""
    made = manifest_of(root, profile)
    if not made.records:
        return None
    place = root / place_of_manifest(profile)
    if not place.is_file() or _read(place) != made:
        write_json(place, made.model_dump())
        (root / place_of_signature(profile)).unlink(missing_ok=True)
    return made


def _read(place: Path) -> Manifest | None:
    try:
        return Manifest.model_validate_json(place.read_bytes())
    except ValidationError:
        return None


@dataclass(frozen=True)
class Attested:
    """What is known of a run's records as a whole."""

    hash: str
    """Over all records as they are now."""
    problem: str | None
    """Why the manifest is not theirs."""
    commit: str | None
    """The commit of this history that holds the same manifest."""
    signature: str | None
    """Who signed it, if anybody did."""
    bad_signature: str | None


def attest(root: Path, profile: str, signers: Path | None = None) -> Attested:
    """Hold the records against the manifest, and the manifest against git and its signature."""
    now = manifest_of(root, profile)
    problem = _problem(root / place_of_manifest(profile), now)
    if problem is not None:
        return Attested(now.hash, problem, None, None, None)
    signed, bad = _signature(root, profile, signers)
    commit = commit_of(root, place_of_manifest(profile).as_posix())
    return Attested(now.hash, None, commit, signed, bad)


def _problem(place: Path, now: Manifest) -> str | None:
    if not place.is_file():
        return "there is none; `python -m causaldq manifest` writes it"
    then = _read(place)
    if then is None or then.hash != hash_over(then.records):
        return "it is damaged; `git checkout` restores it if it is committed"
    if then.hash == now.hash:
        return None
    told = [f"{job} is gone" for job in then.records.keys() - now.records.keys()]
    told += [f"{job} is not listed" for job in now.records.keys() - then.records.keys()]
    told += [
        f"{job} is another"
        for job in then.records.keys() & now.records.keys()
        if then.records[job] != now.records[job]
    ]
    more = f" and {len(told) - 3} more" if len(told) > 3 else ""
    return f"records are not those it lists: {', '.join(sorted(told)[:3])}{more}"


def commit_of(root: Path, name: str) -> str | None:
    """The latest commit up to HEAD that put this very content there; None if none did."""
    if head(root) is None:
        return None
    blob = (git(root, "hash-object", "--no-filters", "--", name) or "").strip()
    if (git(root, "rev-parse", "--verify", "--quiet", f"HEAD:{name}") or "").strip() == blob:
        told = git(root, "log", "-1", "--format=%H", "HEAD", "--", name)
    else:
        told = git(root, "log", "--format=%H", f"--find-object={blob}", "HEAD", "--", name)
    commits = [c for c in (told or "").split() if _holds(root, c, name, blob)]
    return commits[0] if commits else None


def _holds(root: Path, commit: str, name: str, blob: str) -> bool:
    return (git(root, "rev-parse", "--verify", "--quiet", f"{commit}:{name}") or "").strip() == blob


# --- signatures ------------------------------------------------------------------------


class SigningError(CausalDQError):
    """A manifest cannot be signed."""


def sign(root: Path, profile: str, key: Path) -> Path:
    """Sign a run's manifest with an ssh key, as git signs commits with one."""
    place, signature = root / place_of_manifest(profile), root / place_of_signature(profile)
    if not place.is_file():
        raise DataError(f"{place} does not exist; write it first")
    signature.unlink(missing_ok=True)
    done = _ssh_keygen("sign", "-f", str(key), "-n", NAMESPACE, str(place))
    if done is None or done.returncode or not signature.is_file():
        why = (done.stderr.strip().splitlines() or ["no message"])[-1] if done else "not installed"
        raise SigningError(f"ssh-keygen cannot sign with {key}: {why}")
    return signature


def _signature(root: Path, profile: str, signers: Path | None) -> tuple[str | None, str | None]:
    """Who signed a manifest, or what is wrong with the signature; neither if none is asked for."""
    place, signature = root / place_of_manifest(profile), root / place_of_signature(profile)
    if not signature.is_file():
        return None, None if signers is None else "there is none, and --signers asks for one"
    checked = ["-n", NAMESPACE, "-s", str(signature)]
    if signers is None:
        done = _ssh_keygen("check-novalidate", *checked, given=place)
        key = done.stdout.strip().rpartition(" ")[2] if done else ""
        if done is None or done.returncode:
            return None, "it is not of this manifest"
        return f"by the key {key}; give --signers to know whose it is", None
    found = _ssh_keygen("find-principals", "-f", str(signers), "-s", str(signature))
    names = found.stdout.split("\n") if found and found.returncode == 0 else [""]
    done = _ssh_keygen("verify", "-f", str(signers), "-I", names[0], *checked, given=place)
    if not names[0] or done is None or done.returncode:
        return None, f"it is by nobody whom {signers} lists"
    return f"by {names[0]}", None


def _ssh_keygen(
    what: str, *options: str, given: Path | None = None
) -> subprocess.CompletedProcess[str] | None:
    text = given.read_text() if given else ""
    try:
        return subprocess.run(
            ["ssh-keygen", "-Y", what, *options], input=text, capture_output=True, text=True
        )
    except OSError:
        return None
