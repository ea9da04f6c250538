"""Facts of docs/catalogue.md that share a rule with others: each has a program of its own that is found, and a near miss that is not."""

from __future__ import annotations

import pytest
from catalogue_programs import PROGRAMS
from programs import example

import jupyter_tpushape as tpushape

CASES = [(fact, number, framework) for fact, held in PROGRAMS.items() for number, one in enumerate(held) for framework in one.frameworks]


def report_of(text, framework, program):
    made = example(text, framework)
    if "step" in made:
        return tpushape.trace(made["step"], made["data"], tpu=program.tpu, fixes=False)
    if program.live:
        model = made["build"]()
        with made["strategy"].scope():
            return tpushape.trace(model, made["data"], fixes=False)
    return tpushape.trace(made["build"], made.get("data"), tpu=program.tpu or None, strategy=made.get("strategy"), fixes=False)


@pytest.mark.parametrize(("fact", "number", "framework"), CASES)
def test_the_program_is_found_and_the_near_miss_is_not(fact, number, framework):
    program = PROGRAMS[fact][number]
    found = report_of(program.fails, framework, program).findings
    hit = [finding for finding in found if finding.rule == program.rule]
    assert hit, found
    assert hit[0].severity == program.severity
    assert program.says in repr(hit[0].fact), hit[0].fact
    missed = report_of(program.passes, framework, program)
    assert program.rule not in [finding.rule for finding in missed.findings], missed.findings
    assert missed.ok or fact == "E5", missed.findings
