"""Variables of this process that a command needs whose results are compared with those of this process."""

from __future__ import annotations

import os


def blas() -> dict[str, str]:
    """Which kernels OpenBLAS takes and how many threads: other kernels give other last digits. And whose code it is:
    that of a working tree may not be the one that is installed."""
    return {name: value for name, value in os.environ.items() if name.startswith("OPENBLAS_") or name == "PYTHONPATH"}
