"""Functions whose two results a line takes apart in the wrong order, told from what the names then hold."""

from __future__ import annotations

import ast
from types import FrameType

from ..flow import Shape, syntax
from ..trace.framework import Framework
from ..trace.locations import Place
from ..trace.raised import innermost_function, values_of

_FUNCTIONS = (ast.FunctionDef, ast.Lambda)


def exchanged(error: BaseException) -> tuple[str, int] | None:
    """The function whose two results have each other's names, or more names than two."""
    found = innermost_function(error)
    if found is None:
        return None
    frame, place, text, scope = found
    inner = {item for node in ast.walk(scope) if isinstance(node, _FUNCTIONS) and node is not scope for item in ast.walk(node)}
    made = {ast.unparse(node.targets[0]): function_of(node.value) for node in ast.walk(scope) if isinstance(node, ast.Assign)}
    for node in (item for item in ast.walk(scope) if item not in inner):
        target = node.targets[0] if isinstance(node, ast.Assign) and node.lineno <= place[1] else None
        if not isinstance(node, ast.Assign) or not isinstance(target, ast.Tuple) or len(target.elts) < 2:
            continue
        function = function_of(node.value)
        if made.get(function, function) == "stateless_call" and node.lineno < place[1] and _computes(frame, target.elts[1], text):
            return "stateless_call", 2
        if made.get(function, function) == "value_and_grad":
            if len(target.elts) > 2 and node.lineno <= place[1] <= (node.end_lineno or node.lineno):
                return "value_and_grad", len(target.elts)
            if _value_last(node, target, place, text):
                return "value_and_grad", 2
    return None


def along_batch(error: BaseException, adapter: Framework) -> tuple[str, Shape, int] | None:
    """The tensor that a line takes apart into as many names as its second axis has places: Python goes along the first; its shape, and how many."""
    found = innermost_function(error)
    if found is None:
        return None
    frame, place, _, scope = found
    for node in ast.walk(scope):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], (ast.Tuple, ast.List)) or node.lineno != place[1]:
            continue
        value, wanted = values_of(frame).of(node.value), len(node.targets[0].elts)
        shape = adapter.spec(value).shape if adapter.is_tensor(value) else None
        if shape is not None and len(shape) > 1 and shape[1] == wanted != shape[0]:
            return ast.unparse(node.value), shape, wanted
    return None


def function_of(node: ast.AST) -> str:
    """The name of what is called, of its innermost call where the result is called at once."""
    while isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _computes(frame: FrameType, name: ast.expr, text: str) -> bool:
    """Whether a line computes with a name that holds a list of variables' values, or compares it with labels."""
    try:
        tree = syntax.parse(text.strip())
    except SyntaxError:
        return False
    used: list[ast.expr] = []
    for item in ast.walk(tree):
        if isinstance(item, ast.BinOp):
            used += [item.left, item.right]
        elif isinstance(item, ast.Call) and (function_of(item) == "compute_loss" or len(item.args) == 2):
            used += [*item.args, *(word.value for word in item.keywords)]
    reads = {item.id for item in used if isinstance(item, ast.Name)}
    return isinstance(name, ast.Name) and name.id in reads and isinstance(frame.f_locals.get(name.id), list)


def _value_last(node: ast.Assign, target: ast.Tuple, place: Place, text: str) -> bool:
    """Whether gradients and the value have each other's names: what the optimizer gets, or what is taken apart further, is the other one."""
    first, second = target.elts[:2]
    if node.lineno <= place[1] <= (node.end_lineno or node.lineno):
        return isinstance(first, ast.Name) and isinstance(second, ast.Tuple)
    try:
        calls = [item for item in ast.walk(syntax.parse(text.strip())) if function_of(item) == "stateless_apply" and isinstance(item, ast.Call)]
    except SyntaxError:
        return False
    return any(len(item.args) > 1 and ast.unparse(item.args[1]) == ast.unparse(first) for item in calls)
