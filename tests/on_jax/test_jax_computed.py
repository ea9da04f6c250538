"""What a fixed program computes, on JAX."""

from __future__ import annotations

import keras
import pytest
from computed_programs import PROGRAMS, kinds


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_say_what_counts(name):
    assert kinds(keras, name) == PROGRAMS[name][-1]
