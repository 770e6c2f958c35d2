"""The solver's kernels for small blocks, compiled by numba: for a measurement only, nothing of the package uses them."""
