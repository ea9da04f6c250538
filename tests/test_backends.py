"""Who may know a framework or a backend by name: the files of trace/ that are one, and a short list with its reasons."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import jupyter_tpushape
from jupyter_tpushape.trace.backend import Backend
from jupyter_tpushape.trace.framework import Framework

ROOT = Path(jupyter_tpushape.__file__).parent
NAMES = {"tensorflow", "jax", "keras", "tf_keras", "jaxlib", "torch"}
# The backends, the frameworks, and who picks them.
HOMES = {
    f"trace/{name}.py"
    for name in (
        "tensorflow",
        "learned",
        "strategies",
        "step",
        "jax",
        "frames_jax",
        "gradients_jax",
        "untrained_jax",
        "graph_jax",
        "mesh_jax",
        "values_tensorflow",
        "values_jax",
        "keras3",
        "keras3_graph",
        "keras3_variables",
        "tfkeras",
        "frameworks",
    )
}
# What names one all the same, and why that is honest.
REASONS = {
    "replicas/": "asks tf.distribute and keras.distribution themselves what a strategy does",
    "sources/": "takes whatever fit takes, tf.data's pipelines among it, and casts as each framework does",
    "compilers/": "lowers a program with its own backend, and talks to jaxlib and libtpu",
    "port/": "turns a program of one framework and backend into one of others",
    "suggest/": "the layouts that it tries are those of keras.distribution",
    "repair/": "writes source: of an import, of tf.data, of tf's functions",
    "rules/": "examples are programs; a text of one framework's is said of that framework only",
    "command/": "installation, and what a command has to import before it loads a file",
    "notebook/": "waits for a framework to be imported, and reads its frames in a traceback",
    "graph/": "a TensorFlow graph, operation by operation, its functions and its gradients",
    "trace/families.py": "which package a layer's class comes from",
    "trace/update.py": "whose class an optimizer is of",
    "examine/heard.py": "what each framework says when it raises",
    "trace/locations.py": "the user's line behind what autograph generated, and whose module a function is of",
    "trace/restore.py": "whose objects a trace looks into",
    "trace/reach.py": "which base classes are layers, optimizers and strategies",
    "examine/making.py": "a constructor in the source is told by the module that it comes from",
    "examine/broken_lines.py": "which function of keras.ops does what one of another library does",
    "saved/": "which of the two Kerases a stranger's file is for, and what of it may be made",
    "trace/anew.py": "whether autograph's own files made something",
    "trace/assume.py": "a tensor of the wanted shape, as the backend's own function makes it",
    "trace/arrivals.py": "waits for a framework to be imported",
    "trace/turns.py": "whether a frame is a training call of a framework's",
    "examine/look.py": "the framework of a program that has none yet",
}


def named(path: Path) -> set[str]:
    """The frameworks and backends that a module imports, or compares with."""
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names} & NAMES
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found |= {node.module.split(".")[0]} & NAMES
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.split(".")[0] in NAMES and " " not in node.value:
            found |= {node.value.split(".")[0]}
    return found


MODULES = sorted(str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py"))


@pytest.mark.parametrize("module", MODULES)
def test_a_framework_is_named_where_it_is_at_home_or_for_a_reason(module):
    if module in HOMES or any(module == place or (place.endswith("/") and module.startswith(place)) for place in REASONS):
        return
    assert named(ROOT / module) == set(), "ask the Framework or its Backend instead"


def test_every_reason_is_still_needed():
    for place in REASONS:
        modules = [module for module in MODULES if module == place or (place.endswith("/") and module.startswith(place))]
        assert any(named(ROOT / module) for module in modules), place


@pytest.mark.parametrize("kind", [Backend, Framework])
def test_every_method_of_the_abstract_classes_is_documented(kind):
    for name, member in vars(kind).items():
        if callable(member) and not name.startswith("_"):
            assert member.__doc__, f"{kind.__name__}.{name}"


def test_the_package_and_its_recorder_import_no_backend():
    import subprocess
    import sys

    code = (
        "import sys, jupyter_tpushape, jupyter_tpushape.trace.recorder, jupyter_tpushape.trace.frameworks, jupyter_tpushape.notebook.extension\n"
        "print([name for name in ('tensorflow', 'jax', 'keras', 'tf_keras') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"
