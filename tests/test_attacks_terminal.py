"""Any terminal, any exit: what a stranger's names, prints, pipes and signals do to ``tpushape check``."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

import jupyter_tpushape as tpushape
from jupyter_tpushape.cli import main
from jupyter_tpushape.flow import Edge, Finding, Fix, Flow, Location, Node, Side, Spec
from jupyter_tpushape.flow.text import clean, uncommanding
from jupyter_tpushape.report import Report
from jupyter_tpushape.views.annotations import to_annotations
from jupyter_tpushape.views.markdown import to_markdown
from jupyter_tpushape.views.sarif import to_sarif
from jupyter_tpushape.views.svg import to_svg
from jupyter_tpushape.views.text import to_text

ROOT = Path(tpushape.__file__).parents[1]
FORMS = ("text", "json", "html", "md", "svg", "sarif", "github")
HOSTILE = (
    "\x1b[2J\x1b[31mred", "\x1b]0;owned\x07", "\x1b]8;;http://evil\x1b\\x", "\x9b31m", "\x9d0;x\x9c", "a\rb", "a\nb", "a\n::add-mask::b",
    "::error::x", "a\n  ::stop-commands::x", "##[command]x", "##vso[task.setvariable]x", "##teamcity[x]", "\u202eevil", "\u2066x\u2069", "\u200fx",
    "a\u2028b", "a\x00b", "a\x08b", "a\x0cb", "a\x85b", "a\x7fb", "\ud800x", "x" * 5_000, "\u0301" * 50, "a\tb", "%0A::error::", "{{7*7}}", "[/]", "[red]x[/red]",
)  # fmt: skip


def report_of(name: str) -> Report:
    """A report that says this name wherever a report can."""
    where = Location(f"/tmp/{name}.py", 3, text=name)
    fix = Fix(name, verified=True, patch=f"--- a\n+++ b\n@@ -1,1 +1,1 @@\n-{name}\n+x", reason=name, proof="source", then=(name,))
    nodes = [Node("n", name, "layer", name, status="failed", location=where, note=name), Node("i", name, "input", "")]
    finding = Finding(
        "layer-rank", "error", name, name, Side(name), Side(f"({name})", (name,), (0,)), ("n",), ("e",), where, [fix], (name,)
    )
    return Report(Flow(nodes, [Edge("e", "i", "n", Spec((8, 4), "float32"), label=name)], name), [finding], title=name, limits=(name,))


@pytest.fixture
def program(tmp_path: Path, monkeypatch: Any) -> None:
    """``x.py:y`` is there, and is looked at no further."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.py").write_text("y = 1\n")


def obeyed(text: str) -> list[str]:
    """What a terminal or a runner would obey."""
    controls = [letter for letter in text if letter != "\n" and clean(letter) != letter]
    lines = [line for line in text.split("\n") if line.strip().startswith("::") or uncommanding(line) != line]
    return controls + lines


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("form", FORMS)
def test_no_name_is_obeyed_by_a_terminal_or_a_runner(form: str, name: str, monkeypatch: Any, capsys: Any, program: None) -> None:
    monkeypatch.setattr("jupyter_tpushape.command.check._report", lambda options: report_of(name))
    assert main(["check", "x.py:y", "--format", form]) == 1
    out, err = capsys.readouterr()
    if form == "github":
        assert len(out.splitlines()) == 2
        assert out.startswith("::error title=tpushape%3A layer-rank,")
        out = "\n".join(line.partition("::")[2].replace("::", "") for line in out.splitlines())
    assert obeyed(out) == []
    assert obeyed(err) == []
    if form in ("json", "sarif"):
        json.loads(out)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_no_name_is_obeyed_in_a_file_or_a_notebook(name: str) -> None:
    report = report_of(name)
    for text in (to_text(report), to_text(report, width=20), to_markdown(report), repr(report)):
        assert obeyed(text) == []
    for text in (to_svg(report), to_annotations(report), to_sarif(report), report.to_json()):
        text.encode("utf-8")
    assert Report.from_json(report.to_json()).to_json() == report.to_json()


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_no_name_is_obeyed_on_stderr(name: str, capsys: Any, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(f"def build():\n    pass\nraise ValueError({name!r})\n", encoding="utf-8", errors="surrogatepass")
    assert main(["check", f"{tmp_path / 'x.py'}:build"]) == 2
    assert main(["check", f"{name}:build"]) == 2
    assert main(["check", "x.py:build", "--tpu", name]) == 2
    assert main(["rules", name]) == 2
    assert obeyed(capsys.readouterr().err) == []


# -- the program's prints, and its ways out -----------------------------------------------------------------------------------------

NOISY = """
import atexit, os, subprocess, sys, threading, time
print("on import")
sys.__stdout__.write("past the redirection\\n")
os.write(1, b"to the descriptor\\n")
subprocess.run([sys.executable, "-c", "print('from a child')"])
atexit.register(lambda: print("at the end"))
atexit.register(lambda: os.write(1, b"at the very end\\n"))
threading.Thread(target=lambda: [(time.sleep(0.2), print("from a thread")) for _ in range(200)], daemon=True).start()
import keras
class Loud(keras.layers.Layer):
    def call(self, x):
        print("in a layer")
        return x
def build():
    print("in the builder", flush=True)
    return keras.Sequential([keras.Input((8, 8, 1)), Loud(), keras.layers.LSTM(4)])
"""


def check(folder: Path, program: str, *arguments: str, name: str = "build", **how: Any) -> subprocess.CompletedProcess[bytes]:
    (folder / "train.py").write_text(program, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **how.pop("env", {})}
    command = [sys.executable, "-m", "jupyter_tpushape.cli", "check", f"train.py:{name}", "--tpu", "none", "--no-fixes", *arguments]
    how = {"capture_output": True} | how
    return subprocess.run(command, cwd=folder, env=environment, check=False, timeout=300, **how)


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_a_programs_prints_never_enter_a_report(form: str, tmp_path: Path) -> None:
    done = check(tmp_path, NOISY, "--format", form)
    assert done.returncode == 1, done.stderr[-2000:]
    json.loads(done.stdout)
    for words in (
        b"on import",
        b"past the redirection",
        b"to the descriptor",
        b"from a child",
        b"in a layer",
        b"in the builder",
        b"at the end",
    ):
        assert words in done.stderr


ENDS = {
    "sys.exit(0)": "import sys; sys.exit(0)",
    "exit()": "exit()",
    "os._exit(0)": "import os; os._exit(0)",
    "os._exit(1)": "import os; os._exit(1)",
    "a kill": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "a crash": "import ctypes; ctypes.string_at(0)",
    "an abort": "import os; os.abort()",
    "a syntax error": "def build(:",
    "recursion": "def f(): f()\nf()",
    "an exception without words": "raise Exception",
    "a base exception": "class Odd(BaseException): pass\nraise Odd('x')",
    "a generator's end": "raise StopIteration",
    "an interrupt": "raise KeyboardInterrupt",
    "a null byte": "x = '\\0'\n\0",
    "no such name": "x = 1",
    "a name that is a module": "import os as build",
    "a name that is a number": "build = 3",
    "a name that raises": "def __getattr__(name): raise RuntimeError(name)",
}


@pytest.mark.parametrize("name", ENDS)
def test_no_other_end_looks_like_a_verdict(name: str, tmp_path: Path) -> None:
    done = check(tmp_path, ENDS[name] + "\n")
    assert done.returncode not in (0, 1), done.stderr
    assert done.stdout == b""
    if done.returncode > 0:
        assert done.returncode in (2, 130)
        assert done.stderr.count(b"\n") == 1, done.stderr
        assert done.stderr.startswith(b"tpushape: ")


INSIDE = {
    "os._exit in the builder": "def build():\n    import os; os._exit(0)",
    "an interrupt in the builder": "def build():\n    raise KeyboardInterrupt",
    "nothing from the builder": "def build():\n    return None",
    "a builder with an argument": "def build(x):\n    return x",
}


@pytest.mark.parametrize("name", INSIDE)
def test_no_end_of_a_builder_looks_like_a_verdict(name: str, tmp_path: Path) -> None:
    done = check(tmp_path, INSIDE[name] + "\n")
    assert done.returncode in (2, 130) or (done.returncode == 1 and done.stdout), done.stderr


def test_a_fault_of_ours_has_a_code_of_its_own(monkeypatch: Any, capsys: Any, program: None) -> None:
    def fault(options: Any) -> Any:
        raise ValueError("a\n\x1b[31mb")

    monkeypatch.setattr("jupyter_tpushape.command.check._report", fault)
    assert main(["check", "x.py:y"]) == 70
    err = capsys.readouterr().err
    assert err.startswith("tpushape: Internal error") and err.count("\n") == 1 and obeyed(err) == []


@pytest.mark.parametrize(
    "arguments", [[], ["nonsense"], ["check"], ["check", "x.py:y", "--format", "exe"], ["check", "x.py:y", "--batch-size", "no"]]
)
def test_usage_is_argparses_own(arguments: list[str], capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["nowhere.py:build"], ["nowhere.py"], ["nowhere.keras"], ["."], [""], [":"], [":build"], ["x.py:build", "--tpu", "v9"],
        ["x.py:build", "--batch-size", "0"], ["x.py:build", "--compile-batches"], ["x.py:build", "--compile", "tpu", "--tpu", "none"],
        ["x.py:build", "--compile", "xla", "--compile-timeout", "-1"], ["nowhere.ipynb"], ["nowhere.ipynb:m", "--execute"], ["\0.py:build"],
        ["x" * 5_000 + ".py:build"],
    ],
)  # fmt: skip
def test_a_mistake_in_what_was_typed_is_one_line(arguments: list[str], capsys: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1


# -- stdout -------------------------------------------------------------------------------------------------------------------------

BROKEN = "import keras\ndef build():\n    return keras.Sequential([keras.Input((8, 8, 1)), keras.layers.LSTM(4, name='größe')])\n"


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "latin-1", "utf-16", "cp437", "utf-8"])
def test_a_report_in_any_encoding(encoding: str, tmp_path: Path) -> None:
    for form in ("text", "json"):
        done = check(tmp_path, BROKEN, "--format", form, env={"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"})
        assert done.returncode == 1, done.stderr
        text = done.stdout.decode(encoding)
        assert "1 problem" in text
        if form == "json":
            assert "größe" in json.dumps(json.loads(text), ensure_ascii=False)


def test_stdout_that_is_closed_full_or_gone(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = check(tmp_path, BROKEN, stdout=write, stderr=subprocess.PIPE, capture_output=False)
    os.close(write)
    # TensorFlow's own start-up lines are not ours.
    assert (done.returncode, [line for line in done.stderr.splitlines() if not re.match(rb"[EIW]\d{4} ", line)]) == (1, [])
    with Path("/dev/full").open("wb") as full:
        done = check(tmp_path, BROKEN, stdout=full, stderr=subprocess.PIPE, capture_output=False)
    ours = [line for line in done.stderr.splitlines() if not re.match(rb"[EIW]\d{4} ", line)]
    assert done.returncode == 2 and len(ours) == 1 and b"--output" in ours[0]
    (tmp_path / "train.py").write_text(BROKEN, encoding="utf-8")
    shell = f"{sys.executable} -m jupyter_tpushape.cli check train.py:build --tpu none --no-fixes"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for way in (">&-", ">&- 2>&-", "2>&-", "2>/dev/full"):
        assert (
            subprocess.run(f"{shell} {way}", shell=True, cwd=tmp_path, env=environment, capture_output=True, check=False).returncode == 1
        ), way


@pytest.mark.parametrize("columns", [1, 20, 40, 10_000])
def test_any_width(columns: int) -> None:
    report = tpushape.trace(
        keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Flatten(), keras.layers.Dense(3)]), np.zeros((8, 9, 9, 1), "float32")
    )
    assert "problem" in to_text(report, width=columns).replace("\n", "")


def test_ctrl_c_is_one_line(tmp_path: Path) -> None:
    slow = "import time, keras\ndef build():\n    print('here', flush=True)\n    time.sleep(60)\n"
    stubborn = "import keras\ndef build():\n    print('here', flush=True)\n    while True:\n        try:\n            sum(range(10**6))\n        except BaseException: pass\n"
    deep = "import keras, numpy as np\ndef build():\n    print('here', flush=True)\n    a = np.ones((6000, 6000)); [a @ a for _ in range(50)]\n"
    for program in (slow, stubborn, deep):
        (tmp_path / "train.py").write_text(program)
        command = [sys.executable, "-m", "jupyter_tpushape.cli", "check", "train.py:build", "--tpu", "none"]
        process = subprocess.Popen(
            command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stderr is not None
        while b"here" not in (line := process.stderr.readline()):
            assert line, "it ended before it began"
        start = time.perf_counter()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert time.perf_counter() - start < 5  # 1 s on an idle machine
        assert (process.returncode, out) == (130, b"")
        assert err == b"tpushape: Interrupted.\n"
