"""What a planned distribution refuses comes after what is wrong on any device, and no fix of that is held up by it, nor leaves samples out."""

from __future__ import annotations

import pytest
from strangers import HEAD, serious

import jupyter_tpushape as tpushape

MODEL = """
class Pool(layers.Layer):
    def call(self, x):
        mask = ops.cast(x > 0, "float32")
        return ops.sum(x * mask, axis=1) / ops.maximum({total}, 1.0)

def build():
    inputs = keras.Input((6, 4))
    model = keras.Model(inputs, layers.Dense(1)(Pool()({first})))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros(({rows}, 6, 4), "float32"), np.zeros(({rows}, 1), "float32")
"""
FAULTS = {
    "samples mixed": ("samples-summed", {"total": "ops.sum(mask)", "first": "inputs"}),
    "shapes": ("op-shapes", {"total": "ops.sum(mask, axis=-1)", "first": "inputs"}),
}


def looked(tmp_path, rows, **parts):
    code = HEAD + MODEL.format(rows=rows, **parts)
    path = tmp_path / "program.py"
    path.write_text(code, encoding="utf-8")
    scope = {"__name__": "program", "__file__": str(path)}
    exec(compile(code, str(path), "exec"), scope)
    return tpushape.trace(scope["build"], scope["data"], tpu="v5e-8")


@pytest.mark.parametrize(("rule", "parts"), FAULTS.values(), ids=FAULTS)
def test_a_fault_comes_first_and_its_fix_leaves_no_sample_out(tmp_path, rule, parts):
    report = looked(tmp_path, 70, **parts)
    finding, mesh = serious(report)
    assert (finding.rule, mesh.rule) == (rule, "mesh-batch")
    assert all(fix.verified and "[:64]" not in fix.patch for fix in finding.fixes)
    assert finding.fixes
    assert "The last batch of 6 rows" in finding.fixes[0].reason
    assert not any(fix.verified for fix in mesh.fixes)
    again = tpushape.Report.from_json(report.to_json())
    assert [one.rule for one in again.findings] == [one.rule for one in report.findings]


def test_whole_batches_are_as_before(tmp_path):
    (finding,) = serious(looked(tmp_path, 64, **FAULTS["samples mixed"][1]))
    assert finding.rule == "samples-summed"
    assert finding.fixes[0].verified


def test_a_right_program_has_only_a_question(tmp_path):
    (mesh,) = serious(looked(tmp_path, 70, total="ops.sum(mask, axis=1)", first="inputs"))
    assert mesh.rule == "mesh-batch"
    assert not any(fix.verified for fix in mesh.fixes)
