"""Quiet frameworks, no accelerators, and the tests' own folder on the path."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TPUSHAPE_STRICT", "1")
sys.path.insert(0, str(Path(__file__).parent))
pytest_plugins = ["settled"]


# The files that take longest, longest first: workers take files whole and in this order, and none is left alone with one at the end.
LONGEST = (
    "mutants", "written", "patch", "notebook", "rules_reported", "replicas", "forms", "attacks_files", "weather", "own_code", "compilers_remedies",
    "attacks_terminal", "compilers_made", "as_fit", "trace", "compilers", "rules_examples", "port", "examples_tpu", "rules_tpu", "observed",
    "rules_tpu_evidence", "catalogue_compiled", "left_as_found", "ideas", "attacks_data", "nested_inputs", "repair", "packaging", "updates",
    "compilers_memory", "agreement", "messages", "graph", "catalogue_evidence", "steps", "smoke", "compilers_process", "compilers_topologies",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {f"test_{name}.py": number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))


@pytest.fixture(autouse=True)
def _names_as_in_a_fresh_process() -> None:
    """Keras counts the layers that it names; a test finds the same names whatever ran before it."""
    if "keras.src.backend.common.global_state" in sys.modules:
        sys.modules["keras.src.backend.common.global_state"].set_global_attribute("object_name_uids", None)
    if "tf_keras.src.backend" in sys.modules:
        sys.modules["tf_keras.src.backend"].reset_uids()
