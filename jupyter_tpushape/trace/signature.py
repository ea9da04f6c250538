"""A call that its function's signature refuses: what is missing, given twice, or not known to it."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from types import FrameType

import msgspec

from ..flow import syntax
from ..flow.text import words
from ..internal import last_entry
from .framework import Framework
from .locations import Place, is_user_file
from .raised import innermost, values_of

_COMPUTED = (ast.Call, ast.BinOp, ast.Subscript)
_SETTINGS = (("axis", inspect.Parameter.empty), ("name", None), ("training", None), ("batch_size", None), ("data_format", None))


class Refused(msgspec.Struct, frozen=True):
    """A call whose arguments do not fit.

    Attributes:
        function: as it is written. missing: parameters without a default that got nothing. doubled: one that got two values.
        unknown: a name that is no parameter. many: how many more arguments came than it takes by their place.
        layer: the class's name, where a layer was to be made. tensors: whether a tensor, or a list that holds one, is among the arguments by place.
        apart: what came one by one and is one argument: ``what``, tensors, sizes or layers; ``axis``: an axis comes next, and is not the last by itself.
    """

    function: str
    missing: tuple[str, ...] = ()
    doubled: str = ""
    unknown: str = ""
    many: int = 0
    layer: str = ""
    tensors: bool = False
    apart: tuple[str, ...] = ()
    what: str = ""
    axis: bool = False


def refused_call(error: BaseException, adapter: Framework) -> Refused | None:
    """Why the call at the user's own line that raised does not fit."""
    found = innermost(error)
    if found is None:
        return None
    frame, place, text = found
    try:
        tree = syntax.parse(text.strip())
    except (SyntaxError, ValueError):
        return None
    # Where the interpreter tells the expression, that is the call; else it is one on the line, and what is inside runs first.
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    calls = calls[:1] if place.span is not None else calls[::-1]
    apart = (_apart(frame, call, adapter, "called on a list" in words(error)) for call in calls)
    refused = (_refused(frame, call, adapter) for call in calls if isinstance(error, TypeError))
    return next((one for one in (*apart, *refused) if one is not None), None)


def of_call(error: BaseException, adapter: Framework) -> tuple[str, ...]:
    """The arguments that the user's own line gives to the constructor of a layer, and that only the layer's call takes."""
    found = innermost(error)
    try:
        tree = syntax.parse(found[2].strip()) if found is not None else None
    except (SyntaxError, ValueError):
        return ()
    for call in ast.walk(tree) if tree is not None and found is not None else ():
        kind = values_of(found[0]).function(call.func) if isinstance(call, ast.Call) and found is not None else None
        if isinstance(call, ast.Call) and isinstance(kind, type) and issubclass(kind, adapter.Layer):
            taken, made = (inspect.signature(getattr(kind, name)).parameters for name in ("call", "__init__"))
            return tuple(word.arg for word in call.keywords if word.arg and word.arg in taken and word.arg not in made)
    return ()


def unmade(error: BaseException) -> tuple[str, str] | None:
    """The name of a class that the user's innermost line calls a method of, as if it were an object, and the class's own name."""
    found = innermost(error)
    try:
        tree = syntax.parse(found[2].strip()) if found is not None else None
    except (SyntaxError, ValueError):
        return None
    for call in ast.walk(tree) if tree is not None and found is not None else ():
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or found is None:
            continue
        values = values_of(found[0])
        kind = values.function(call.func.value)
        method = inspect.getattr_static(kind, call.func.attr, None) if isinstance(kind, type) else None
        own = inspect.isfunction(method) and inspect.unwrap(method).__code__.co_varnames[:1] == ("self",)
        first = call.args[0] if call.args else None
        # What is computed in the call may be an object of the class.
        known = first is None or isinstance(first, (ast.Name, ast.Attribute, ast.Constant))
        if own and known and isinstance(kind, type) and not isinstance(values.of(first) if first is not None else None, kind):
            return ast.unparse(call.func.value), kind.__name__
    return None


def _layer_called(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Call)


def _apart(frame: FrameType, call: ast.Call, adapter: Framework, wants_list: bool) -> Refused | None:
    values = values_of(frame)
    kind = values.function(call.func.func) if isinstance(call.func, ast.Call) else values.function(call.func)
    layer = isinstance(kind, type) and issubclass(kind, adapter.Layer)
    makes, held = isinstance(kind, type) and not isinstance(call.func, ast.Call), values.of(call.func)
    if isinstance(held, adapter.Layer):
        function = held.call
    elif isinstance(kind, type):
        function = kind.__init__ if makes else kind.call if layer else None  # type: ignore[misc, attr-defined]
    else:
        function = kind if not isinstance(call.func, ast.Call) else None
    try:
        taken = [one for one in inspect.signature(function).parameters.values() if one.name != "self"] if callable(function) else []
    except (TypeError, ValueError):
        return None
    if makes and issubclass(kind, adapter.Model) and len(call.args) > 2 and all(_layer_called(one) or adapter.is_tensor(values.of(one)) for one in call.args):
        return Refused(ast.unparse(call.func), apart=tuple(map(ast.unparse, call.args[:-1])), what="inputs")
    first, second = (*taken[:2], None, None)[:2]
    if first is None or first.kind is not first.POSITIONAL_OR_KEYWORD:
        return None
    more = second is None or second.kind in (second.KEYWORD_ONLY, second.VAR_KEYWORD)
    sizes = [one for one in call.args if type(values.of(one) if not isinstance(one, ast.Constant) else one.value) is int]
    many = isinstance(first.default, tuple) or "shape" in first.name or first.name == "dims"
    if sizes and sizes[0] is call.args[0] and many:
        what, given = "sizes", sizes
    elif makes and issubclass(kind, adapter.Model):
        what, given = "layers", [one for one in call.args if isinstance(one, ast.Call)]
    else:
        tensors = itertools.takewhile(
            lambda one: _layer_called(one) or (more and isinstance(one, _COMPUTED)) or _of_tensors(values.of(one), adapter), call.args
        )
        what, given = "tensors", [] if makes else list(tensors)
    # A tensor may be what has None or nothing as its default, but for a few names.
    setting = second is not None and (isinstance(second.default, (int, str)) or (second.name, second.default) in _SETTINGS or wants_list)
    if len(given) < 2 or not (more or setting):
        return None
    axis = second is not None and second.name == "axis" and second.default != -1
    return Refused(ast.unparse(call.func), apart=tuple(map(ast.unparse, given)), what=what, axis=axis)


def _refused(frame: FrameType, call: ast.Call, adapter: Framework) -> Refused | None:
    if any(isinstance(item, ast.Starred) for item in call.args) or any(word.arg is None for word in call.keywords):
        return None
    values = values_of(frame)
    function = values.function(call.func)
    try:
        parameters = list(inspect.signature(function).parameters.values()) if callable(function) else []
    except (TypeError, ValueError):
        return None
    refused = _fitted(ast.unparse(call.func), parameters, len(call.args), [word.arg or "" for word in call.keywords])
    if refused is None or not (isinstance(function, type) and issubclass(function, adapter.Layer)):
        return refused
    given = [item for one in call.args for item in (one.elts if isinstance(one, (ast.List, ast.Tuple)) else [one])]
    return msgspec.structs.replace(refused, layer=function.__name__, tensors=any(adapter.is_tensor(values.of(item)) for item in given))


def _fitted(name: str, parameters: list[inspect.Parameter], placed: int, words: list[str]) -> Refused | None:
    kinds = inspect.Parameter
    places = [one.name for one in parameters if one.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    named = {one.name for one in parameters if one.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)}
    more = {one.kind for one in parameters} & {kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD}
    filled = {*places[:placed], *words}
    missing = tuple(
        one.name for one in parameters if one.default is kinds.empty and one.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD) and one.name not in filled
    )
    doubled = next((word for word in words if word in places[:placed]), "")
    unknown = next((word for word in words if word not in named and kinds.VAR_KEYWORD not in more), "")
    many = max(0, placed - len(places)) if kinds.VAR_POSITIONAL not in more else 0
    if not parameters or not (missing or doubled or unknown or many):
        return None
    return Refused(name, missing, doubled, unknown, many)


def by_place(error: BaseException, adapter: Framework) -> tuple[str, tuple[tuple[int, str], ...]] | None:
    """The layer that the user's innermost line calls, as it is written, and the arguments by place that are no tensors, with the names of their
    parameters; ``None`` where the line does not call a layer, or a parameter has no name."""
    found = innermost(error)
    if found is None:
        return None
    frame, place, text = found
    try:
        call = next((node for node in ast.walk(syntax.parse(text.strip())) if isinstance(node, ast.Call)), None)
    except (SyntaxError, ValueError):
        return None
    values = values_of(frame)
    layer = values.of(call.func) if call is not None and place.span is not None else None
    if call is None or not isinstance(layer, adapter.Layer):
        return None
    names = [one.name for one in inspect.signature(layer.call).parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
    others = [index for index, item in enumerate(call.args) if index and not _of_tensors(values.of(item), adapter)]
    if not others or others[-1] >= len(names) or others != list(range(others[0], len(call.args))):
        return None
    return ast.unparse(call.func), tuple((index, names[index]) for index in others)


def _of_tensors(value: object, adapter: Framework) -> bool:
    return any(map(adapter.is_tensor, adapter.flatten(value)))


class Overridden(msgspec.Struct, frozen=True):
    """A method of the user's that overrides one of the framework's, and does not take what the framework passes.

    Attributes:
        function: class and method. lacks: the parameters that are missing, in order. place: the line on which it is defined.
    """

    function: str
    lacks: tuple[str, ...]
    place: Place


# A call and a loss of a layer or model are nodes of the flow, which tell by themselves what they do not take.
_NODES = ("call", "compute_loss")
_UNKNOWN = re.compile(r"got an unexpected keyword argument '(\w+)'")


def overridden(error: BaseException) -> Overridden | None:
    """The method that the framework called in vain."""
    trace = last_entry(error) if isinstance(error, TypeError) else None
    said = re.match(r"([\w.]+)\.(\w+)\(\) ", words(error))
    if trace is None or said is None or said[2] in _NODES or is_user_file(trace.tb_frame.f_code.co_filename):
        return None
    for value in list(trace.tb_frame.f_locals.values()):
        owners = [cls for cls in type(value).__mro__ if said[2] in vars(cls)]
        own = inspect.unwrap(vars(owners[0])[said[2]]) if owners and owners[0].__qualname__ == said[1] else None
        code = getattr(own, "__code__", None)
        if own is None or code is None or not is_user_file(code.co_filename):
            continue
        taken = inspect.signature(own).parameters
        named = _UNKNOWN.search(words(error))
        bases = [one.name for cls in owners[1:2] for one in inspect.signature(vars(cls)[said[2]]).parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
        lacks = (named[1],) if named is not None else tuple(bases[len(taken) :])
        if lacks and not set(lacks) & set(taken):
            return Overridden(f"{said[1]}.{said[2]}", lacks, Place(code.co_filename, code.co_firstlineno))
    return None
