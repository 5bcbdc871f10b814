"""What a job's arithmetic may depend on: not on how many threads, nor on how wide vectors are."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ASK = """
from causaldq.pipeline import command
import json, numpy, scipy.linalg, torch, threadpoolctl
print(json.dumps({
    "blas": sorted({found["architecture"] for found in threadpoolctl.threadpool_info()
                    if found["internal_api"] == "openblas"}),
    "threads": sorted({found["num_threads"] for found in threadpoolctl.threadpool_info()}),
    "numpy": numpy.show_config(mode="dicts")["SIMD Extensions"]["found"],
    "torch": torch.backends.cpu.get_cpu_capability(),
}))
"""


def test_a_job_uses_one_thread_and_no_vectors_wider_than_avx2() -> None:
    """The libraries are asked, not the variables: a name that one of them no longer knows shows."""
    cpu = Path("/proc/cpuinfo")
    if not cpu.exists() or " avx2 " not in cpu.read_text():
        pytest.skip("this processor has no AVX2")
    asked = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True)
    assert asked.stderr == ""
    assert json.loads(asked.stdout) == {
        "blas": ["Haswell"],
        "threads": [1],
        "numpy": ["X86_V3"],
        "torch": "AVX2",
    }
