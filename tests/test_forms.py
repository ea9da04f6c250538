"""However a program is written: the text of every verified fix, put into the file, runs a real step and traces clean."""

from __future__ import annotations

import importlib
import linecache
import os

import pytest
from forms.programs import FAULTS, WAYS, forms

import jupyter_tpushape as tpushape

# make soak asks for programs of its own.
SEED = int(os.environ.get("TPUSHAPE_SEED", "20261121"))
# Each fault in a few ways, others with each one, and in half as many of tf_keras, whose recurrent layers take many times as long; TPUSHAPE_SOAK runs them all.
WHOLE = bool(os.environ.get("TPUSHAPE_SOAK"))
STEP = {"keras": 8, "tf_keras": 16}


def load(path):
    linecache.checkcache(str(path))
    scope = {"__name__": path.stem, "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope


def fit(model, data):
    """A real step, not compiled: what is tried is whether it runs."""
    model.run_eagerly = True
    model.fit(*data, epochs=1, steps_per_epoch=1, verbose=0)


def programs(framework):
    return {form.id: form for form in forms(SEED, framework)}


def some(framework, fault):
    found = [form for form in programs(framework).values() if form.fault == fault]
    start = (list(FAULTS).index(fault) + (framework == "tf_keras")) % 8
    return found if WHOLE else found[start :: STEP[framework]]


def test_there_are_as_many_programs_as_the_table_says():
    assert len(programs("keras")) + len(programs("tf_keras")) >= 300
    assert {form.fault for form in programs("keras").values()} == set(FAULTS)
    assert {form.way for form in programs("keras").values()} == set(WAYS)


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
@pytest.mark.parametrize("fault", FAULTS)
def test_the_text_of_every_verified_fix_runs(framework, fault, tmp_path):
    importlib.import_module(framework)
    wrong = []
    for form in some(framework, fault):
        path = tmp_path / f"{form.way}.py".replace("-", "_")
        path.write_text(form.text)
        program = load(path)
        report = tpushape.trace(program["build"], program["data"], tpu=None)
        if report.ok and form.way == "subclass" and fault == "declared":
            continue
        if report.ok:
            wrong.append(f"{form.id}: nothing found")
            continue
        fixes = [fix for fix in report.findings[0].fixes if fix.verified]
        if not fixes:
            wrong.append(f"{form.id}: no verified fix ({report.findings[0].message})")
        for fix in fixes:
            if fix.proof != "source":
                wrong.append(f"{form.id}: {fix.title} is not of the source")
                continue
            try:
                path.write_text(form.text)
                tpushape.apply(fix, path)
                again = load(path)
                assert tpushape.trace(again["build"], again["data"], tpu=None, fixes=False).ok
                fit(again["build"](), again["data"]())
            except Exception as error:
                wrong.append(f"{form.id}: {fix.title}: {type(error).__name__}: {str(error)[:150]}\n{fix.patch}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_two_programs_of_one_file_name_keep_their_own_source(framework, tmp_path):
    # Their methods are the same line by line, so that autograph takes one for the other.
    for fault in ("flatten", "last-step"):
        form = next(form for form in programs(framework).values() if (form.fault, form.way) == (fault, "subclass"))
        path = tmp_path / fault / "subclass.py"
        path.parent.mkdir()
        path.write_text(form.text)
        program = load(path)
        fixes = [fix for fix in tpushape.trace(program["build"], program["data"], tpu=None).findings[0].fixes if fix.verified]
        assert len(fixes) > 1
        assert [fix.proof for fix in fixes] == ["source"] * len(fixes)
        tpushape.apply(fixes[-1], path)
        assert path.read_text() != form.text
