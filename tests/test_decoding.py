"""What is read from JSON in several threads at once: the kernel's own, and those that messages arrive in."""

from __future__ import annotations

import subprocess
import sys

import pytest

import jupyter_tpushape as tpushape

# Each thread decodes a type that no one has decoded before; the interpreter changes between threads as often as it can.
CODE = """
import sys, threading
sys.setswitchinterval(1e-6)
from jupyter_tpushape import Report
from jupyter_tpushape.notebook.request import parse
text = sys.stdin.read()
failed, begin = [], threading.Barrier(4)
def reads(work):
    begin.wait()
    try:
        for _ in range(3):
            work()
    except Exception as error:
        failed.append(error)
work = lambda: Report.from_json(text), lambda: parse({"op": "list", "id": "a"})
threads = [threading.Thread(target=reads, args=(one,)) for one in work * 2]
for one in threads:
    one.start()
for one in threads:
    one.join()
print(failed)
"""


def test_the_first_reads_of_several_threads_do_not_end_the_process(tmp_path):
    import keras
    import numpy as np

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    text = tpushape.trace(model, (np.zeros((8, 3)), np.zeros((8, 2)))).to_json()
    for _ in range(4):
        done = subprocess.run([sys.executable, "-c", CODE], input=text, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr[-300:]


@pytest.mark.parametrize("call", ["msgspec.json.decode(", "msgspec.convert(", "msgspec.json.Decoder("])
def test_only_one_module_asks_msgspec_to_read(call):
    from pathlib import Path

    package = Path(tpushape.__file__).parent
    users = [path.relative_to(package).as_posix() for path in package.rglob("*.py") if call in path.read_text(encoding="utf-8")]
    assert users in ([], ["flow/decoding.py"])
