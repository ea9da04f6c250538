"""Faults made out of correct programs: what raises is found, what is harmless is left alone, and the first fix holds.

Each mutant is run for real first (:mod:`mutants.outcomes`); only then is it traced and judged.
"""

from __future__ import annotations

import importlib
import random
import warnings

import pytest
from mutants.architectures import ARCHITECTURES
from mutants.mutations import OPERATORS, mutants
from mutants.outcomes import HARMLESS, RAISES, SILENT, fit, judge

FRAMEWORKS = ("keras", "tf_keras")
SEED, EACH = 1, 9
# Trying fixes costs more than finding faults: three quarters of the mutants, others in each framework.
MUTANTS = mutants(SEED, EACH)


@pytest.fixture(scope="module", params=FRAMEWORKS)
def outcomes(request):
    keras = importlib.import_module(request.param)
    repaired = set(random.Random(f"{SEED} {request.param}").sample(range(len(MUTANTS)), k=len(MUTANTS) * 3 // 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [judge(mutant, keras, fixes=i in repaired) for i, mutant in enumerate(MUTANTS)]


def told(wrong):
    return f"{len(wrong)}:\n" + "\n".join(map(str, wrong))


def test_there_are_enough_of_them():
    assert len(ARCHITECTURES) >= 12
    assert len(MUTANTS) * len(FRAMEWORKS) >= 300
    assert len({mutant.id for mutant in MUTANTS}) == len(MUTANTS)
    assert {mutant.operator for mutant in MUTANTS} == set(OPERATORS)


def test_the_same_seed_gives_the_same_mutants():
    assert mutants(SEED, 3) == mutants(SEED, 3)
    assert mutants(SEED, 3) != mutants(SEED + 1, 3)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=[architecture.__name__ for architecture in ARCHITECTURES])
def test_every_program_is_correct_as_it_stands(architecture, framework):
    keras = importlib.import_module(framework)
    build, data = architecture(keras)
    fit(build(), data())


def test_all_three_kinds_occur(outcomes):
    kinds = [outcome.kind for outcome in outcomes]
    assert kinds.count(RAISES) >= 50 and kinds.count(HARMLESS) >= 50 and kinds.count(SILENT) >= 5


def test_every_mutant_that_raises_is_found(outcomes):
    missed = [outcome for outcome in outcomes if outcome.kind == RAISES and not outcome.found]
    assert not missed, told(missed)


def test_every_silent_fault_is_found(outcomes):
    missed = [outcome for outcome in outcomes if outcome.kind == SILENT and not outcome.found]
    assert not missed, told(missed)


def test_harmless_mutants_are_left_alone(outcomes):
    alarms = [outcome for outcome in outcomes if outcome.kind == HARMLESS and outcome.found]
    assert not alarms, told(alarms)


def test_the_first_fix_makes_a_real_step_pass(outcomes):
    tried = [outcome for outcome in outcomes if outcome.repaired]
    failed = [f"{outcome} ## {outcome.repaired}" for outcome in tried if outcome.repaired != "yes"]
    assert len(tried) >= 50
    assert len(failed) <= len(tried) * 0.1, f"{len(failed)} of {len(tried)}:\n" + "\n".join(failed)
