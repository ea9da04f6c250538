"""Layouts, the cache and the worker's silence: what needs no compiler."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from jupyter_tpushape.compilers import bridge, cache, hlo, process, tiles
from jupyter_tpushape.compilers.fit import Tried, search

ROOT = Path(__file__).parents[1]


def one(text):
    (laid,) = tiles.parse(text)
    return laid


@pytest.mark.parametrize(
    ("text", "padded", "size"),
    [
        ("f32[8,129]{1,0:T(8,128)}", (8, 256), 8192),
        ("f32[129,129]{1,0:T(8,128)}", (136, 256), 139264),
        ("f32[129,10]{0,1:T(8,128)}", (256, 16), 16384),
        ("f32[129]{0:T(256)}", (256,), 1024),
        ("bf16[100,100]{1,0:T(8,128)(2,1)}", (104, 128), 26624),
        ("s8[3,5,7]{2,1,0:T(8,128)(4,1)}", (3, 8, 128), 3072),
        ("f32[]{:T(128)}", (), 512),
        ("f32[4,5]{1,0}", (4, 5), 80),
        ("s64[<=800,2]{1,0:T(8,128)}", (800, 128), 819200),
    ],
)
def test_a_tiled_layout_takes_this_many_bytes(text, padded, size):
    assert (one(text).padded, one(text).bytes) == (padded, size)


def test_arguments_and_outputs_of_an_entry_layout():
    arguments, outputs = tiles.entry("(f32[8,129]{1,0:T(8,128)}, s32[8]{0:T(128)}, /*index=5*/f32[]{:T(128)})->(f32[8,10]{1,0:T(8,128)})")
    assert [laid.shape for laid in arguments] == [(8, 129), (8,), ()]
    assert [laid.shape for laid in outputs] == [(8, 10)]


def test_a_program_lowered_twice_has_one_key():
    text = 'HloModule a_inference_f_{0}__.11, entry={{}}\n %a = f32[] add(), metadata={{op_name="sequential_{0}/a"}}, calls=%a_inference_f_{0}__.3'
    assert hlo.of_text(text.format(65)).key == hlo.of_text(text.format(827)).key
    assert hlo.of_text(text.format(65)).key != hlo.of_text(text.format(65).replace("add", "multiply")).key


def test_the_cache_keeps_what_was_written_and_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setenv("TPUSHAPE_CACHE", str(tmp_path))
    monkeypatch.setattr(cache, "MOST", 3)
    for i in range(6):
        cache.write(cache.place(str(i)), {"ok": False, "kind": "refused", "message": str(i)})
        os.utime(cache.place(str(i)), (i, i))
    assert cache.read(cache.place("5")) == {"ok": False, "kind": "refused", "message": "5"}
    assert cache.read(cache.place("0")) is None
    assert len(list(tmp_path.glob("*.json"))) <= 3


def test_a_broken_cache_file_is_no_answer(tmp_path, monkeypatch):
    monkeypatch.setenv("TPUSHAPE_CACHE", str(tmp_path))
    cache.place("a").write_text("{", encoding="utf-8")
    assert cache.read(cache.place("a")) is None


def test_a_missing_or_wrong_version_is_one_line_with_the_command(monkeypatch):
    monkeypatch.setattr(bridge, "versions", lambda: {"jaxlib": "0.10.2", "libtpu": ""})
    assert "libtpu missing" in bridge.check() and bridge.check().endswith("tpushape compiler install")
    monkeypatch.setattr(bridge, "versions", lambda: {**bridge.PINS, "libtpu": "9"})
    said = bridge.check()
    assert "libtpu is 9" in said and "0.0.51" in said and "\n" not in said
    # In a folder of its own, so that a jaxlib that jax needs stays as it is.
    assert said.endswith("tpushape compiler install")


def test_the_extra_installs_what_is_pinned_and_no_jax():
    # TensorFlow imports jax wherever it is installed: it would be in the user's kernel.
    (extra,) = re.findall(r"^tpu-compiler = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert extra.replace('"', "").split(", ") == [f"{name}=={pin}" for name, pin in bridge.PINS.items()]
    assert "jax" not in bridge.PINS


def test_a_part_of_jaxlib_that_is_gone_is_one_line(monkeypatch):
    monkeypatch.setattr(bridge.importlib, "import_module", lambda _: object())
    assert "jaxlib._jax" in bridge.doors() and "get_default_c_api_topology" in bridge.doors() and bridge.INSTALL in bridge.doors()

    def absent(name):
        raise ImportError(f"no {name} here")

    monkeypatch.setattr(bridge.importlib, "import_module", absent)
    assert "(no jaxlib._jax here)" in bridge.doors() and bridge.INSTALL in bridge.doors()


def test_limits_that_are_no_numbers_are_a_line(monkeypatch):
    monkeypatch.setenv("TPUSHAPE_COMPILE_TIMEOUT", "soon")
    with pytest.raises(ValueError, match="are numbers"):
        process.limits()
    monkeypatch.setenv("TPUSHAPE_COMPILE_TIMEOUT", "7")
    monkeypatch.setenv("TPUSHAPE_COMPILE_EFFORT", "some")
    with pytest.raises(ValueError, match="quick or full"):
        process.limits()
    # What is asked for stands before what the environment says.
    asked = process.limits(300, "full")
    assert (asked.seconds, asked.effort) == (300, "full")
    with pytest.raises(ValueError, match=r"'some'.*quick or full"):
        process.limits(effort="some")
    for seconds in (0, -3, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="such as 300"):
            process.limits(seconds, "quick")


def test_a_signal_is_named_and_the_reason_is_kept():
    died = process._death(-6, "I0 noise\nF1121 08:46:11.468946   14714 hlo.h:2426] Check failed: dims != nullptr\n*** trace ***")
    assert died["kind"] == "crash" and "SIGABRT" in died["message"] and "hlo.h:2426] Check failed: dims != nullptr" in died["message"]
    assert process._death(1, "MemoryError")["kind"] == "memory"


@pytest.mark.parametrize("limit", [0, 1, 5, 8, 100, 1000])
@pytest.mark.parametrize("first", [1, 8, 32, 4096])
def test_the_search_ends_at_the_largest_batch_within_its_step(limit, first):
    tried = search(lambda rows: Tried(rows, rows <= limit), first, 65536, 40)
    fits = max((step.rows for step in tried if step.fits), default=0)
    fails = min(step.rows for step in tried if not step.fits)
    assert fits <= limit < fails
    assert fails - fits <= (8 if fails > 8 else 1)


GROWTH = {
    "evenly": lambda rows: 1000 + 7 * rows,
    "faster": lambda rows: 1000 + 5 * rows + rows**2 // 100,
    "slower": lambda rows: 1000 + int(400 * rows**0.7),
    "in steps": lambda rows: 1000 + 900 * (rows // 100),
    "not": lambda rows: 1000,
}


@pytest.mark.parametrize("limit", [3, 40, 1000, 20000])
@pytest.mark.parametrize("first", [1, 16, 4096])
@pytest.mark.parametrize("growth", GROWTH)
def test_a_search_that_reuses_the_memory_of_what_fits_ends_where_one_without_does_and_sooner(limit, first, growth):
    held = GROWTH[growth]
    counts = []
    for available in (0, held(limit)):
        tried = search(lambda rows: Tried(rows, rows <= limit, held(rows)), first, 65536, 60, available=available)
        fits, fails = max((one.rows for one in tried if one.fits), default=0), min(one.rows for one in tried if not one.fits)
        assert fits <= limit < fails and fails - fits <= (8 if fails > 8 else 1)
        assert len({one.rows for one in tried}) == len(tried)
        counts.append(len(tried))
    assert counts[1] <= counts[0] + 6
    if growth == "evenly" and first < limit > 8:
        assert counts[1] <= 8 and (counts[1] < counts[0] or counts[0] < 6)


def test_the_search_stops_at_the_most():
    tried = search(lambda rows: Tried(rows, True), 32, 100, 40)
    assert [step.rows for step in tried] == [32, 64, 100]
