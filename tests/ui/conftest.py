"""A real JupyterLab and a real Chromium, one of each for all browser tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).parents[2]
expect.set_options(timeout=30_000)
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@dataclass
class Lab:
    """A running server: its address, and the folder that it serves."""

    url: str
    folder: Path

    def notebook(self, name: str, *cells: str) -> str:
        """Writes a notebook of code cells and gives its name."""
        made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(made, self.folder / name)
        return name


@dataclass
class Window:
    """One page of JupyterLab, with what it complained of."""

    page: Page
    lab: Lab
    errors: list[str] = field(default_factory=list)

    def open(self, name: str) -> None:
        """Opens a file and, for a notebook, waits until its kernel has answered: cells sent earlier are dropped."""
        self.page.goto(f"{self.lab.url}/lab/workspaces/{name.partition('.')[0]}/tree/{name}?reset")
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")
        if name.endswith(".ipynb"):
            self.page.wait_for_selector(".jp-Notebook .jp-CodeCell .cm-content")
            self.page.wait_for_function(
                """async () => {
                    const panel = window.jupyterapp.shell.currentWidget;
                    if (!panel || !panel.sessionContext) { return false; }
                    await panel.sessionContext.ready;
                    const kernel = panel.sessionContext.session && panel.sessionContext.session.kernel;
                    if (!kernel) { return false; }
                    await kernel.info;
                    await kernel.requestKernelInfo();
                    return true;
                }"""
            )

    def command(self, name: str) -> None:
        """Starts a command and does not wait for its end: it may stand in a dialog."""
        self.page.evaluate(f"() => {{ window.jupyterapp.commands.execute({name!r}); }}")

    def run(self) -> None:
        """Starts all cells of the notebook."""
        self.command("notebook:run-all-cells")


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home = tmp_path_factory.mktemp("lab")
    folder = home / "files"
    folder.mkdir()
    extensions = home / "share" / "labextensions"
    extensions.mkdir(parents=True)
    built = ROOT / "jupyter_tpushape" / "labextension"
    assert (built / "package.json").exists(), "The labextension is not built: run `make build`."
    (extensions / "jupyter_tpushape").symlink_to(built)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = dict(
        os.environ,
        HOME=str(home),
        JUPYTER_PATH=str(home / "share"),
        JUPYTER_CONFIG_DIR=str(home / "config"),
        JUPYTER_RUNTIME_DIR=str(home / "runtime"),
        JUPYTERLAB_WORKSPACES_DIR=str(home / "workspaces"),
        JUPYTERLAB_SETTINGS_DIR=str(home / "settings"),
        IPYTHONDIR=str(home / "ipython"),
        PYTHONPATH=str(ROOT),
        TF_CPP_MIN_LOG_LEVEL="3",
        CUDA_VISIBLE_DEVICES="-1",
    )
    log = home / "server.log"
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')
    with log.open("w") as out:
        server = subprocess.Popen(
            [
                sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", "--ServerApp.port_retries=0",
                "--IdentityProvider.token=", "--ServerApp.password=", "--ServerApp.disable_check_xsrf=True",
                "--LabApp.expose_app_in_browser=True", f"--ServerApp.root_dir={folder}",
            ],
            env=env, stdout=out, stderr=subprocess.STDOUT, cwd=home,
        )  # fmt: skip
        url = f"http://127.0.0.1:{port}"
        try:
            _wait(url, server, log)
            yield Lab(url, folder)
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if server.poll() is not None:
            pytest.fail(f"JupyterLab stopped:\n{log.read_text()}")
        try:
            with urllib.request.urlopen(f"{url}/api/status", timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not answer within a minute:\n{log.read_text()}")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))), None)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def window(browser: Browser, lab: Lab) -> Iterator[Window]:
    context = browser.new_context(viewport={"width": 1440, "height": 960})
    context.set_default_timeout(60_000)
    page = context.new_page()
    made = Window(page, lab)
    page.on("console", lambda message: made.errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: made.errors.append(str(error)))
    yield made
    page.evaluate("window.jupyterapp && window.jupyterapp.serviceManager.sessions.shutdownAll()")
    context.close()
