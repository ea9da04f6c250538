"""Bad weather: whatever the user's objects do, a trace ends, with a report or one clear sentence, and leaves things as they were.

Random programs come from ``weather.py``; ``TPUSHAPE_SOAK`` sets how many (``make soak`` runs thousands).
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from hypothesis import HealthCheck, Phase, example, given, settings
from weather import Random, describe_of, programs

import jupyter_tpushape as tpushape
from jupyter_tpushape.examine import BadProgram
from jupyter_tpushape.sources import BadData
from jupyter_tpushape.trace.frameworks import adapter

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
SOAK = "TPUSHAPE_SOAK" in os.environ
EXAMPLES = int(os.environ.get("TPUSHAPE_SOAK", "75"))
ROWS = (np.zeros((8, 4), "float32"), None)


def layer(lib, call):
    class Odd(lib.layers.Layer):
        def call(self, x):
            return call(self, x)

    return Odd()


def around(lib, call):
    """A model with a layer of the user's in its middle, made by a builder."""
    return lambda: lib.Sequential([lib.Input((4,)), layer(lib, call), lib.layers.Dense(2)])


def subclassed(lib, call):
    class Net(lib.Model):
        def __init__(self):
            super().__init__()
            self.head = lib.layers.Dense(2)

        def call(self, x):
            return self.head(call(self, x))

    return Net()


def only(report):
    assert report.findings, report
    return report.findings[0]


def all_forms(report):
    """Every rendering that needs no browser."""
    assert tpushape.Report.from_json(report.to_json()).summary == report.summary
    return repr(report) + report._repr_mimebundle_()["text/plain"]


# --- random programs -----------------------------------------------------------------------------------------------------


def counted(state):
    """Keras' name counters; one that counts nothing is as good as none."""
    if isinstance(state, (dict, type(weakref.WeakKeyDictionary()))):
        found = {str(key): counted(value) for key, value in dict(state).items() if key != "custom_objects_scope_dict"}
        return {key: value for key, value in found.items() if value}
    return repr(state) if state else ""


def noticed():
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state()[1].tobytes(),
        "counters": [counted(adapter(lib.__name__).globals()) for lib in (keras, tf_keras)],
        "threads": {thread.name for thread in threading.enumerate() if thread.name == "tpushape-limit"},
    }


@BOTH
@settings(
    phases=(Phase.explicit, Phase.generate), database=None, max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=not SOAK
)
@given(program=programs())
@example(program=Random((1,), (("sum", 6), ("sum", 6), ("embedding", 6)), "mse", 1, 8, "classes", "arrays", None, True))
def test_random_programs_end_in_a_report_and_change_nothing(lib, program):
    lib.backend.clear_session()
    build, data = program.make(lib)
    tf.random.get_global_generator()
    before = noticed()
    try:
        report = tpushape.trace(build, data, tpu=program.tpu, fixes=program.fault % 5 == 0)
    except (BadProgram, BadData) as sentence:
        told = str(sentence)
        assert told and "\n" not in told
        return
    assert noticed() == before, describe_of(program)
    for finding in report.findings:
        assert finding.message.strip() and "Traceback" not in finding.message
    all_forms(report)


# --- code that does not end, or ends in odd ways --------------------------------------------------------------------------


def forever(_, x):
    while True:
        pass


def stubborn(_, x):
    while True:
        try:
            time.sleep(0.05)
        except Exception:
            continue


def asleep(_, x):
    time.sleep(1e6)


@BOTH
@pytest.mark.parametrize("call", [forever, stubborn, asleep])
def test_a_call_that_never_ends_is_stopped(lib, call, monkeypatch):
    monkeypatch.setenv("TPUSHAPE_TIMEOUT", "0.5")
    for model in (around(lib, call), subclassed(lib, call)):
        start = time.perf_counter()
        finding = only(tpushape.trace(model, ROWS, tpu=None))
        assert time.perf_counter() - start < 10
        said = f"{finding.message} {finding.why}"
        assert "after 0.5 seconds" in said and "TPUSHAPE_TIMEOUT" in said
        assert not finding.fixes or not any(fix.verified for fix in finding.fixes)


def hurried(_, x):
    try:
        while True:
            pass
    finally:
        raise AssertionError("Half begun.")


@BOTH
def test_what_is_raised_on_the_way_out_of_a_limit_hides_it_not(lib, monkeypatch):
    monkeypatch.setenv("TPUSHAPE_TIMEOUT", "0.5")
    finding = only(tpushape.trace(subclassed(lib, hurried), ROWS, tpu=None))
    assert "after 0.5 seconds" in f"{finding.message} {finding.why}"


class Slow:
    """Goes away slowly: Python drops what is raised meanwhile, and reports it, which pytest takes for a failure."""

    def __del__(self):
        end = time.monotonic() + 1.2
        while time.monotonic() < end:
            pass


def goes_and_stays(_, x):
    made = Slow()
    del made
    while True:
        pass


@pytest.mark.parametrize("thread", [False, True], ids=["main", "thread"])
def test_a_limit_that_is_up_in_a_finalizer_is_said_again_and_reported_nowhere(thread, monkeypatch):
    monkeypatch.setenv("TPUSHAPE_TIMEOUT", "0.5")
    reported, found = [], []
    monkeypatch.setattr(sys, "unraisablehook", mine := reported.append)
    run = lambda: found.append(tpushape.trace(subclassed(keras, goes_and_stays), ROWS, tpu=None))  # noqa: E731
    if thread:
        started = threading.Thread(target=run)
        started.start()
        started.join(60)
    else:
        run()
    assert "after 0.5 seconds" in only(found[0]).message
    assert reported == []
    assert sys.unraisablehook is mine


def test_what_else_a_finalizer_raises_is_reported_as_ever(monkeypatch):
    class Raising:
        def __del__(self):
            raise ValueError("mine")

    def call(_, x):
        made = Raising()
        del made
        return x

    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: reported.append(str(dropped.exc_value)))
    assert tpushape.trace(subclassed(keras, call), ROWS, tpu=None).ok
    assert set(reported) == {"mine"}


def test_it_is_stopped_in_a_thread_too(monkeypatch):
    monkeypatch.setenv("TPUSHAPE_TIMEOUT", "0.5")
    found = []
    thread = threading.Thread(target=lambda: found.append(tpushape.trace(subclassed(keras, forever), ROWS, tpu=None)))
    thread.start()
    thread.join(20)
    assert "after 0.5 seconds" in only(found[0]).message


PROFILED = """
import sys, threading
import keras, numpy as np
import jupyter_tpushape as tpushape

class Forever(keras.layers.Layer):
    def call(self, x):
        while True:
            pass

def traced():
    return tpushape.trace(lambda: keras.Sequential([keras.Input((3,)), layer()]), np.zeros((8, 3), "float32"), tpu=None)

def seen():
    count = []
    sys.setprofile(lambda frame, event, argument: count.append(event))
    try:
        sum(number for number in range(3))
    finally:
        sys.setprofile(None)
    assert "call" in count

layer = lambda: keras.layers.Dense(2)
traced()
seen()
layer = Forever
thread = threading.Thread(target=lambda: (traced(), seen(), print("both")))
thread.start()
thread.join()
"""


def test_a_profiler_runs_after_a_trace():
    env = {**os.environ, "TPUSHAPE_TIMEOUT": "1"}
    done = subprocess.run([sys.executable, "-c", PROFILED], env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout == "both\n", done.stderr


def test_data_that_never_comes_is_left_alone(monkeypatch):
    monkeypatch.setenv("TPUSHAPE_TIMEOUT", "0.5")
    finding = only(tpushape.trace(around(keras, lambda _, x: x), lambda: time.sleep(1e6), tpu=None))
    assert finding.rule == "data-raises"
    assert "after 0.5 seconds" in f"{finding.message} {finding.why}"


def test_the_limit_leaves_ctrl_c_as_it_was():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        _limit_leaves_ctrl_c()
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: None])
def test_a_sleep_is_stopped_whatever_answers_ctrl_c(handler, monkeypatch):
    monkeypatch.setenv("TPUSHAPE_TIMEOUT", "0.5")
    before = signal.signal(signal.SIGINT, handler)
    try:
        assert "after 0.5 seconds" in only(tpushape.trace(subclassed(keras, asleep), ROWS, tpu=None)).message
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


def _limit_leaves_ctrl_c():
    before = signal.getsignal(signal.SIGINT)
    tpushape.trace(around(keras, lambda _, x: x), ROWS, tpu=None)
    assert signal.getsignal(signal.SIGINT) is before

    def interrupted(_, x):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        tpushape.trace(subclassed(keras, interrupted), ROWS, tpu=None)
    assert signal.getsignal(signal.SIGINT) is before


def no_memory(_, x):
    raise MemoryError("Unable to allocate 80.0 GiB")


def leaves(_, x):
    raise SystemExit(3)


def without_end(self, x):
    return without_end(self, x)


def value_of(_, x):
    return x * int(x[0, 0])


def to_numpy(_, x):
    return x + x.numpy()


ODD = {
    no_memory: "Unable to allocate 80.0 GiB",
    leaves: "it ends the program with SystemExit(3)",
    without_end: "maximum recursion depth exceeded",
    to_numpy: "has no attribute 'numpy'",
}


@BOTH
@pytest.mark.parametrize("call", ODD)
def test_odd_ends_are_told_as_they_are(lib, call, monkeypatch):
    # tf_keras converts each turn of a recursion anew, which takes long: either limit may be met first.
    monkeypatch.setenv("TPUSHAPE_TIMEOUT", "5")
    report = tpushape.trace(subclassed(lib, call), ROWS, tpu=None)
    finding = only(report)
    said = f"{finding.message} {finding.why}"
    assert ODD[call] in said or (call is without_end and lib is tf_keras and "after 5 seconds" in said)
    assert not report.ok
    all_forms(report)


def test_a_layer_that_asks_for_values_is_told_at_its_line():
    finding = only(tpushape.trace(subclassed(keras, value_of), ROWS, tpu=None))
    assert finding.location is not None
    assert finding.location.text == "return x * int(x[0, 0])"


def test_a_builder_out_of_memory_is_told():
    def build():
        raise MemoryError("Unable to allocate 80.0 GiB for an array")

    finding = only(tpushape.trace(build, ROWS, tpu=None))
    assert "Unable to allocate 80.0 GiB" in f"{finding.message} {finding.why}"


@BOTH
def test_side_effects_of_a_call_are_the_users_and_its_attributes_are_given_back(lib, capsys):
    def call(self, x):
        print("called")
        self.count = getattr(self, "count", 0) + 1
        self.seen = [*getattr(self, "seen", []), 1]
        return x

    model = subclassed(lib, call)
    assert tpushape.trace(model, ROWS, tpu=None).ok
    assert not hasattr(model, "count") and not hasattr(model, "seen")
    assert "called" in capsys.readouterr().out


# --- hostile objects -----------------------------------------------------------------------------------------------------


class Hostile:
    """Everything that one may look at raises."""

    def __repr__(self):
        raise RuntimeError("no repr")

    def __getattr__(self, name):
        raise RuntimeError(f"no {name}")

    def __len__(self):
        raise RuntimeError("no len")

    def __eq__(self, other):
        raise RuntimeError("no eq")

    def __bool__(self):
        raise RuntimeError("no bool")

    __hash__ = None


def test_hostile_data_is_one_sentence():
    with pytest.raises(BadData, match=r"^The data is .*Hostile, .*: pass arrays, "):
        tpushape.trace(around(keras, lambda _, x: x), Hostile(), tpu=None)


def test_a_hostile_model_is_one_sentence():
    with pytest.raises(BadProgram, match=r"got .*Hostile: "):
        tpushape.trace(Hostile(), ROWS, tpu=None)


@BOTH
def test_hostile_attributes_of_a_layer_do_not_matter(lib):
    def build():
        model = around(lib, lambda _, x: x)()
        for one in model.layers:
            vars(one)["_odd"] = Hostile()
        return model

    assert tpushape.trace(build, ROWS, tpu="v5e-8").ok
    assert tpushape.trace(build(), ROWS, tpu="v5e-8").ok


@BOTH
def test_a_config_that_raises_does_not_matter(lib):
    class Shy(lib.layers.Layer):
        def get_config(self):
            raise RuntimeError("no config")

        def call(self, x):
            return x

    report = tpushape.trace(lambda: lib.Sequential([lib.Input((4,)), Shy(), lib.layers.Dense(3)]), ROWS, tpu="v5e-8")
    assert report.ok
    all_forms(report)


EVIL = "</script><script>alert(1)</script>\n\x1b[31m%0A::error::\u202e" + "x" * 300


def test_hostile_names_stay_text():
    def build():
        inputs = keras.Input((4,), name="a b\n<b>")
        return keras.Model(inputs, keras.layers.Dense(2, name=EVIL.replace("/", "|"))(inputs), name="<img src=x>")

    report = tpushape.trace(build, ROWS, tpu="v5e-8")
    assert report.ok
    text = all_forms(report)
    assert "\x1b[31m" not in text and "\u202e" not in text


# --- size, threads, places -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [500])
def test_a_deep_model_is_traced(depth):
    def build():
        x = first = keras.Input((4,))
        for _ in range(depth):
            x = keras.layers.Activation("relu")(x)
        return keras.Model(first, keras.layers.LSTM(2)(x))

    start = time.perf_counter()
    report = tpushape.trace(build, ROWS, tpu=None)
    assert only(report).rule == "layer-rank"
    assert time.perf_counter() - start < 60
    all_forms(report)


def test_a_chain_too_long_for_python_is_told_with_what_to_do():
    def build():
        x = first = keras.Input((4,))
        for _ in range(sys.getrecursionlimit()):
            x = keras.layers.Activation("relu")(x)
        return keras.Model(first, x)

    finding = only(tpushape.trace(build, ROWS, tpu=None))
    assert type(finding.fact).__name__ == "TooDeep"
    assert "sys.setrecursionlimit(50_000)" in finding.why
    assert finding.location.text == "return keras.Model(first, x)"


@pytest.mark.skipif(not SOAK, reason="half a minute and more for Keras to build it: make soak")
@BOTH
@pytest.mark.parametrize("broken", [False, True], ids=["whole", "broken"])
def test_ten_thousand_layers_are_traced(lib, broken):
    x = first = lib.Input((8,))
    for _ in range(100):
        y = inner = lib.Input((8,))
        for _ in range(100):
            y = lib.layers.Activation("relu")(y)
        x = lib.Model(inner, y)(x)
    model = lib.Model(first, lib.layers.Reshape((2, 4))(x) if broken else lib.layers.Dense(3)(x))
    model.compile("sgd", "sparse_categorical_crossentropy")
    report = tpushape.trace(model, (np.zeros((64, 8), "float32"), np.zeros(64, "int64")), tpu="v5e-8")
    assert len(report.flow.nodes) > 10_000
    assert report.ok != broken
    all_forms(report)


def test_threads_trace_beside_each_other():
    found, errors = {}, []

    def one(number):
        try:
            lib = (keras, tf_keras)[number % 2]
            model = lib.Sequential([lib.Input((4,)), lib.layers.Dense(number + 1)])
            found[number] = tpushape.trace(model, ROWS, tpu=None).flow.nodes[-1].name, len(model.weights)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors
    assert len(found) == 6


def test_a_disk_that_takes_nothing_costs_the_cache_only(tmp_path, monkeypatch):
    from jupyter_tpushape.compilers import cache

    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TPUSHAPE_CACHE", str(tmp_path / "file" / "below"))
    cache.write(cache.place("a"), {"ok": True})
    assert cache.read(cache.place("a")) is None
    report = tpushape.trace(around(keras, lambda _, x: x), ROWS, tpu=None)
    with pytest.raises(OSError, match="file"):
        report.save(tmp_path / "file" / "report.json")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's device that is always full")
def test_a_full_disk_is_told_and_keeps_no_half_of_a_file(tmp_path, monkeypatch, capsys):
    from jupyter_tpushape.cli import main
    from jupyter_tpushape.compilers import cache

    (tmp_path / "train.py").write_text(
        "import keras, numpy as np\ndef make():\n    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])\n"
        "def data():\n    return np.zeros((8, 4), 'float32'), None\n"
    )
    script = tmp_path / "train.py"
    assert main(["check", f"{script}:make", "--data", f"{script}:data", "--tpu", "none", "--output", "/dev/full"]) == 2
    assert "/dev/full (No space left on device)" in capsys.readouterr().err

    monkeypatch.setenv("TPUSHAPE_CACHE", str(tmp_path / "cache"))
    place = cache.place("a")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.with_suffix(f".{os.getpid()}").symlink_to("/dev/full")
    cache.write(place, {"ok": True, "filler": "x" * 100_000})
    assert cache.read(place) is None
    assert list(place.parent.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"ok": 3}', "\0" * 100])
def test_a_broken_cache_file_is_as_none(text, tmp_path, monkeypatch):
    from jupyter_tpushape.compilers import cache

    monkeypatch.setenv("TPUSHAPE_CACHE", str(tmp_path))
    cache.place("a").write_text(text)
    assert cache.read(cache.place("a")) in (None, {"ok": 3})


def test_both_kerases_mixed_up_are_told():
    finding = only(tpushape.trace(lambda: keras.Sequential([keras.Input((4,)), tf_keras.layers.Dense(2)]), ROWS, tpu=None))
    assert not finding.message.endswith("..")
    model = tf_keras.Sequential([tf_keras.Input((4,)), tf_keras.layers.Dense(2)])
    assert tpushape.trace(model, ROWS, tpu=None).flow.framework == "tf_keras"
