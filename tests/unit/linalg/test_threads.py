"""BLAS threads, in a process of their own.

Some versions of threadpoolctl obey only the first thread of a process that asks, and here other tests have asked.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_the_callers_threads_are_his_own() -> None:
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    alone = Path(__file__).with_name("threads_alone.py")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", str(alone)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_a_library_that_is_loaded_later_is_limited_too() -> None:
    code = (
        "import threadpoolctl; from aspca.linalg.threads import blas_threads_for\n"
        "with blas_threads_for(10): pass\n"
        "import scipy.linalg\n"
        "with blas_threads_for(10): print({one['num_threads'] for one in threadpoolctl.threadpool_info()})"
    )
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "{1}"
