"""Functions of the user's that return nothing where something is read of them, and layers that return something else than they declare."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..flow import Node, Shape, syntax
from ..flow.observed import Borders
from ..trace.framework import Framework
from ..trace.locations import Place, is_user_file
from ..trace.raised import frames_of, scope_of, values_of
from .broken_lines import written
from .heard import hear
from .heard_lines import HeardNothing
from .program import Examined

_NO_RESULT = frozenset({"print", "add_loss", "add_metric", "append", "assign", "assign_add", "apply_gradients", "update_state", "compile", "summary", "build"})


@dataclass(frozen=True)
class Silent:
    """A ``function`` without a ``return``, whose last statement, at ``place``, computes ``value``; ``unless``: the condition under which it returns."""

    function: str
    value: str
    place: Place
    unless: str = ""


def returns_nothing(seen: Any, adapter: Framework, error: BaseException) -> Silent | None:
    """The function that an error about ``None`` comes from: the layer that ran last, the loss, or one that a line names."""
    found = _called(seen, adapter) if hear(error, HeardNothing) is not None else ()
    return next(filter(None, (silent(name, one) for name, one in (*found, *_named(error, adapter)))), None)


def silent(name: str, function: Callable[..., Any] | None) -> Silent | None:
    """What a function of the user's computes last, where it does not return it."""
    code = getattr(inspect.unwrap(function), "__code__", None) if function is not None else None
    if code is None or not is_user_file(code.co_filename):
        return None
    scope = written(code)
    if not isinstance(scope, ast.FunctionDef) or scope.name != code.co_name.removeprefix("tf__"):
        return None
    last = scope.body[-1]
    inner = {item for one in ast.walk(scope) if isinstance(one, syntax.Function) and one is not scope for item in ast.walk(one)}
    own = [item for item in ast.walk(scope) if item not in inner]
    ends = [item for item in own if isinstance(item, (ast.Yield, ast.YieldFrom)) or (isinstance(item, ast.Return) and item.value is not None)]
    if isinstance(last, ast.Raise):
        return None
    if scope.name == "train_step":
        taped = [one.args[0] for one in ast.walk(scope) if isinstance(one, ast.Call) and syntax.called(one) == "gradient" and one.args]
        return None if ends or not taped else Silent(name, f'{{"loss": {ast.unparse(taped[0])}}}', Place(code.co_filename, last.lineno))
    taken = [one.arg for one in scope.args.args if one.arg != "self"]
    value, unless = _computed(scope), ""
    if isinstance(last, ast.If) and not last.orelse and taken and isinstance(last.body[-1], ast.Return) and ends == last.body[-1:]:
        value, unless = ast.Name(taken[0]), ast.unparse(last.test)
    elif ends:
        return None
    return Silent(name, ast.unparse(value), Place(code.co_filename, last.lineno), unless) if value is not None else None


def _called(seen: Any, adapter: Framework) -> Iterator[tuple[str, Any]]:
    calls = [seen.recorder.failed, *seen.recorder.calls[::-1][:3]] if seen.recorder is not None else []
    for held in (*(call.obj for call in calls if call is not None), seen.model):
        if isinstance(held, adapter.Layer):
            yield f"{type(held).__name__}.call", type(held).call
        else:
            function = next((one for name in ("fn", "_fn") if (one := getattr(held, name, None)) is not None), held)
            yield getattr(function, "__name__", ""), function if inspect.isfunction(function) else None


def _named(error: BaseException, adapter: Framework) -> Iterator[tuple[str, Any]]:
    """The functions and layers of the user's that the lines which were running name, or that made what they read."""
    told = hear(error, HeardNothing) is not None
    for frame, place in frames_of(error):
        values, scope = values_of(frame), scope_of(place)
        around = [*ast.walk(scope)] if scope is not None else []
        unused = [one.value for one in around if isinstance(one, ast.Expr)]
        for call in around:
            if not isinstance(call, ast.Call) or call.lineno > place[1] or call in unused:
                continue
            kind = values.function(call.func.func if isinstance(call.func, ast.Call) else call.func)
            if isinstance(kind, type) and issubclass(kind, adapter.Layer) and told:
                yield f"{kind.__name__}.call", kind.call  # type: ignore[attr-defined]
            mapped = [values.function(one) for one in call.args] if syntax.called(call) == "map" and call.lineno == place[1] else []
            for one in (kind if told else None, *mapped):
                if inspect.isfunction(one):
                    yield one.__name__, one


def _computed(scope: ast.FunctionDef) -> ast.expr | None:
    """What the last statement of a function computes; where that has no result, what it is called on, or what was computed before."""
    last = scope.body[-1]
    if isinstance(last, ast.Expr) and not isinstance(last.value, ast.Constant):
        if syntax.called(last.value) not in _NO_RESULT:
            return last.value
        owner = last.value.func.value if isinstance(last.value, ast.Call) and isinstance(last.value.func, ast.Attribute) else None
        if isinstance(owner, ast.Name) and owner.id != "self":
            return owner
    for one in scope.body[::-1]:
        if isinstance(one, (ast.Assign, ast.AugAssign)):
            target = one.targets[0] if isinstance(one, ast.Assign) else one.target
            return target if isinstance(target, (ast.Name, ast.Tuple)) else None
    return None


class Claim(NamedTuple):
    """``node`` was taken to return ``declared``, by an argument or a method ``by``, and returns ``returned``."""

    node: Node
    by: str
    declared: Shape
    returned: Shape


def claims(seen: Examined) -> list[Claim]:
    """The calls of a functional model whose declared output differs from the real one in rank or in an inner axis, in order."""
    adapter, flow = seen.adapter, seen.evidence.flow
    network = adapter.graph_network(seen.model) if adapter is not None and adapter.is_model(seen.model) else None
    if adapter is None or network is None:
        return []
    made = [(str(one.operation.name), one) for one in adapter.graph_nodes(network) if not one.is_input]
    often = Counter(name for name, _ in made)
    borders, found = Borders(flow), []
    for name, one in made:
        by = adapter.declared_by(one.operation)
        nodes = [node for node in flow.nodes if node.kind == "layer" and node.name == name] if by else []
        if often[name] > 1 or len(nodes) != 1 or len(one.outputs) != 1:
            continue
        declared = adapter.spec(one.outputs[0]).shape
        returned = next(iter(borders.around(nodes[0])[1]), None)
        if declared is not None and returned is not None and _differ(declared, returned):
            found.append(Claim(nodes[0], by, declared, (declared[0], *returned[1:]) if returned else returned))
    return found


def _differ(declared: Shape, returned: Shape) -> bool:
    pairs = zip(declared[1:], returned[1:], strict=False)
    return len(declared) != len(returned) or any(None not in pair and pair[0] != pair[1] for pair in pairs)
