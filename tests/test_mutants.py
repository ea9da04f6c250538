"""Faults made out of correct programs: what raises is found, what is harmless is left alone, and the first fix holds.

Each mutant is run for real first (:mod:`mutants.outcomes`); only then is it traced and judged.
"""

from __future__ import annotations

import importlib
import os
import random
import warnings

import pytest
from mutants.architectures import ARCHITECTURES
from mutants.harder import OWN, TRAPS, harder
from mutants.mutations import OPERATORS, mutants
from mutants.outcomes import DIFFERS, HARMLESS, KEEPS, NO_FIX, RAISES, SILENT, fit, judge

FRAMEWORKS = ("keras", "tf_keras")
# make soak draws mutants of its own.
SEED, EACH = int(os.environ.get("TPUSHAPE_SEED", "1")), 9
# Trying fixes costs more than finding faults: each mutant is mended in one of the frameworks; in both with TPUSHAPE_SOAK.
SOAK = "TPUSHAPE_SOAK" in os.environ


@pytest.fixture(scope="module")
def simple():
    """Drawn by the process that judges them, and by no other that merely collects these tests."""
    return mutants(SEED, EACH)


@pytest.fixture(scope="module")
def hard():
    """Faults in code of one's own, traps, and several faults at once; a program with several may need more than a search finds."""
    return harder(SEED, 4)


@pytest.fixture(scope="module", params=FRAMEWORKS)
def outcomes(request, simple, tmp_path_factory):
    halves = random.Random(SEED).sample(range(len(simple)), k=len(simple))
    repaired = set(halves if SOAK else halves[FRAMEWORKS.index(request.param) :: len(FRAMEWORKS)])
    return judged(request.param, [(mutant, i in repaired) for i, mutant in enumerate(simple)], tmp_path_factory)


@pytest.fixture(scope="module", params=FRAMEWORKS)
def harder_outcomes(request, hard, tmp_path_factory):
    return judged(request.param, [(mutant, True) for mutant in hard], tmp_path_factory)


def judged(framework, chosen, folders):
    keras, folder = importlib.import_module(framework), folders.mktemp("mutants")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        keras.utils.set_random_seed(SEED)  # outputs are compared for the weights and data that are drawn
        return [judge(mutant, keras, folder / f"mutant_{i}.py", fixes=fixes) for i, (mutant, fixes) in enumerate(chosen)]


def told(wrong):
    return f"{len(wrong)}:\n" + "\n".join(map(str, wrong))


def test_there_are_enough_of_them(simple):
    assert len(ARCHITECTURES) >= 12
    assert len(simple) * len(FRAMEWORKS) >= 300
    assert len({mutant.id for mutant in simple}) == len(simple)
    assert {mutant.operator for mutant in simple} == set(OPERATORS)


def test_the_same_seed_gives_the_same_mutants():
    assert mutants(SEED, 3) == mutants(SEED, 3)
    assert mutants(SEED, 3) != mutants(SEED + 1, 3)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("architecture", [*ARCHITECTURES, *TRAPS], ids=lambda architecture: architecture.__name__)
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


def test_every_verified_fix_makes_the_file_run(outcomes):
    tried = [outcome for outcome in outcomes if outcome.repaired not in ("", NO_FIX)]
    failed = [f"{outcome} ## {outcome.repaired}" for outcome in tried if outcome.repaired != "yes"]
    assert len(tried) >= (50 if SOAK else 25)
    assert sum(outcome.proof == "source" for outcome in tried) >= len(tried) * 0.9
    assert not failed, f"{len(failed)} of {len(tried)}:\n" + "\n".join(failed)


def test_what_can_be_mended_has_a_verified_fix(outcomes):
    mendable = [outcome for outcome in outcomes if outcome.repaired]
    without = [outcome for outcome in mendable if outcome.repaired == NO_FIX]
    assert len(without) <= len(mendable) * 0.1, told(without)


def test_the_first_fix_keeps_the_meaning(outcomes):
    """With the weights of the program without a fault, the mended one gives the same outputs or the same loss."""
    kept = [outcome.kept for outcome in outcomes]
    assert kept.count(KEEPS) >= 20
    assert kept.count(DIFFERS) <= kept.count(KEEPS) * 0.1, told([f"{one} ## {one.title}" for one in outcomes if one.kept == DIFFERS])


def test_harder_mutants_are_drawn_from_every_kind(hard):
    operators = {mutant.operator for mutant in hard}
    assert operators >= {"2 faults", "3 faults", *OWN}
    assert {mutant.architecture for mutant in hard} >= {trap.__name__ for trap in (*ARCHITECTURES, *TRAPS)}
    assert harder(SEED, 4) == hard


def test_harder_mutants_are_found_and_their_fixes_keep_the_meaning(harder_outcomes):
    faults = [outcome for outcome in harder_outcomes if outcome.kind != HARMLESS]
    raising = [outcome for outcome in faults if outcome.kind == RAISES and not outcome.found]
    silent = [outcome for outcome in faults if outcome.kind == SILENT and not outcome.found]
    differ = [f"{outcome} ## {outcome.title}" for outcome in faults if outcome.kept == DIFFERS]
    kept = sum(outcome.kept == KEEPS for outcome in faults)
    assert not raising, told(raising)
    # Labels that a loss of one's own broadcasts, and a sum over all samples: at most two in each half.
    assert all(sum(outcome in silent for outcome in harder_outcomes[half::2]) <= 2 for half in (0, 1)), told(silent)
    # One in each half, as with five kept: a batch of 32 for axes in another order, and a turn that no shape tells.
    assert kept >= 8 and len(differ) <= 2, told(differ)
