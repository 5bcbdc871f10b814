"""Make Snakemake's HTML report of finished results."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from causaldq import command
from causaldq.errors import CausalDQError


def work(arguments):
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.json"
        config.write_text(json.dumps({"complete": True, **json.loads(arguments.config)}))
        made = Path(folder) / "report.html"
        done = subprocess.run(
            [
                *(sys.executable, "-m", "snakemake", "--nolock"),
                *("--report", made, "--report-stylesheet", "workflow/report/style.css"),
                *("--configfile", config),
                *("--", arguments.target),
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise CausalDQError(f"snakemake --report failed: {done.stderr.strip()[-2000:]}")
        from causaldq.files import write_bytes

        write_bytes(arguments.output, made.read_bytes())


if __name__ == "__main__":
    parser = command.parser(__doc__)
    parser.add_argument("--config", required=True, help="settings of the run, JSON")
    parser.add_argument("--target", required=True, help="rule whose inputs are shown")
    parser.add_argument("--output", type=Path, required=True, help="page, .html")
    command.run(parser, work)
