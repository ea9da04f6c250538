"""Quiet frameworks, no accelerators, and the tests' own folder on the path."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _names_as_in_a_fresh_process() -> None:
    """Keras counts the layers that it names; a test finds the same names whatever ran before it."""
    if "keras.src.backend.common.global_state" in sys.modules:
        sys.modules["keras.src.backend.common.global_state"].set_global_attribute("object_name_uids", None)
    if "tf_keras.src.backend" in sys.modules:
        sys.modules["tf_keras.src.backend"].reset_uids()
