"""Says which kernels OpenBLAS runs; fails where these are not the ones that OPENBLAS_CORETYPE asks for."""

from __future__ import annotations

import os
import sys

import numpy as np
import scipy.linalg
import threadpoolctl

if __name__ == "__main__":
    wanted = os.environ["OPENBLAS_CORETYPE"]
    # A processor that lacks instructions of these kernels ends here.
    matrix = np.ones((64, 64))
    scipy.linalg.eigh(matrix @ matrix)
    # NumPy and SciPy have a library each.
    found = [one.get("architecture") for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"]
    taken = len(found) > 0 and set(found) == {wanted}
    print(f"OpenBLAS with kernels for {wanted}" if taken else f"No kernels for {wanted} here, but {found}: left out")
    sys.exit(not taken)
