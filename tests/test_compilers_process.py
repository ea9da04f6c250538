"""The compiler's process: it ends when it should, takes nothing with it, and leaves chips that are in use alone."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tensorflow as tf

import jupyter_tpushape as tpushape
from jupyter_tpushape.compilers import bridge, process

needs_libtpu = pytest.mark.skipif(bool(bridge.check()), reason=bridge.check() or "installed")
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("TPUSHAPE_CACHE", str(tmp_path_factory.getbasetemp() / "verdicts"))


def workers():
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[1]
        except OSError:
            continue
        if "jupyter_tpushape.compilers.worker" in words:
            found.append((int(entry.name), int(parent)))
    return found


def started(code):
    """A process that asks the compiler, and its worker."""
    asking = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    end = time.monotonic() + 30
    while time.monotonic() < end:
        mine = [worker for worker, parent in workers() if parent == asking.pid]
        if mine:
            return asking, mine[0]
        time.sleep(0.05)
    raise AssertionError(asking.communicate()[1])


def gone(pid):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if not any(worker == pid for worker, _ in workers()):
            return True
        time.sleep(0.05)
    return False


# A test run in a shell's background ignores interrupts, and so would its children.
ASK = (
    "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from jupyter_tpushape.compilers import process\nprocess.ask(b'no program', 'interrupted', 'v5e:2x4', process.limits())"
)


@linux
@needs_libtpu
def test_an_interrupt_ends_the_compiler_too():
    asking, worker = started(ASK)
    asking.send_signal(signal.SIGINT)
    _, errors = asking.communicate(timeout=30)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert gone(worker)


@linux
@needs_libtpu
def test_the_compiler_ends_with_the_kernel_that_was_killed():
    asking, worker = started(ASK)
    asking.kill()
    asking.communicate(timeout=30)
    assert gone(worker)


@needs_libtpu
def test_too_little_memory_costs_the_verdict_only():
    answer = process.ask(b"no program", "memory", "v5e:2x4", process.Limits(60, 50 * 2**20))
    assert answer["kind"] == "memory" and "host memory" in answer["message"]


@needs_libtpu
def test_a_lock_that_another_process_holds_does_not_stop_the_compiler(tmp_path):
    fcntl = importlib.import_module("fcntl")
    lock = Path("/tmp/libtpu_lockfile")
    if not lock.exists():
        pytest.skip("no libtpu has locked anything here")
    with lock.open("a") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pytest.skip("somebody else holds it")
        model = importlib.import_module("keras").Sequential([importlib.import_module("keras").layers.Dense(8)])
        report = tpushape.trace(model, tf.TensorSpec((24, 40)), tpu="v5e-8", compiler="tpu")
    assert [verdict.ok for verdict in report.verdicts] == [True]


@needs_libtpu
@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_a_program_that_kills_the_compiler_costs_the_verdict_and_its_operation_is_named(framework):
    keras = importlib.import_module(framework)

    class Ragged(keras.layers.Layer):
        def call(self, x):
            return tf.nn.conv2d(tf.boolean_mask(x, x[0, :, 0, 0] > 0, axis=1), tf.ones((3, 3, 8, 8)), 1, "VALID")

        def compute_output_shape(self, shape):
            return shape

    model = keras.Sequential([keras.layers.Input((8, 8, 8)), keras.layers.Conv2D(8, 3, padding="same"), Ragged(name="ragged")])
    report = tpushape.trace(model, tf.TensorSpec((64, 8, 8, 8)), tpu="v5e-8", compiler="tpu", fixes=False)
    (finding,) = [finding for finding in report.findings if finding.rule == "no-verdict"]
    assert finding.severity == "note" and "ragged" in finding.message
    assert finding.fact.kind == "crash" and "SIGABRT" in finding.message and "forward pass" in finding.message
    assert finding.fact.operation and finding.fact.operation.rsplit("/", 1)[-1] in finding.why
    assert [report.flow.node(node).name for node in finding.nodes] == ["ragged"]
    assert finding.location is not None and "tf.nn.conv2d" in finding.location.text


def chips(folder, number=1):
    devices, processes = folder / "dev", folder / "proc"
    devices.mkdir()
    processes.mkdir()
    for i in range(number):
        (devices / f"accel{i}").touch()
    return devices, processes


@linux
def test_chips_that_a_process_holds_are_left_alone(tmp_path):
    devices, processes = chips(tmp_path)
    assert process.live_tpu(devices, processes) == ""
    handles = processes / "7" / "fd"
    handles.mkdir(parents=True)
    (handles / "3").symlink_to(devices / "accel0")
    said = process.live_tpu(devices, processes)
    assert f"{devices}/accel0" in said and "process 7" in said


@linux
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read everything")
def test_where_it_cannot_be_told_whether_chips_are_in_use_the_compiler_is_not_asked(tmp_path):
    devices, processes = chips(tmp_path)
    (processes / "7" / "fd").mkdir(parents=True)
    (processes / "7" / "fd").chmod(0)
    said = process.live_tpu(devices, processes)
    assert f"{devices}/accel0" in said and "process 7" not in said


def test_a_machine_without_chips_has_nothing_to_disturb(tmp_path):
    assert process.live_tpu(*chips(tmp_path, 0)) == ""


@pytest.mark.parametrize(("partitions", "arenas"), [(1, None), (8, "1")])
def test_a_program_of_a_mesh_is_compiled_with_one_arena(monkeypatch, tmp_path, partitions, arenas):
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    monkeypatch.setattr(process, "_path", lambda: str(tmp_path / "modules"))
    package = tmp_path / "modules" / "jupyter_tpushape" / "compilers"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package / "worker.py").write_text("import os\nopen('told', 'w').write(str(os.environ.get('MALLOC_ARENA_MAX')))\n", encoding="utf-8")
    worker = process._started(tmp_path, b"", {"partitions": partitions})
    assert worker.wait(timeout=60) == 0, (tmp_path / "stderr").read_text()
    assert (tmp_path / "told").read_text() == str(arenas)
