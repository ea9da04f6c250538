"""Charts and lines of a verdict, from a report that was kept: no compiler is asked."""

from __future__ import annotations

import builtins
import subprocess
import sys

import pytest

from jupyter_tpushape.compilers.exchange import Exchange
from jupyter_tpushape.compilers.fit import Fit
from jupyter_tpushape.flow import Flow, LayerMemory, Tried, Verdict
from jupyter_tpushape.report import Report
from jupyter_tpushape.views.verdicts import lines

MIB = 2**20
GIB = 1024 * MIB


def report(ok=True, compiler="tpu"):
    layers = (
        LayerMemory("n1", "conv<b>", 60 * MIB, 30 * MIB, 50 * MIB),
        LayerMemory("n2", "dense", 20 * MIB, 20 * MIB),
        LayerMemory("n3", "dense", 10 * MIB, 4 * MIB),
    )
    verdict = Verdict(
        "train", compiler, ok, "v5e-8", "compiles", effort="quick", hbm_bytes=16 * 2**30, arguments=40 * MIB, temporaries=60 * MIB, code=MIB,
        flops=2e9, moved=1e9, intensity=2.0, layers=layers, unmapped=11 * MIB,
    )  # fmt: skip
    return Report(Flow(), [], verdicts=[verdict])


def test_memory_and_padding_by_layer():
    memory, padding = report().charts()
    assert memory.layout.title.text == "Memory by layer: train on v5e-8, quick effort"
    held, temporary, nobody = memory.data
    # A name that comes twice shows its node; markup in a name stays text; what is no layer's has a bar and a colour of its own.
    assert list(held.y) == ["conv&lt;b&gt;", "dense (n2)", "dense (n3)"]
    assert list(held.x) == [10, 20, 10] and list(temporary.x) == [50, 0, 0]
    assert (list(nobody.y), list(nobody.x)) == (["not in a layer"], [11]) and nobody.marker.color != held.marker.color
    shape, lost = padding.data
    assert list(shape.x) == [30, 4, 20] and list(lost.x) == [30, 6, 0]


def test_memory_against_batch():
    fit = Fit("v5e-8", "train", 96, 104, 8, 16 * 2**30, (Tried(32, True, 5 * MIB), Tried(128, False), Tried(96, True, 14 * MIB), Tried(104, False)))
    fits, refused = fit.chart().data
    assert (list(fits.x), list(fits.y)) == ([32, 96], [5, 14])
    assert list(refused.x) == [104, 128] and refused.name == "does not fit"
    figure = fit.chart()
    assert len(figure.layout.shapes) == 1 and figure.layout.annotations[0].text == "memory of one v5e-8 core: 16.00 GiB"


def test_batches_of_both_efforts_are_lines_apart_and_a_limit_far_above_is_told():
    tried = (Tried(8, True, 2 * MIB, "quick"), Tried(16, True, 4 * MIB, "quick"), Tried(24, True, 3 * MIB, "full"))
    made = report()
    made.verdicts[0].tried = tried
    *_, figure = made.charts()
    assert [(line.name, list(line.x)) for line in figure.data] == [("compiles with quick effort", [8, 16]), ("compiles with full effort", [24])]
    assert not figure.layout.shapes and figure.layout.annotations[0].text.partition(",")[0].endswith("16.00 GiB")
    assert lines(made.verdicts[0])[-1] == "rows on one core: 8 (2.00 MiB), 16 (4.00 MiB), 24 (3.00 MiB) compile"


def test_the_largest_batch_is_given_twice_in_the_text_and_in_the_chart():
    made = report()
    made.verdicts[0].tried = (
        Tried(8, True, 8 * GIB, "quick", 9 * GIB), Tried(12, True, 15 * GIB, "quick", 17 * GIB), Tried(16, False, 20 * GIB, "full"),
    )  # fmt: skip
    assert lines(made.verdicts[0])[-1] == (
        "rows on one core: 8 (8.00 GiB), 12 (15.00 GiB) compile; 16 do not; up to 8 leave enough memory for a run (an estimate)"
    )
    *_, figure = made.charts()
    run = next(line for line in figure.data if "estimate" in line.name)
    assert list(run.x) == [8, 12] and list(run.y) == [9 * 1024, 17 * 1024]


def test_with_nothing_to_chart_one_line_says_what_to_do():
    with pytest.raises(ValueError, match=r"compiler=.tpu."):
        Report(Flow(), []).charts()
    with pytest.raises(ValueError, match="no program compiled for the TPU"):
        report(ok=False).charts()


def test_without_plotly_one_line_says_what_to_install(monkeypatch):
    genuine = builtins.__import__

    def without(name, *arguments, **more):
        if name.startswith("plotly"):
            raise ImportError(name)
        return genuine(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ValueError, match="pip install"):
        report().charts()


def test_plotly_is_imported_for_charts_alone():
    code = (
        "import sys\nfrom jupyter_tpushape.flow import Flow, Verdict\nfrom jupyter_tpushape.report import Report\nr = Report(Flow(), [], verdicts=[Verdict('f', 'tpu', True)])\n"
        "repr(r); r._repr_mimebundle_()\nassert not any(name.split('.')[0] == 'plotly' for name in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_verdict_in_text_shows_a_bar_the_layers_and_the_work():
    (verdict,) = report().verdicts
    assert lines(verdict) == [
        "[█·······················] 0.6% of 16.00 GiB",
        "arguments 40.00 MiB · temporaries 60.00 MiB · code 1.00 MiB",
        "largest: conv<b> 60.00 MiB (50% padding), dense 20.00 MiB, dense 10.00 MiB (60% padding); not in a layer: 11.00 MiB",
        "2 billion operations per step, 2 per byte read or written (an estimate)",
    ]
    assert lines(report(compiler="xla").verdicts[0]) == []


def test_the_sum_of_gradients_is_told_as_an_estimate():
    said = str(Exchange(100 * MIB, 175 * MIB, 0.0))
    assert "estimate" in said and "175.00 MiB" in said and "100.00 MiB" in said and " ms" not in said
    assert "0.9 ms" in str(Exchange(100 * MIB, 175 * MIB, 0.0009))
