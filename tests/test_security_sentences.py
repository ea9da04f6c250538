"""docs/security.md sentence by sentence: each is held by tests that are named here, and a sentence without a test fails."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tf_keras
from test_attacks_files import archive, good, sequential, whole
from test_attacks_files import layer as layer_of

import jupyter_tpushape as tpushape
from jupyter_tpushape import files
from jupyter_tpushape.cli import main
from jupyter_tpushape.notebook import request
from jupyter_tpushape.saved import make, reader
from jupyter_tpushape.saved import open as opened
from jupyter_tpushape.trace import patience

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "security.md"
# What a sentence begins with, and the tests that hold it; none for what is only advice to the reader.
HELD: dict[str, list[str]] = json.loads((TESTS / "security_sentences.json").read_text(encoding="utf-8"))


def sentences() -> list[str]:
    """The page's sentences, rows of tables and items, without its headings."""
    found: list[str] = []
    for block in re.split(r"\n\s*\n|\n(?=- )", PAGE.read_text(encoding="utf-8")):
        text = " ".join(block.split())
        if text.startswith("|"):
            found += [row for row in re.split(r"(?<=\|) (?=\|)", text) if set(row) - set("|- ")]
        elif not text.startswith("#"):
            found += [one for one in re.split(r"(?<=[.:])\s+(?=[A-Z`*-])", text) if one]
    return found


@lru_cache
def named_in(name: str) -> frozenset[str]:
    tree = ast.parse((TESTS / f"test_{name}.py").read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"))


def test_each_sentence_has_a_test_and_each_test_exists() -> None:
    said = sentences()
    held = {one: [start for start in HELD if one.startswith(start)] for one in said}
    assert [one for one, starts in held.items() if len(starts) != 1] == []
    assert [start for start in HELD if not any(one.startswith(start) for one in said)] == []
    for start, tests in HELD.items():
        for test in tests:
            file, _, name = test.partition("::")
            assert name in named_in(file) or (not name and named_in(file)), f"{start}: {test}"


def test_a_sentence_without_a_test_fails(monkeypatch: Any, tmp_path: Path) -> None:
    page = tmp_path / "security.md"
    page.write_text(PAGE.read_text(encoding="utf-8") + "\nIt is safe.\n", encoding="utf-8")
    monkeypatch.setitem(globals(), "PAGE", page)
    with pytest.raises(AssertionError):
        test_each_sentence_has_a_test_and_each_test_exists()


# -- what no other file of tests holds ----------------------------------------------------------------------------------------------


def test_limits_are_what_the_page_says() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    for text in (
        f"{reader.MEMORY >> 30} GiB of memory, {reader.SECONDS} seconds of processor time, {reader.MOST_TEXT >> 20} MiB of configuration",
        f"{opened.MOST_DEPTH} levels, {reader.MOST_MEMBERS:,} archive members", f"grow by at most {make.MEMORY >> 30} GiB",
        f"`TPUSHAPE_TIMEOUT`, {patience.SECONDS:g} seconds", f"limited to {request.MOST_BYTES >> 10} KiB",
    ):  # fmt: skip
        assert text in page, text
    assert opened.MOST_VALUES == 1_000_000


def test_the_matrix_runs_the_attacks_with_the_oldest_and_the_newest() -> None:
    from scripts_here import script

    matrix = script("scripts/matrix.py")
    assert {"test_attacks_files.py", "test_attacks_archives.py"} <= set(matrix.TESTS)
    assert {"oldest", "newest"} <= {row.name for row in matrix.ROWS}


@pytest.mark.parametrize(
    ("result", "wrong"),
    [
        ("9 passed, 1 skipped; extension enabled; 9 s", False),
        ("not run: there is no Python 3.10 on this machine", False),
        ("1 failed, 9 passed; extension enabled; 9 s", True),
        ("9 passed, 1 error; extension enabled; 9 s", True),
        ("9 passed; extension NOT FOUND; 9 s", True),
        ("no tests ran; extension enabled; 9 s", True),
        ("no answer; extension enabled; 9 s", True),
    ],
)
def test_a_row_of_the_matrix_without_a_test_that_passed_has_failed(result: str, wrong: bool) -> None:
    from scripts_here import script

    assert script("scripts/matrix.py").failed(result) is wrong


@pytest.mark.parametrize("names", ["TESTS", "JAX_TESTS"])
def test_what_the_matrix_takes_along_is_all_that_it_imports(names: str) -> None:
    from scripts_here import script

    taken = {TESTS / name for name in getattr(script("scripts/matrix.py"), names)}
    own = {path.stem for path in (*TESTS.glob("*.py"), *TESTS.glob("on_jax/*.py"))}
    for path in taken:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
        imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id == "pytest_plugins" for one in node.targets):
                imported |= set(ast.literal_eval(node.value))
        assert imported & own <= {one.stem for one in taken}, path


@pytest.mark.parametrize("second", [False, True])
def test_no_loader_sees_a_file(second: bool, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    def seen(*_: Any, **__: Any) -> Any:
        raise AssertionError("a loader was called")

    for package, names in (
        (keras, ("keras.src.saving.saving_api", "keras.src.saving.saving_lib", "keras.src.legacy.saving.legacy_h5_format")),
        (tf_keras, ("tf_keras.src.saving.saving_api", "tf_keras.src.saving.saving_lib", "tf_keras.src.saving.legacy.hdf5_format")),
    ):
        for owner in (package.models, package.saving, *map(importlib.import_module, names)):
            for name in ("load_model", "load_model_from_hdf5", "load_weights_only", "load_weights", "_load_model_from_fileobj"):
                if hasattr(owner, name):
                    monkeypatch.setattr(owner, name, seen)
    path = archive(tmp_path / "m.keras", sequential(layer_of("Dense", units=3), second=second))
    assert main(["check", str(path), "--input-spec", "8,4:float32", "--tpu", "none"]) == 0


def test_weights_are_never_read(tmp_path: Path, capsys: Any) -> None:
    """The member that holds them is no HDF5 file at all."""
    (tmp_path / "m.keras").write_bytes(whole())
    assert main(["check", str(tmp_path / "m.keras"), "--input-spec", "8,4:float32", "--tpu", "none"]) == 0
    assert "model.weights.h5" not in good()


def test_the_kernel_of_a_notebook_opens_no_port(monkeypatch: Any, tmp_path: Path) -> None:
    from jupyter_client import manager

    from jupyter_tpushape.command import notebook

    made: dict[str, Any] = {}

    class Manager(manager.KernelManager):
        def start_kernel(self, **_: Any) -> None:
            made.update(transport=self.transport, ip=self.ip)
            raise KeyboardInterrupt

    monkeypatch.setattr(manager, "KernelManager", Manager)
    with pytest.raises(KeyboardInterrupt):
        notebook._run(tmp_path / "n.ipynb", ["x = 1"], {}, 5.0)
    assert made["transport"] == "ipc" and made["ip"].startswith("/")


@pytest.mark.parametrize("place", ["builder", "data"])
def test_what_called_functions_write_down_stays(place: str) -> None:
    log: list[str] = []

    def build() -> Any:
        if place == "builder":
            log.append("made")
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
        model.compile("sgd", "mse")
        return model

    def make_data() -> Any:
        if place == "data":
            log.append("made")
        return np.zeros((8, 4), "float32"), np.zeros((8, 3), "float32")

    assert tpushape.trace(build, make_data, tpu=None).ok
    assert log


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="extended attributes are Linux's")
def test_extended_attributes_stay(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("x = 1\n")
    try:
        os.setxattr(path, "user.origin", b"kept")
    except OSError:
        pytest.skip("this file system keeps no extended attributes")
    files.write_text(path, "x = 2\n")
    assert path.read_text() == "x = 2\n" and os.getxattr(path, "user.origin") == b"kept"


def test_a_report_holds_no_values() -> None:
    """Numbers of the data and of the weights that nothing else has."""
    secret, weight = 7391.25, 4826.5
    x, y = np.full((32, 4), secret, "float32"), np.full((32, 2), secret, "float32")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    model.compile("sgd", "mse")
    model.set_weights([np.full_like(value, weight) for value in model.get_weights()])
    report = tpushape.trace(model, (x, y))
    assert not report.ok
    said = report.to_json() + repr(report)
    for number in (secret, weight):
        assert str(number) not in said and f"{number:g}" not in said


def test_the_soak_takes_its_seed_and_count() -> None:
    makefile = (TESTS.parent / "Makefile").read_text(encoding="utf-8")
    assert "TPUSHAPE_FUZZ=$(FUZZ) TPUSHAPE_SEED=$(SEED)" in makefile and "FUZZ ?= 10000" in makefile
    for name in ("attacks_files", "attacks_writing", "attacks_documents"):
        text = (TESTS / f"test_{name}.py").read_text(encoding="utf-8")
        assert "TPUSHAPE_FUZZ" in text and "TPUSHAPE_SEED" in text


def test_advisories_are_asked_for_by_one_command_only() -> None:
    root = TESTS.parent
    asked = [
        path for path in (*root.glob("scripts/*"), root / "Makefile") if path.is_file() and re.search(r"pip-audit|npm audit", path.read_text(errors="replace"))
    ]
    assert {path.name for path in asked} == {"audit.sh"}
    assert "could not be audited" in (root / "scripts" / "audit.sh").read_text()
    assert not any(
        "audit" in path.read_text(encoding="utf-8")
        for path in Path(tpushape.__file__).parent.rglob("*.py")
        if "addaudithook" not in path.read_text(encoding="utf-8")
    )
