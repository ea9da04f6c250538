"""Data of every nest, against a real fit step and against what each declared input really gets."""

from __future__ import annotations

import warnings

import keras
import numpy as np
import pytest
import tf_keras
from nested_programs import nested

import jupyter_tpushape as tpushape
from jupyter_tpushape.flow.paths import flatten, to_wire

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
SEEDS = range(40)


def fits(program, lib):
    model = program.make(lib)
    model.run_eagerly = True
    try:
        model.fit(program.x, program.y, batch_size=4, verbose=0)
    except Exception as error:
        return error
    return None


def fed(program, lib):
    """For each input's name, the path of the leaf that a real call gives it."""
    model, names = program.doors(lib)
    outputs = model.predict(program.x, batch_size=4, verbose=0)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    paths = {float(np.asarray(leaf).flat[0]): path for path, leaf in flatten(program.x, "x")}
    return {name: paths[float(out.flat[0])] for name, out in zip(names, outputs, strict=True)}


@BOTH
@pytest.mark.parametrize("seed", SEEDS)
def test_each_input_is_shown_with_the_tensor_that_it_really_gets(lib, seed):
    program = nested(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = fits(program, lib)
        reports = [
            tpushape.trace(model, (program.x, program.y), tpu=None, batch_size=4, fixes=False) for model in (program.make(lib), lambda: program.make(lib))
        ]
        real = fed(program, lib) if error is None else {}
    for report in reports:
        broken = [finding for finding in report.findings if finding.severity == "error"]
        assert bool(broken) == (error is not None), (program.name, error, report.findings)
        if error is not None:
            continue
        for name, path in real.items():
            (edge,) = report.flow.into(next(node.id for node in report.flow.nodes if node.name == f"read_{name}"))
            assert report.flow.node(edge.source).path == to_wire(path), program.name
        given = {path[1:] for path, _ in flatten(program.x, "x")}
        crossed = any(path[1:] != program.own[name] and program.own[name] in given for name, path in real.items())
        assert [finding.rule for finding in report.findings if finding.severity == "silent"] == ["input-structure"] * crossed, program.name
