"""What a fixed program computes, on JAX."""

from __future__ import annotations

import keras
import pytest
from computed_programs import PROGRAMS, kinds

from jupyter_tpushape.trace import values_jax


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_say_what_counts(name):
    assert kinds(keras, name) == PROGRAMS[name][-1]


def test_a_release_without_an_option_of_the_compiler_computes_the_same(monkeypatch):
    name = next(iter(PROGRAMS))
    monkeypatch.setitem(values_jax._QUICKER, "xla_option_of_another_release", 1)
    assert kinds(keras, name) == PROGRAMS[name][-1] != set()
