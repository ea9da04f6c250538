"""Slices of the harnesses of agreement and of mutants, judged against real steps of Keras on JAX; TPUSHAPE_SOAK takes more of each."""

from __future__ import annotations

import os
import warnings

import keras
import pytest
from agreement.judge import judge
from no_tensorflow import architectures, grammar, layers, mutations, outcomes

WHOLE = "TPUSHAPE_SOAK" in os.environ
NAMES = ("Dense", "Conv1D", "BatchNormalization", "Dropout", "Embedding", "LSTM", "Concatenate", "Rescaling", "Flatten")
MUTANTS = mutations.mutants(1, 9 if WHOLE else 1)
SOME = MUTANTS if WHOLE else MUTANTS[::2]


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", list(layers.classes(keras)) if WHOLE else NAMES)
def test_a_layer_agrees_with_a_real_step(name):
    case = layers.case(keras, name, layers.classes(keras)[name], 5)
    assert case is None or judge(keras, case).verdict in ("agree", "not-judged"), case.name


@pytest.mark.parametrize("seed", range(80 if WHOLE else 5))
def test_a_program_agrees_with_a_real_step(seed):
    case = grammar.case(keras, seed)
    assert judge(keras, case).verdict in ("agree", "not-judged"), case.name


def test_every_architecture_that_needs_no_pipeline_has_mutants():
    assert len(architectures.ARCHITECTURES) >= 16
    assert {mutant.architecture for mutant in MUTANTS} == {one.__name__ for one in architectures.ARCHITECTURES}


@pytest.mark.parametrize("mutant", SOME, ids=[mutant.id for mutant in SOME])
def test_a_mutant_that_breaks_is_found_and_one_that_does_no_harm_is_left_alone(mutant, tmp_path):
    outcome = outcomes.judge(mutant, keras, tmp_path / "mutant.py", fixes=True)
    assert outcome.found == (outcome.kind != outcomes.HARMLESS), outcome
    assert outcome.repaired in ("", "yes", outcomes.NO_FIX), f"{outcome} ## {outcome.repaired}"
