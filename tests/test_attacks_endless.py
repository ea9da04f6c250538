"""What never ends, never comes, or never answers: each ends in a finding or in one sentence, and nothing grows without a bound."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

import jupyter_tpushape as tpushape
from jupyter_tpushape import sources
from jupyter_tpushape.cli import main
from jupyter_tpushape.diagnose import BadProgram
from jupyter_tpushape.sources import BadData, datasets
from jupyter_tpushape.trace.patience import TimeUp, hand_over, limited

CELL = {"cell_type": "code", "source": "x = 1"}


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def itself(path: Path) -> None:
    path.symlink_to(path.name)


NO_FILES = {"a pipe": pipe, "a device": device, "a folder": Path.mkdir, "a link to itself": itself}


@pytest.mark.skipif(os.name != "posix", reason="needs pipes and devices among files")
@pytest.mark.parametrize("name", ["n.ipynb", "t.py:build", "m.keras", "m.h5", "t.py"])
@pytest.mark.parametrize("kind", NO_FILES)
def test_what_is_no_file_is_not_read(kind: str, name: str, tmp_path: Path, capsys: Any) -> None:
    NO_FILES[kind](tmp_path / name.partition(":")[0])
    assert main(["check", str(tmp_path / name), "--execute"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "did you mean" not in err


@pytest.mark.parametrize("cells", [3, {"a": 1}, [1], [{**CELL, "source": {"a": 1}}], [{**CELL, "source": [1]}], "[" * 5_000 + "]" * 5_000])
def test_a_notebook_that_is_none(cells: Any, tmp_path: Path, capsys: Any) -> None:
    text = cells if isinstance(cells, str) else json.dumps(cells)
    (tmp_path / "n.ipynb").write_text(f'{{"cells": {text}}}')
    assert main(["check", str(tmp_path / "n.ipynb"), "--execute"]) == 2
    assert "is not a notebook" in capsys.readouterr().err


@pytest.mark.parametrize("typed", ["0,4", "9" * 400 + ",4", f"{2**53 + 1},4"])
def test_a_size_that_no_tensor_has(typed: str, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "t.py").write_text("import keras\ndef build():\n    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])\n")
    assert main(["check", f"{tmp_path / 't.py'}:build", "--input-spec", f"{typed}:float32"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def model() -> Any:
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])


def test_as_many_rows_as_nobody_can_count() -> None:
    rows = np.lib.stride_tricks.as_strided(np.zeros(4, "float32"), (10**12, 4), (0, 0))
    labels = np.lib.stride_tricks.as_strided(np.zeros(3, "int32"), (10**12, 3), (0, 0))
    made = model()
    made.compile("sgd", "mse")
    assert tpushape.trace(made, (rows, labels), tpu=None, fixes=False).flow.edges


class Deaf:
    def __getattr__(self, name: str) -> Any:
        while True:
            pass


def test_an_object_that_never_answers(monkeypatch: Any) -> None:
    monkeypatch.setenv("TPUSHAPE_TIMEOUT", "0.3")
    with pytest.raises(BadProgram, match=r"^[^\n]+$"):
        tpushape.trace(Deaf(), None, tpu=None)
    said = ""
    try:
        said = tpushape.trace(model(), Deaf(), tpu=None).summary
    except BadData as error:
        said = str(error)
    assert said.startswith(("The data is", "1 problem", "2 problems")) and "\n" not in said


def test_a_first_batch_that_never_comes_is_a_finding(monkeypatch: Any) -> None:
    over, real = threading.Event(), datasets.draw
    monkeypatch.setattr(datasets, "draw", lambda source, wanted, seconds, *more: real(source, wanted, 0.1, *more))
    monkeypatch.setenv("TPUSHAPE_TIMEOUT", "0.3")

    def rows() -> Any:
        over.wait()
        yield np.zeros((8, 4), "float32"), np.zeros((8, 3), "float32")

    report = tpushape.trace(model(), rows(), tpu=None)
    over.set()
    assert not report.ok
    assert report.findings[0].rule == "data-raises"
    assert "0.3 seconds" in repr(report).replace("\n  ", " ")


def test_a_first_batch_may_take_longer_than_those_after_it() -> None:
    late = threading.Event()
    threading.Timer(0.5, late.set).start()

    def rows() -> Any:
        late.wait()
        yield np.zeros((8, 4), "float32"), np.zeros((8, 3), "float32")

    assert sources.sample(rows(), framework="keras", seconds=0.1, first_seconds=60).batch_sizes == (8,)


def test_a_builder_that_has_to_be_awaited() -> None:
    async def build() -> Any:
        return model()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(BadProgram, match="returned coroutine"):
            tpushape.trace(build, None, tpu=None)
        gc.collect()


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells how much memory a process holds")
def test_memory_has_a_limit_as_time_has() -> None:
    held: list[bytearray] = []

    def fill() -> None:
        with limited("The test", 60, memory=100 << 20):
            while True:
                held.append(bytearray(1 << 16))

    with pytest.raises(TimeUp, match=r"^The test .*more memory"):
        fill()
    assert len(held) < 30_000


def test_a_thread_that_starts_another_is_told_after_its_birth():
    """Before Python 3.12 the newborn would be hit in its place."""
    told: list[bool] = []
    inside = threading.Event()

    class Slow(threading.Event):
        def wait(self, timeout=None):
            inside.set()
            time.sleep(0.3)
            told.append(False)
            return super().wait(timeout)

    def parent():
        child = threading.Thread(target=time.time)
        child._started = Slow()
        try:
            child.start()
            while True:
                time.sleep(0.01)
        except TimeUp:
            told.append(True)

    thread = threading.Thread(target=parent)
    thread.start()
    inside.wait()
    hand_over(thread.ident, TimeUp)
    thread.join(10)
    assert told == [False, True]
