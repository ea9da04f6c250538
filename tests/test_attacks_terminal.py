"""Any terminal, any exit: what a stranger's names, prints, pipes and signals do to ``tpushape check``."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from forked import CLOSED, Server

import jupyter_tpushape as tpushape
from jupyter_tpushape.cli import main
from jupyter_tpushape.command import ends
from jupyter_tpushape.command.ends import GRACE
from jupyter_tpushape.flow import Edge, Finding, Fix, Flow, Location, Node, Side, Spec
from jupyter_tpushape.flow.text import clean, uncommanding
from jupyter_tpushape.report import Report
from jupyter_tpushape.views.markdown import to_markdown
from jupyter_tpushape.views.sarif import to_annotations, to_sarif
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
    finding = Finding("layer-rank", "error", name, name, Side(name), Side(f"({name})", (name,), (0,)), ("n",), ("e",), where, [fix], (name,))
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
import atexit, gc, os, subprocess, sys, threading, time
print("on import")
sys.__stdout__.write("past the redirection\\n")
os.write(1, b"to the descriptor\\n")
subprocess.run([sys.executable, "-c", "print('from a child')"])
atexit.register(lambda: print("at the end"))
atexit.register(lambda: os.write(1, b"at the very end\\n"))
atexit.register(lambda: print(f"{len(gc.get_objects()) // 100_000} heaps for the end to walk through"))
threading.Thread(target=lambda: [(time.sleep(0.001), print("from a thread")) for _ in range(40_000)], daemon=True).start()
import keras
class Loud(keras.layers.Layer):
    def call(self, x):
        print("in a layer")
        return x
def build():
    print("in the builder", flush=True)
    return keras.Sequential([keras.Input((8, 8, 1)), Loud(), keras.layers.LSTM(4)])
"""


OPTIONS = ("--tpu", "none", "--no-fixes")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


Check = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def check(server: Server, tmp_path: Path) -> Check:
    """Runs ``tpushape check`` on a program, in a process of its own."""

    def run(program: str, *arguments: str, **how: Any) -> subprocess.CompletedProcess[bytes]:
        (tmp_path / "train.py").write_text(program, encoding="utf-8")
        return server.run(["check", "train.py:build", *OPTIONS, *arguments], tmp_path, **how)

    return run


def check_from_the_start(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """The same with an interpreter that is started for it, which imports everything anew."""
    (folder / "train.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "jupyter_tpushape.cli", "check", "train.py:build", *OPTIONS, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, check=False, timeout=300, capture_output=True)


@pytest.mark.parametrize("form", ["json", "sarif", "json from the start"])
def test_a_programs_prints_never_enter_a_report(form: str, check: Check, tmp_path: Path) -> None:
    form, started, _ = form.partition(" from the start")
    done = check_from_the_start(tmp_path, NOISY, "--format", form) if started else check(NOISY, "--format", form)
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
        b"0 heaps for the end to walk through",
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
def test_no_other_end_looks_like_a_verdict(name: str, check: Check) -> None:
    done = check(ENDS[name] + "\n")
    assert done.returncode not in (0, 1), done.stderr
    assert done.stdout == b""
    if done.returncode > 0:
        assert done.returncode in (2, 130)
        assert done.stderr.count(b"\n") == 1, done.stderr
        assert done.stderr.startswith(b"tpushape: ")


def test_streams_that_the_program_replaces_are_not_ours(check: Check) -> None:
    broken = "class Broken:\n    def write(self, *a): raise ValueError\n    def flush(self): raise ValueError\n"
    done = check(f"import sys\n{broken}sys.stdout = sys.stderr = Broken()\n" + BROKEN)
    assert done.returncode == 1 and "1 problem" in done.stdout.decode()


LATE = {
    "an exit function": "import atexit, os\natexit.register(lambda: os._exit(0))\n",
    "a name of its own": "from os import _exit\nimport atexit\natexit.register(lambda: _exit(0))\n",
    "a thread": "import atexit, os, threading\nthread = threading.Thread(target=lambda: os._exit(0))\natexit.register(lambda: (thread.start(), thread.join()))\n",
    "an error": "import atexit\natexit.register(lambda: 1 / 0)\n",
}


@pytest.mark.parametrize("name", LATE)
def test_the_verdict_stays_whatever_the_program_does_at_its_end(name: str, check: Check) -> None:
    done = check(LATE[name] + BROKEN)
    assert done.returncode == 1 and "1 problem" in done.stdout.decode()
    assert b"jupyter_tpushape" not in done.stderr


WAYS = {
    "Python's own settings": "import decimal, gc, locale, sys, threading, time, warnings\nwarnings.simplefilter('error')\ngc.disable()\n"
    "locale.setlocale(locale.LC_ALL, 'C')\ndecimal.getcontext().prec = 1\nsys.excepthook = threading.excepthook = lambda *a: 1 / 0\n"
    "threading.stack_size(32768)\nsys.exit = lambda *a: None\n",
    "an empty environment": "import os\nos.environ.clear()\nos.umask(0o777)\n",
    "TensorFlow's own settings": "import tensorflow as tf\ntf.config.run_functions_eagerly(True)\ntf.data.experimental.enable_debug_mode()\n",
    "Keras' own settings": "import keras\nkeras.config.set_floatx('float16')\nkeras.config.disable_traceback_filtering()\n"
    "keras.mixed_precision.set_global_policy('mixed_bfloat16')\n",
    "logs on stdout": "import logging, sys\nlogging.basicConfig(stream=sys.stdout, level=0, force=True)\nlogging.info('x')\n",
    "signals that are ignored": "import signal\n[signal.signal(one, signal.SIG_IGN) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)]\n",
    "names of Python's": "class str: pass\nclass int: pass\n__file__ = __loader__ = None\n",
}


def test_a_program_that_closes_all_descriptors_gets_a_sentence(check: Check) -> None:
    done = check("import os\nos.closerange(3, 64)\n" + BROKEN)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1), done.stderr


@pytest.mark.parametrize("name", WAYS)
def test_a_program_that_sets_up_its_process_gets_its_verdict(name: str, check: Check) -> None:
    done = check(WAYS[name] + BROKEN, "--format", "json")
    assert done.returncode == 1, done.stderr
    json.loads(done.stdout)


def test_a_report_is_where_it_was_asked_for_wherever_the_program_goes(check: Check, tmp_path: Path) -> None:
    done = check("import os\nos.mkdir('away')\nos.chdir('away')\n" + BROKEN, "--format", "json", "--output", "r.json")
    assert done.returncode == 1 and (tmp_path / "r.json").exists() and not list((tmp_path / "away").iterdir())


@pytest.mark.parametrize("output", ["folder/", "folder", "no/such.json", "q" * 300, "loop", "/dev/full", "pipe", "/proc/self/mem", "~nobody/x"])
def test_a_place_that_takes_no_report(output: str, check: Check, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")  # nobody reads it, and nobody waits for that
    done = check(BROKEN, "--format", "json", "--output", output)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1), done.stderr
    assert not list((tmp_path / "folder").iterdir())


def test_a_process_that_the_program_forked_writes_no_second_report(check: Check) -> None:
    done = check("import os\n" + BROKEN.replace("    return", "    if os.fork():\n        os.wait()\n    return"), "--format", "json")
    assert done.returncode == 1
    json.loads(done.stdout)


def test_a_report_takes_no_place_of_what_is_checked(check: Check, tmp_path: Path) -> None:
    for typed in ("train.py", "./train.py", str(tmp_path / "train.py")):
        done = check(BROKEN, "--output", typed)
        assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
        assert (tmp_path / "train.py").read_text(encoding="utf-8") == BROKEN


def test_what_the_program_puts_in_our_way_is_no_fault_of_ours(check: Check) -> None:
    for way in ("import sys\nsys.settrace(lambda *a: 1 / 0)\n", "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\n"):
        done = check(way + BROKEN)
        assert (done.returncode, done.stdout) == (2, b""), done.stderr
        assert done.stderr.count(b"\n") == 1 and b"Internal error" not in done.stderr


INSIDE = {
    "os._exit in the builder": "def build():\n    import os; os._exit(0)",
    "an interrupt in the builder": "def build():\n    raise KeyboardInterrupt",
    "nothing from the builder": "def build():\n    return None",
    "a builder with an argument": "def build(x):\n    return x",
}


@pytest.mark.parametrize("name", INSIDE)
def test_no_end_of_a_builder_looks_like_a_verdict(name: str, check: Check) -> None:
    done = check(INSIDE[name] + "\n")
    assert done.returncode in (2, 130) or (done.returncode == 1 and done.stdout), done.stderr


def test_a_fault_of_ours_has_a_code_of_its_own(monkeypatch: Any, capsys: Any, program: None) -> None:
    held: dict[str, Any] = {}
    exec(compile("def fault(options): raise ValueError('a\\n\\x1b[31mb')", ends.__file__, "exec"), held)
    fault = held["fault"]
    monkeypatch.setattr("jupyter_tpushape.command.check._report", fault)
    assert main(["check", "x.py:y"]) == 70
    err = capsys.readouterr().err
    assert err.startswith("tpushape: Internal error") and err.count("\n") == 1 and obeyed(err) == []


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["check"], ["check", "x.py:y", "--format", "exe"], ["check", "x.py:y", "--batch-size", "no"]])
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
def test_a_report_in_any_encoding(encoding: str, check: Check) -> None:
    for form in ("text", "json"):
        done = check(BROKEN, "--format", form, env={"PYTHONIOENCODING": encoding})
        assert done.returncode == 1, done.stderr
        text = done.stdout.decode(encoding)
        assert "1 problem" in text
        if form == "json":
            assert "größe" in json.dumps(json.loads(text), ensure_ascii=False)


def ours(done: subprocess.CompletedProcess[bytes]) -> list[bytes]:
    """The lines on stderr without TensorFlow's own."""
    return [line for line in done.stderr.splitlines() if not re.match(rb"[EIW]\d{4} ", line)]


def test_stdout_that_nobody_reads(check: Check) -> None:
    read, write = os.pipe()
    os.close(read)
    done = check(BROKEN, stdout=write)
    os.close(write)
    assert (done.returncode, ours(done)) == (1, [])


def test_stdout_that_is_full(check: Check) -> None:
    with Path("/dev/full").open("wb") as full:
        done = check(BROKEN, stdout=full.fileno())
        assert done.returncode == 2 and len(ours(done)) == 1 and b"--output" in ours(done)[0]
        assert check(BROKEN, stderr=full.fileno()).returncode == 1


@pytest.mark.parametrize("closed", [("stdout",), ("stderr",), ("stdout", "stderr")])
def test_streams_that_are_closed(closed: tuple[str, ...], check: Check) -> None:
    done = check(BROKEN, **dict.fromkeys(closed, CLOSED))
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("columns", [1, 20, 40, 10_000])
def test_any_width(columns: int) -> None:
    report = tpushape.trace(keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Flatten(), keras.layers.Dense(3)]), np.zeros((8, 9, 9, 1), "float32"))
    assert "problem" in to_text(report, width=columns).replace("\n", "")


# What runs when it comes. Each says that it is there, and would go on for minutes.
INTERRUPTED = {
    "a wait": "import time\ndef build():\n    print('here', flush=True)\n    time.sleep(600)",
    "an import": "print('here', flush=True)\nimport time\ntime.sleep(600)\ndef build(): pass",
    "what catches everything": "def build():\n    print('here', flush=True)\n    while True:\n        try:\n            sum(range(10**6))\n        except BaseException: pass",
    "code in C": "import numpy as np\ndef build():\n    print('here', flush=True)\n    a = np.ones((2000, 2000))\n    while True: a @ a",
    "a thread of its own": "import threading, time\ndef build():\n    threading.Thread(target=time.sleep, args=(600,)).start()\n    print('here', flush=True)\n    time.sleep(600)",
    "a trace": """
import keras
class Slow(keras.layers.Layer):
    def call(self, x):
        if traced:
            print('here', flush=True)
            while True: pass
        return x
traced = False
model = keras.Sequential([keras.Input((4,)), Slow(), keras.layers.Dense(2)])
traced = True
def __getattr__(name):
    if name == "build": return model
    raise AttributeError(name)
""",
    "data": """
import keras, time
def build():
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
def data():
    print('here', flush=True)
    time.sleep(600)
""",
    "its own end": "import atexit, time\ndef build():\n    raise ValueError\ndef late():\n    print('here', flush=True)\n    time.sleep(600)\natexit.register(late)",
    # As where the signal comes just before the wait: the main thread does not hear it.
    "its own end, deaf": """
import atexit, signal, time
def build():
    raise ValueError
def late():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    print('here', flush=True)
    time.sleep(600)
atexit.register(late)
""",
    "objects that do not go": """
import time
class Kept:
    def __del__(self): time.sleep(600)
kept = Kept()
def build():
    print('here', flush=True)
    time.sleep(600)
""",
    "a repair": """
import keras, sys
def build():
    if any(frame for frame in frames() if "/repair/" in frame):
        print('here', flush=True)
        while True: pass
    return keras.Sequential([keras.Input((8, 8, 1)), keras.layers.LSTM(4)])
def frames():
    at = sys._getframe(1)
    while at is not None:
        yield at.f_code.co_filename
        at = at.f_back
""",
}


@pytest.mark.parametrize("moment", INTERRUPTED)
def test_ctrl_c_is_one_line(moment: str, server: Server, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(INTERRUPTED[moment])
    out, err = os.pipe(), os.pipe()
    data = ["--data", "train.py:data"] if moment == "data" else []
    # Its own time limit is not what ends it.
    command = server.start(["check", "train.py:build", "--tpu", "none", *data], tmp_path, {"TPUSHAPE_TIMEOUT": "600"}, out[1], err[1])
    os.close(out[1])
    os.close(err[1])
    said = b""
    while b"here" not in said:
        said += (more := os.read(err[0], 4096))
        assert more, said
    command.interrupt()
    done = command.end({"stdout": out[0], "stderr": err[0]}, [])
    if "its own end" in moment:
        # The verdict is out; nothing more is said.
        assert (done.returncode, done.stderr) == (1, b"")
        return
    assert (done.returncode, done.stdout) == (130, b"")
    assert done.stderr == b"tpushape: Interrupted.\n"


AT_AN_IMPORT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Interrupt:
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt)
from jupyter_tpushape.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize("module", ["numpy.linalg", "tensorflow.python.framework.dtypes", "keras.src.layers.layer", "jupyter_tpushape.diagnose"])
def test_ctrl_c_while_something_is_imported(module: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BROKEN)
    command = [sys.executable, "-c", AT_AN_IMPORT.format(module=module), "check", "train.py:build", *OPTIONS]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"tpushape: Interrupted.\n")


EARLY = """
import runpy, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder())
# As in a terminal, also where the tests run in the background of a shell that ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module({started!r}, run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("started", ["jupyter_tpushape", "jupyter_tpushape.cli"])
@pytest.mark.parametrize("module", ["jupyter_tpushape.command.check", "jupyter_tpushape.command.out"])
def test_ctrl_c_before_anything_of_ours_answers(started: str, module: str) -> None:
    command = [sys.executable, "-c", EARLY.format(module=module, started=started), "targets"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"tpushape: Interrupted.\n")


def test_an_interrupt_is_answered_within_a_second_of_grace() -> None:
    """What a test cannot measure on a busy machine: code that does not look up is left alone after this long."""
    assert GRACE < 1
