"""How long a compilation is expected to take, and what is said of one that would exceed its time."""

from __future__ import annotations

from contextlib import closing

import keras
import pytest

import jupyter_tpushape as tpushape
from jupyter_tpushape.compilers import bridge, cache, pace, process

V5E, V6E = "v5e:2x4", "v6e:2x4"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TPUSHAPE_CACHE", str(tmp_path))


def test_expectations_grow_with_size_and_keep_to_one_generation_and_effort():
    assert pace.expected(1000, "quick", V5E) == 0.0
    for size, seconds in ((1000, 4.5), (2000, 7.5), (20_000, 61.5), (40_000, 301.5)):
        pace.note(size, seconds, "quick", V5E)
    assert pace.expected(2000, "quick", V5E) == pytest.approx(7.5)
    assert pace.expected(20_000, "quick", "v5e:16x16") == pytest.approx(1.5 + 105.0)  # between its own 60 s and twice as much for 40,000
    assert pace.expected(20_000, "full", V5E) == pace.expected(20_000, "quick", V6E) == 0.0
    assert pace.expected(1_000_000, "quick", V5E) == 0.0, "nothing of comparable size"


def test_only_the_last_are_remembered_and_a_file_that_holds_something_else_is_none():
    for number in range(1, 101):
        pace.note(number, 2.0, "quick", V5E)
    assert len(cache.load(pace._place())) == 64
    pace._place().write_text('[{"size": -1}]', encoding="utf-8")
    assert pace.expected(100, "quick", V5E) == 0.0
    pace.note(100, 3.5, "quick", V5E)
    assert pace.expected(100, "quick", V5E) == 3.5


class Ended(Exception):
    """The worker would have been started."""


@pytest.fixture
def unstarted(monkeypatch):
    def never(*_):
        raise Ended

    monkeypatch.setattr(process, "_started", never)
    monkeypatch.setattr(process, "_unasked", lambda: None)


def asked(seconds):
    return process.ask(b"program", "key", V5E, process.Limits(seconds, 2**30), names=("",) * 1000)


def test_a_program_that_takes_far_longer_than_its_limit_is_not_begun(unstarted):
    with pytest.raises(Ended):
        asked(10)
    pace.note(1000, 41.5, "quick", V5E)
    answer = asked(10)
    assert (answer["kind"], answer["ok"]) == ("time", False) and "42 s" in answer["message"] and "10 s" in answer["message"]
    with pytest.raises(Ended):  # it may take less than was expected
        asked(20)


@pytest.mark.skipif(bool(bridge.check()), reason=bridge.check() or "installed")
def test_a_compilation_is_remembered_and_a_short_limit_is_said_at_its_beginning(monkeypatch):
    import keras
    import tensorflow as tf

    def verdict(rows, seconds, progress=None):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
        return tpushape.trace(
            model, tf.TensorSpec((rows, 4)), tpu="v5e-8", compiler="tpu", compile_timeout=seconds, progress=progress
        ).verdicts[0]  # fmt: skip

    assert verdict(64, 100).ok
    ((known),) = pace._known()
    assert known.size > 1 and known.seconds > 0 and known.topology.startswith("v5e")
    said = []
    monkeypatch.setattr(pace, "expected", lambda *_: 250.0)
    assert verdict(128, 100, said.append).ok
    assert any("250 s" in line and "100 s" in line for line in said)
    monkeypatch.setattr(pace, "expected", lambda *_: 301.0)
    assert not verdict(256, 100).ok


def test_identical_programs_have_one_compilation_and_a_search_none_twice(monkeypatch):
    started, given = [], process._started
    monkeypatch.setattr(process, "_started", lambda *each: started.append(each[2]) or given(*each))
    monkeypatch.setattr(process, "_unasked", lambda: None)
    monkeypatch.setattr(process, "_read", lambda *_: {"ok": False, "kind": "crash", "message": "gone"})
    limits = process.Limits(60, 2**34)
    with closing(process.Asking(b"program", "key", V5E, limits)) as one, closing(process.Asking(b"program", "key", V5E, limits)) as other:
        assert len(started) == 1
        assert (one.answer()["kind"], other.answer()["kind"], other.answer()["cached"]) == ("crash", "crash", True)
    # One that was ended before it had an answer is begun by who waits for it.
    with closing(process.Asking(b"program", "key", V5E, limits)) as one, closing(process.Asking(b"program", "key", V5E, limits)) as other:
        one.close()
        assert other.answer()["kind"] == "crash" and len(started) == 3


@pytest.mark.skipif(bool(bridge.check()), reason="the TPU compiler is not installed")
def test_the_largest_batch_is_searched_without_compiling_anything_again(monkeypatch):
    started, given = [], process._started
    monkeypatch.setattr(process, "_started", lambda *each: started.append(each[2]) or given(*each))
    model = keras.Sequential([keras.Input((2**20,)), keras.layers.Dense(1)])
    data = keras.KerasTensor((1024, 2**20), "float32")
    found = tpushape.fit_batch(model, data, tpu="v5e-8")
    rows = [one.rows for one in found.tried]
    assert found.too_many and len(set(rows)) == len(rows) <= 8, found
    # What does not fit is asked again in full.
    assert len([each for each in started if each["effort"] == "quick"]) == len(rows)
    before = len(started)
    assert tpushape.fit_batch(model, data, tpu="v5e-8") == found
    report = tpushape.trace(model, data, tpu="v5e-8", compiler="tpu", compile_batches=True)
    assert len(started) == before, report
    assert {one.rows for one in report.verdicts[-1].tried} == set(rows)
