"""Nothing leaves the machine: the product is run where no connection can be made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import jupyter_tpushape as tpushape

ROOT = Path(tpushape.__file__).parents[1]
WHOLE = """
import socket, sys
def refuse(*args, **kwargs):
    sys.exit(f"asked for the network: {args}")
class Refusing(socket.socket):
    def connect(self, address):
        if self.family != getattr(socket, "AF_UNIX", None):
            refuse(address)
        return super().connect(address)
    connect_ex = sendto = refuse
socket.socket = Refusing
socket.getaddrinfo = socket.gethostbyname = socket.create_connection = refuse

import keras, numpy as np
import jupyter_tpushape as tpushape
from jupyter_tpushape.cli import main
L = keras.layers
model = keras.Sequential([keras.Input((8, 8, 1)), L.Conv2D(4, 3), L.Dense(3, activation="softmax")])
model.compile("sgd", "sparse_categorical_crossentropy")
report = tpushape.trace(model, (np.zeros((16, 8, 8, 1), "float32"), np.arange(16) % 3))
assert report.findings[0].fixes[0].verified
for suffix in ("html", "json", "svg", "md"):
    report.save(f"report.{suffix}")
report._repr_mimebundle_()
from jupyter_tpushape.views.widget import ReportWidget
ReportWidget(report)
assert main(["explain", "expected ndim=3, found ndim=4"]) == 0
assert main(["targets"]) == main(["rules"]) == 0
assert main(["check", "train.py:build", "--tpu", "v5e-8"]) == 1
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "jupyter_tpushape")
shell.user_ns["model"] = model
shell.run_line_magic("tpushape", "model --text")
print("all done without a network")
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.py").write_text("import keras\ndef build():\n    return keras.Sequential([keras.Input((8, 8, 1)), keras.layers.LSTM(4)])\n")
    (tmp_path / "whole.py").write_text(WHOLE)
    return tmp_path


def test_the_whole_product_runs_without_a_network(folder):
    # Where the system allows it, in a namespace that has no network at all: C++ cannot be patched.
    alone = ["unshare", "-rn"]
    try:
        isolated = subprocess.run([*alone, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        isolated = False
    command = [*(alone if isolated else []), sys.executable, "whole.py"]
    done = subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stdout.endswith("all done without a network\n")


def test_that_test_can_fail(folder):
    code = WHOLE.partition("import keras")[0] + "socket.create_connection(('127.0.0.1', 9))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "asked for the network" in done.stderr


def test_nothing_in_the_package_opens_a_connection():
    words = ("urllib", "requests", "http.client", "socket.", "urlopen", "aiohttp", "httpx")
    for path in (ROOT / "jupyter_tpushape").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not [word for word in words if f"import {word.rstrip('.')}" in text or f"{word}(" in text], path


def test_a_report_that_is_read_runs_nothing_and_looks_at_nothing():
    evil = '{"version": 1, "title": "__import__(\'os\')", "summary": "", "ok": true, "flow": {"nodes": 3}, "findings": []}'
    with pytest.raises(ValueError, match="This is not a tpushape report"):
        tpushape.Report.from_json(evil)
    deep = "[" * 100_000 + "]" * 100_000
    with pytest.raises(ValueError, match="This is not a tpushape report"):
        tpushape.Report.from_json(deep)
