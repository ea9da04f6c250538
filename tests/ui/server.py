"""A real JupyterLab in a real Chromium, for tests, benchmarks and pictures."""

from __future__ import annotations

import contextlib
import json
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
from playwright.sync_api import Locator, Page

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip

# A Python kernel that our package is not installed for.
BARE = """
import sys
from ipykernel.kernelapp import launch_new_instance
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "jupyter_tpushape":
            raise ModuleNotFoundError("No module named 'jupyter_tpushape'", name=name)
sys.meta_path.insert(0, Absent())
launch_new_instance()
"""
# A kernel that starts and never says a word.
MUTE = "import threading; threading.Event().wait()"
# A kernel of another language.
ECHO = """
from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel
class Echo(Kernel):
    implementation, implementation_version, banner = "echo", "1", "echo"
    language_info = {"name": "echo", "mimetype": "text/plain", "file_extension": ".txt"}
    async def do_execute(self, code, silent, *args, **more):
        return {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": {}}
IPKernelApp.launch_instance(kernel_class=Echo)
"""

# Ends when the notebook in front has the name and its kernel has answered. `wait_for_function` awaits no promise between its looks.
ANSWERED = """async (name) => {
  const late = new Promise((_, reject) => setTimeout(() => { reject(new Error(`no kernel of ${name} has answered`)); }, 60_000));
  const answered = async () => {
    const panel = window.jupyterapp.shell.currentWidget;
    if (!panel?.sessionContext || !panel.context?.path.endsWith(name)) { return false; }
    await panel.sessionContext.ready;
    const kernel = panel.sessionContext.session?.kernel;
    if (!kernel || !panel.node.querySelector(".jp-CodeCell .cm-content")) { return false; }
    return kernel.info.then(() => kernel.requestKernelInfo()).then(() => true, () => false);
  };
  while (!(await Promise.race([answered(), late]))) { await new Promise(requestAnimationFrame); }
}"""


@dataclass
class Lab:
    """A running server: its address, the folder that it serves, and whose front end it is."""

    url: str
    folder: Path
    app: str = "jupyterlab"

    def setting(self, text: str) -> None:
        """Writes the user's settings of the extension, for pages that are opened from now on."""
        file = self.folder.parent / "settings" / "jupyter_tpushape" / "plugin.jupyterlab-settings"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)

    def notebook(self, name: str, *cells: str, kernel: str = "python3") -> str:
        """Writes a notebook of code cells and gives its name."""
        made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        made.metadata["kernelspec"] = {"name": kernel, "display_name": kernel, "language": "python"}
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
        self.goto(f"/notebooks/{name}" if self.lab.app == "notebook" else f"/lab/workspaces/{name.partition('.')[0]}/tree/{name}?reset")
        if name.endswith(".ipynb"):
            self.answered(name)

    def goto(self, address: str) -> None:
        """Opens a page of the server and waits until its plugins have started and what it restores stands."""
        self.page.goto(self.lab.url + address)
        self.page.wait_for_function("() => window.jupyterapp !== undefined")
        self.page.evaluate("async () => { await window.jupyterapp.restored; }")

    def front(self, name: str) -> None:
        """Brings a notebook to the front, opened where it is not, and waits until its kernel has answered."""
        self.page.evaluate("async (path) => { await window.jupyterapp.commands.execute('docmanager:open', {path}); }", name)
        self.answered(name)

    def restart(self) -> None:
        """Restarts the kernel of the notebook in front, and waits until the new one has answered."""
        self.page.evaluate("async () => { await window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart(); }")
        self.answered()

    def answered(self, name: str = "") -> None:
        """Waits until a notebook is in front, its first cell is drawn and its kernel has answered."""
        self.page.evaluate(ANSWERED, name)

    def command(self, name: str) -> None:
        """Starts a command and does not wait for its end: it may stand in a dialog."""
        self.page.evaluate(f"() => {{ window.jupyterapp.commands.execute({name!r}); }}")

    def run(self) -> None:
        """Starts all cells of the notebook."""
        self.command("notebook:run-all-cells")

    def ended(self) -> None:
        """Waits until no cell of the active notebook runs or waits to: one that raises takes those with it that wait."""
        self.page.wait_for_function("() => window.jupyterapp.shell.currentWidget.content.widgets.every((one) => one.model.executionState !== 'running')")

    def run_cell(self, index: int) -> None:
        """Starts one cell of the active notebook, when those that were started before have ended."""
        self.ended()
        self.page.evaluate(f"() => {{ window.jupyterapp.shell.currentWidget.content.activeCellIndex = {index}; }}")
        self.command("notebook:run-cell")

    def write(self, index: int, source: str) -> None:
        """Puts another text into a cell of the active notebook, as typing does."""
        self.page.evaluate("([i, text]) => window.jupyterapp.shell.currentWidget.content.widgets[i].model.sharedModel.setSource(text)", [index, source])

    def source(self, index: int) -> str:
        """The text of a cell of the active notebook."""
        return str(self.page.evaluate(f"window.jupyterapp.shell.currentWidget.content.widgets[{index}].model.sharedModel.getSource()"))

    def written(self, index: int, part: str) -> str:
        """Waits until a cell of the active notebook holds a text, as after a fix went into it; gives all of it."""
        self.page.wait_for_function(
            "([i, part]) => window.jupyterapp.shell.currentWidget.content.widgets[i].model.sharedModel.getSource().includes(part)", arg=[index, part]
        )
        return self.source(index)

    def cell(self, index: int) -> Locator:
        """A cell of the notebook in front."""
        return self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook .jp-Cell").nth(index)

    def choices(self) -> None:
        """Opens the panel's lists, which a report folds into a line."""
        self.page.locator('#tpushape-panel .tpushape-Panel-bar[aria-expanded="false"]').click()

    @property
    def panel(self) -> Locator:
        """The sidebar panel, opened."""
        self.command("tpushape:open-panel")
        return self.page.locator("#tpushape-panel")


@contextlib.contextmanager
def serve(home: Path, app: str = "jupyterlab") -> Iterator[Lab]:
    """JupyterLab, or Notebook 7 (``notebook``), with the extension as it is built here; all that it writes goes under ``home``."""
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
    for name, start in (("bare", BARE), ("mute", MUTE), ("echo", ECHO)):
        spec = home / "share" / "kernels" / name
        spec.mkdir(parents=True)
        argv = [sys.executable, "-c", start, "-f", "{connection_file}"]
        (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": name, "language": "echo" if name == "echo" else "python"}))
    forks = _forks(home, env)
    log = home / "server.log"
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')
    with log.open("w") as out:
        server = subprocess.Popen(
            [
                sys.executable, "-m", app, "--no-browser", "--allow-root", f"--port={port}", "--ServerApp.port_retries=0",
                "--IdentityProvider.token=", "--ServerApp.password=", "--ServerApp.disable_check_xsrf=True",
                f"--{'LabApp' if app == 'jupyterlab' else 'JupyterNotebookApp'}.expose_app_in_browser=True", f"--ServerApp.root_dir={folder}",
            ],
            env=env, stdout=out, stderr=subprocess.STDOUT, cwd=home,
        )  # fmt: skip
        url = f"http://127.0.0.1:{port}"
        try:
            _wait(url, server, log)
            while not (home / "kernels.sock").exists():
                assert forks.poll() is None, "The server of kernels stopped."
                time.sleep(0.05)
            yield Lab(url, folder, app)
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
            forks.communicate(timeout=20)


def _forks(home: Path, env: dict[str, str]) -> subprocess.Popen[bytes]:
    """Makes Python's kernels forks of a process that has imported TensorFlow and Keras, which ends when its input does."""
    code = home / "site-packages" / "kernels.py"
    code.parent.mkdir()
    shutil.copy(Path(__file__).with_name("kernels.py"), code)
    address = str(home / "kernels.sock")
    spec = home / "share" / "kernels" / "python3"
    spec.mkdir()
    argv = [sys.executable, "-S", str(code), "start", address, "-f", "{connection_file}"]
    about = {"display_name": "Python 3 (ipykernel)", "language": "python", "metadata": {"debugger": True}}
    (spec / "kernel.json").write_text(json.dumps({"argv": argv, **about}))
    return subprocess.Popen([sys.executable, str(code), "serve", address], env=env, stdin=subprocess.PIPE)


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if server.poll() is not None:
            raise RuntimeError(f"JupyterLab stopped:\n{log.read_text()}")
        try:
            with urllib.request.urlopen(f"{url}/api/status", timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not answer within a minute:\n{log.read_text()}")


def chromium() -> str | None:
    """A Chromium or Chrome of this machine; ``None``: Playwright's own."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))), None)
