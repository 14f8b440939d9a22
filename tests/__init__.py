"""The tests, and beside them the harness that drives real kernels and a real browser."""
