"""The solver's kernels for small blocks, compiled by numba: for a measurement, nothing of the package uses them."""
