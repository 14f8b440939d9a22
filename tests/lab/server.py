"""A real Jupyter server: JupyterLab, Notebook 7 and the test page from one process.

Everything it reads and writes lies in one folder of its own; nothing of the user's is touched.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tests.lab.kernels import NEWEST, write_kernelspecs

START_TIMEOUT = 60.0
STOP_TIMEOUT = 15.0
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}


class LabServer:
    """A server with JupyterLab at `/doc/tree/…` and Notebook 7 at `/notebooks/…`.

    Args:
        folder: An empty folder of its own.
        static: A folder that is served under `/static/`.
        settings: JupyterLab settings by `plugin:name`, beside those that keep it quiet.
        arguments: Further arguments of `jupyter lab`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        static: Path | None = None,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self.notebooks = folder / "notebooks"
        self.log = folder / "server.log"
        self.url = f"http://127.0.0.1:{_free_port()}"
        self._static = static
        self._settings = {**SETTINGS, **(settings or {})}
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.notebooks.mkdir(parents=True)
        self._write_settings()
        write_kernelspecs(self.folder / "share")
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command(),
                env=self._variables(),
                cwd=self.notebooks,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._wait_until_it_answers(self._process)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def write_notebook(self, cells: Sequence[str] = (), kernel: str = NEWEST) -> str:
        """Write a notebook file.

        Args:
            cells: The source of each code cell.
            kernel: One of `ALL_KERNELS`.

        Returns:
            Its path as the server knows it.
        """
        name = f"{uuid.uuid4().hex[:8]}.ipynb"
        spec = {"name": kernel, "display_name": kernel, "language": "python"}
        notebook = {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {"kernelspec": spec},
            "cells": [_code_cell(source) for source in cells],
        }
        (self.notebooks / name).write_text(json.dumps(notebook))
        return name

    def _command(self) -> list[str]:
        static = [str(self._static)] if self._static else []
        return [
            *(sys.executable, "-m", "jupyterlab"),
            "--no-browser",
            "--allow-root",
            "--expose-app-in-browser",
            "--JupyterNotebookApp.expose_app_in_browser=True",
            "--LabApp.extension_manager=readonly",
            "--LabApp.news_url=None",
            "--ip=127.0.0.1",
            f"--port={self.url.rpartition(':')[2]}",
            "--ServerApp.port_retries=0",
            "--IdentityProvider.token=",
            "--ServerApp.disable_check_xsrf=True",
            f"--ServerApp.root_dir={self.notebooks}",
            f"--ServerApp.extra_static_paths={static}",
            *self._arguments,
        ]

    def _variables(self) -> dict[str, str]:
        places = {
            "IPYTHONDIR": "ipython",
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_PATH": "share",
            "JUPYTER_RUNTIME_DIR": "runtime",
        }
        return {**os.environ, **{name: str(self.folder / place) for name, place in places.items()}}

    def _write_settings(self) -> None:
        for key, values in self._settings.items():
            plugin, name = key.split(":")
            target = self.folder / "settings" / plugin / f"{name}.jupyterlab-settings"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(json.dumps(values))

    def _wait_until_it_answers(self, process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + START_TIMEOUT
        while process.poll() is None and time.monotonic() < end:
            try:
                urllib.request.urlopen(f"{self.url}/api/status", timeout=1).close()
            except OSError:
                time.sleep(0.05)  # there is nothing to wait on before it listens
            else:
                return
        process.kill()
        raise RuntimeError(f"The server did not start:\n{self.log.read_text()[-3000:]}")


def _code_cell(source: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": uuid.uuid4().hex[:8],
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": source,
    }


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
