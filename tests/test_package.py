"""What a stranger gets: the wheel, built and installed without Node."""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.kernel


def run(*command, **options):
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def without_node(tmp_path_factory):
    """Give variables whose PATH holds no Node."""
    empty = tmp_path_factory.mktemp("path")
    (empty / "python").symlink_to(sys.executable)
    return {**os.environ, "PATH": str(empty), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory, without_node):
    folder = tmp_path_factory.mktemp("wheel")
    run(
        *(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"),
        *("-q", "-w", folder, ROOT),
        env=without_node,
    )
    (built,) = folder.glob("*.whl")
    return built


def test_the_versions_of_the_tests_name_each_package_once():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    names = [line.partition("==")[0] for line in lines if not line.startswith("#")]
    normalized = [re.sub(r"[-_.]+", "-", name).lower() for name in names]
    assert [name for name, times in Counter(normalized).items() if times > 1] == []


def test_the_wheel_is_pure_python_and_carries_the_distribution_name(wheel):
    assert wheel.name.startswith("nbtools_chat-")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as content:
        (name,) = (each for each in content.namelist() if each.endswith("/METADATA"))
        metadata = email.message_from_bytes(content.read(name))
    assert metadata["Name"] == "nbtools-chat"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"


def test_the_wheel_holds_the_package_with_its_built_front_end_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as content:
        names = set(content.namelist())
    list_files = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "nbtools")
    expected = set(run(*list_files, cwd=ROOT).split())
    info = {name for name in names if ".dist-info/" in name}
    assert names - info == expected
    assert {"nbtools/py.typed", "nbtools/static/runtime.js", "nbtools/static/stub.js"} <= names


def test_the_wheel_installed_alone_shows_a_chat(wheel, tmp_path, without_node):
    folder = tmp_path / "fresh"
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    constraints = ROOT / "constraints.txt"
    run(python, "-m", "pip", "install", "-q", "-c", constraints, wheel, env=without_node)
    shown = run(
        *(python, "-c", "import nbtools; print(nbtools.Chat()._repr_mimebundle_())"),
        cwd=tmp_path,
        env=without_node,
    )
    assert "application/vnd.jupyter.widget-view+json" in shown
