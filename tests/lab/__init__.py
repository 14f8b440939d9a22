"""Drivers for real kernels, a real JupyterLab and a real browser."""
