"""The house has floors: a module imports only from those above it, on first use or later; nothing goes in circles."""

from __future__ import annotations

import ast
from pathlib import Path

import networkx as nx

import jupyter_tpushape

ROOT = Path(jupyter_tpushape.__file__).parent
# From the top down. The package itself, which gives the public names, may be asked for its version and for a view.
FLOORS = (
    "flow", "internal", "files", "sources", "replicas", "trace", "saved", "graph", "examine", "rules", "repair", "compilers", "suggest", "report", "diagnose", "port", "watch", "testing",
    "pytest_plugin", "views", "notebook", "command", "cli", "__main__", "_labextension",
)  # fmt: skip
PACKAGE = frozenset({"__version__", "view"})


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield path, (parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path, module, *, lazy=True):
    """``(module, typing only)`` of what a file imports of ours."""
    package = module if path.name == "__init__.py" else module[:-1]
    tree = ast.parse(path.read_text())
    guarded = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test) for inner in ast.walk(node)}
    for node in ast.walk(tree) if lazy else tree.body:
        if not isinstance(node, ast.ImportFrom) or not node.level or id(node) in guarded:
            continue
        base = package[: len(package) - node.level + 1] + tuple((node.module or "").split(".") if node.module else ())
        for alias in node.names:
            yield (*base, alias.name)


def test_a_module_imports_only_from_the_floors_above_it():
    wrong = []
    for path, module in modules():
        if not module or module[0] not in FLOORS:
            assert not module or module == (), f"{module} has no floor"
            continue
        for target in imports(path, module):
            if target[0] in PACKAGE and len(target) == 1:
                continue
            if target[0] != module[0] and FLOORS.index(target[0]) > FLOORS.index(module[0]):
                wrong.append(f"{'.'.join(module)} imports {'.'.join(target)}")
    assert not wrong, "\n".join(wrong)


def test_flow_imports_nothing_of_ours():
    for path, module in modules():
        if module[:1] == ("flow",):
            assert all(target[0] == "flow" for target in imports(path, module)), path


def test_no_imports_go_in_circles():
    known = {module for _, module in modules()}
    graph = nx.DiGraph()
    for path, module in modules():
        if not module:
            continue
        for target in imports(path, module):
            found = target if target in known else target[:-1]
            if found in known and found and found != module and not (path.name == "__init__.py" or found == module[: len(found)]):
                graph.add_edge(module, found)
    circles = [sorted(".".join(part) for part in component) for component in nx.strongly_connected_components(graph) if len(component) > 1]
    assert circles == []
