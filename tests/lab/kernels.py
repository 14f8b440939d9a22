"""Which kernels the tests know, and how a Jupyter server finds them.

Clicks reach Python differently in each ipykernel, so what depends on a click runs on all of them.
The older two live in environments that `scripts/test --prepare` makes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NEWEST = "python3"
ALL_KERNELS = (NEWEST, "kernel-7.3", "kernel-6.29")


def interpreter(kernel: str) -> Path:
    """Return the Python that runs a kernel.

    Args:
        kernel: One of `ALL_KERNELS`.

    Raises:
        FileNotFoundError: Its environment was not made yet.
    """
    if kernel == NEWEST:
        return Path(sys.executable)
    python = ROOT / ".venvs" / kernel / "bin" / "python"
    if not python.exists():
        raise FileNotFoundError(f"{python} is missing: run `scripts/test --prepare` once.")
    return python


def write_kernelspecs(folder: Path) -> None:
    """Describe every kernel to Jupyter.

    Args:
        folder: A data folder of Jupyter, to be named in JUPYTER_PATH.
    """
    for kernel in ALL_KERNELS:
        spec = {
            "argv": [
                str(interpreter(kernel)),
                "-m",
                "ipykernel_launcher",
                "-f",
                "{connection_file}",
            ],
            "display_name": kernel,
            "language": "python",
            "metadata": {"debugger": False},
            "env": {"PYDEVD_DISABLE_FILE_VALIDATION": "1"},
        }
        target = folder / "kernels" / kernel / "kernel.json"
        target.parent.mkdir(parents=True)
        target.write_text(json.dumps(spec))
