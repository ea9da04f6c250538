"""A slice of ``make agree``: programs of every kind, judged against a real step."""

from __future__ import annotations

import itertools
import json

import keras
import pytest
import tf_keras
from agreement import grammar, layers
from agreement.judge import Verdict, judge
from agreement.program import Case
from agreement.table import table

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])


@BOTH
def test_a_slice_of_the_layers_agrees_with_a_real_step(lib):
    found = layers.classes(lib)
    assert len(found) > 100
    for name in ("Dense", "Conv1D", "BatchNormalization", "Dropout", "Embedding", "LSTM", "Concatenate", "Rescaling", "Flatten"):
        # Some kernels exist on newer processors only: where this one has none, the next seed is judged.
        verdicts = (judge(lib, layers.case(lib, name, found[name], seed)) for seed in (5, 6, 7))
        judged = next(verdict for verdict in verdicts if verdict.verdict != "not-judged")
        assert judged.verdict == "agree", judged.name


@BOTH
@pytest.mark.parametrize("seed", range(3000, 3012))
def test_a_slice_of_the_programs_agrees_with_a_real_step(lib, seed):
    case = grammar.case(lib, seed)
    assert judge(lib, case).verdict == "agree", case.name


@BOTH
def test_the_judge_sees_both_kinds_of_disagreement(lib, monkeypatch):
    whole = grammar.case(lib, next(seed for seed in itertools.count() if judge(lib, grammar.case(lib, seed)).real == ""))

    class Report:
        ok = True
        findings = ()

    monkeypatch.setattr("jupyter_tpushape.trace", lambda *_, **__: Report())

    def raises():
        raise ValueError("no such model")

    assert judge(lib, whole).verdict == "agree"
    assert judge(lib, Case("x", "x", raises, whole.x, whole.y)).verdict == "ok-but-raises"


def test_the_table_counts_what_was_judged(tmp_path):
    file = tmp_path / "some.jsonl"
    verdicts = [Verdict("Dense", "a", "agree"), Verdict("Dense", "b", "ok-but-raises", "ValueError: no"), Verdict("Add", "c", "agree", "no")]
    file.write_text("".join(json.dumps(one.plain()) + "\n" for one in verdicts))
    lines = table([file]).splitlines()
    assert lines[2].startswith("| some | 3 | 2 | 1 | 0 |")
    assert lines[-1] == "- some: Dense ok-but-raises (1)"
