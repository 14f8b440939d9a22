"""The public names, each looked up as a user does it: in a fresh Python that imported nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import nbtools

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("notebooks/*.ipynb")])
NAME = re.compile(r"\bnb\.([A-Za-z_]+)")


def used_names() -> list[str]:
    """List what README, docs and notebooks call `nb.…`."""
    return sorted({name for path in SOURCES for name in NAME.findall(path.read_text("utf-8"))})


@pytest.mark.parametrize("names", [used_names(), sorted(nbtools.__all__)], ids=["used", "public"])
def test_every_name_is_there_after_one_import(names):
    code = "import sys, nbtools as nb; print([n for n in sys.argv[1:] if not hasattr(nb, n)])"
    done = subprocess.run(
        [sys.executable, "-c", code, *names], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
    assert len(names) > 20
