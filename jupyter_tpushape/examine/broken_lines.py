"""What a line of the program did when it raised outside of any layer."""

from __future__ import annotations

import ast
import inspect
import linecache
from dataclasses import dataclass
from types import CodeType
from typing import Any

from ..flow import Flow, Location, Shape, Who, syntax
from ..flow.text import words
from ..trace.assemble import door_names
from ..trace.framework import Framework
from ..trace.locations import Place, attribute, is_user_file, location
from ..trace.raised import frames_of, innermost_function, scope_of, values_of
from ..trace.recorder import Call, Recorder, line_of
from ..trace.unknown import filled
from .heard import hear
from .heard_contracts import HeardNoPair


@dataclass(frozen=True)
class Unconnected:
    """A functional model that broke: the inputs its outputs come from and that it was not given, those it was given, and layers between."""

    missing: tuple[tuple[str, Shape | None], ...]
    given: tuple[tuple[str, Shape | None], ...]
    through: tuple[str, ...]


@dataclass(frozen=True)
class LastCall:
    """The layer that a line called before it raised, and its result."""

    layer: Who
    outputs: tuple[Shape | None, ...]


def function_called(error: BaseException) -> str:
    """The function that the user's innermost line called when it raised, as it is written there."""
    frame, last = None, -1
    trace = error.__traceback__
    while trace is not None:
        if is_user_file(trace.tb_frame.f_code.co_filename):
            frame, last = trace.tb_frame, trace.tb_lasti
        trace = trace.tb_next
    # Python says from 3.11 on which part of a line an instruction stands for.
    positions = getattr(frame.f_code, "co_positions", None) if frame is not None else None
    if frame is None or positions is None or last < 0:
        return ""
    line, end, column, stop = list(positions())[last // 2]
    if line is None or line != end or column is None or stop is None:
        return ""
    written = linecache.getline(frame.f_code.co_filename, line).encode()[column:stop].decode(errors="ignore")
    try:
        found = syntax.parse(written, mode="eval").body
    except SyntaxError:
        return ""
    return ast.unparse(found.func) if isinstance(found, ast.Call) else ""


# Where a name of TensorFlow's or NumPy's differs from that of keras.ops by more than "reduce_".
_OTHER_NAMES = {"concat": "concatenate", "l2_normalize": "normalize", "pow": "power", "matrix_transpose": "transpose", "gather": "take"}


def ops_form(function: str, ops: Any) -> str:
    """The operation of ``keras.ops`` that does the same as a function of another library."""
    name = function.rsplit(".", 1)[-1].removeprefix("reduce_")
    name = _OTHER_NAMES.get(name, name)
    return f"keras.ops.{name}" if name and hasattr(ops, name) else ""


def unconnected(adapter: Framework, ends: tuple[Any, Any] | None) -> Unconnected | None:
    """What the outputs of a functional model that broke come from."""
    if ends is None:
        return None
    given = [tensor for _, tensor in adapter.tensors_of((ends[0],), {})]
    known = {id(tensor) for tensor in given}
    missing: dict[int, Any] = {}
    seen: set[int] = set()
    through: list[str] = []
    pending: list[tuple[Any, list[str]]] = [(tensor, []) for _, tensor in adapter.tensors_of((ends[1],), {})]
    while pending:
        tensor, way = pending.pop(0)
        if id(tensor) in seen or id(tensor) in known or not adapter.is_symbolic(tensor):
            continue
        seen.add(id(tensor))
        made = adapter.origin(tensor)
        if made is None:
            continue
        if isinstance(made[0], adapter.InputLayer):
            missing[id(tensor)] = (str(made[0].name), adapter.spec(tensor).shape)
            through += way
            continue
        way = [*way, str(getattr(made[0], "name", ""))]
        pending.extend((one, way) for one in made[1])
    if not missing:
        return None
    names = door_names([name for name, _ in missing.values()] + [_name(adapter, tensor) for tensor in given])
    cut = len(missing)
    return Unconnected(
        tuple((name, shape) for name, (_, shape) in zip(names[:cut], missing.values(), strict=True)),
        tuple((name, adapter.spec(tensor).shape) for name, tensor in zip(names[cut:], given, strict=True)),
        tuple(dict.fromkeys(through))[-2:],
    )


def _name(adapter: Framework, tensor: Any) -> str:
    made = adapter.origin(tensor) if adapter.is_symbolic(tensor) else None
    return str(made[0].name) if made is not None else "a tensor"


@dataclass(frozen=True)
class Uncalled:
    """A layer that was made from tensors where it was to be called on them, and the user's line; ``later``: what then got the layer.

    ``made``: ``False`` where it was the class itself.
    """

    cls: str
    line: tuple[str, int] | None
    later: bool
    made: bool = True


def uncalled(adapter: Framework, recorder: Recorder, error: BaseException) -> Uncalled | None:
    """What an error came of: tensors among the arguments of a layer's constructor, or a layer where a tensor was to be."""
    found, trace = None, error.__traceback__
    while trace is not None:
        frame, trace = trace.tb_frame, trace.tb_next
        code = frame.f_code
        given = [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]
        if not given or is_user_file(code.co_filename) or not isinstance(given[0], adapter.Layer):
            continue
        if isinstance(given[0], adapter.Model):
            # An output that is a layer.
            ends = adapter.flatten(frame.f_locals.get("outputs")) if code.co_name == "__init__" else []
            found = next((Uncalled(type(end).__name__, _made_at(recorder, end), True) for end in ends if isinstance(end, adapter.Layer)), found)
            continue
        if code.co_name == "__init__" and any(_tensors(adapter, item) for item in given[1:]):
            return Uncalled(type(given[0]).__name__, None, False)
        if code.co_name == "__call__":
            handed = [*given[1:2], *(frame.f_locals.get("args") or ())[:1]]
            every = [item for one in handed for item in (one if isinstance(one, (list, tuple)) else [one])]
            layers = [Uncalled(type(item).__name__, _made_at(recorder, item), True) for item in every if isinstance(item, adapter.Layer)]
            classes = [item.__name__ for item in every if isinstance(item, type) and issubclass(item, adapter.Layer)]
            found = next(iter([*layers, *(Uncalled(name, None, True, False) for name in classes)]), found)
    return found


@dataclass(frozen=True)
class KeysTaken:
    """A dict of tensors that was taken apart into its keys: its name, and the names that got a key each."""

    name: str
    keys: tuple[tuple[str, str], ...]


def unpacked(adapter: Framework, error: BaseException) -> KeysTaken | None:
    """The dict of tensors that the user's innermost function takes apart as if it were a tuple: each name gets a key."""
    found = innermost_function(error)
    if found is None:
        return None
    values, scope = values_of(found[0]), found[3]
    for statement in (item for item in ast.walk(scope) if isinstance(item, ast.Assign)):
        target, given = statement.targets[0], values.of(statement.value)
        if not isinstance(target, (ast.Tuple, ast.List)):
            continue
        keys = tuple((ast.unparse(item), values.of(item)) for item in target.elts)
        call = statement.value if isinstance(statement.value, ast.Call) else None
        named = call is not None and len({key for _, key in keys if isinstance(key, str)}) == len(keys) > 1
        if call is not None and named and any(adapter.is_tensor(values.of(item)) for item in call.args):
            return KeysTaken(ast.unparse(statement.value), keys)  # the dict is gone, and its keys are there
        if not isinstance(given, dict) or not all(map(adapter.is_tensor, given.values())):
            continue
        if len(keys) == len(given) and {key for _, key in keys if isinstance(key, str)} == set(given):
            return KeysTaken(ast.unparse(statement.value), keys)
    return None


def states_taken(error: BaseException) -> tuple[int, int] | None:
    """How many states a recurrent cell's ``call`` unpacks, and how many its ``state_size`` says that there are."""
    for frame, place in frames_of(error):
        cell, scope = frame.f_locals.get("self"), scope_of(place)
        if scope is None or not hasattr(type(cell), "call"):
            continue
        sizes, values = attribute(cell, "state_size"), values_of(frame)
        if sizes is None:
            continue
        keeps = len(sizes) if isinstance(sizes, (list, tuple)) else 1
        for statement in (item for item in ast.walk(scope) if isinstance(item, ast.Assign) and item.lineno == place[1]):
            target, given = statement.targets[0], values.of(statement.value)
            if not isinstance(target, (ast.Tuple, ast.List)) or not isinstance(given, (list, tuple)) or len(given) != keeps:
                continue
            if len(target.elts) != keeps and not any(isinstance(item, ast.Starred) for item in target.elts):
                return len(target.elts), keeps
    return None


def listed_again(error: BaseException) -> tuple[str, str, int, Place] | None:
    """The list of states that a function gives to a cell in one more list: the cell's name, the list's, how many states it has, and where."""
    found = innermost_function(error)
    for call in ast.walk(found[3]) if found is not None else ():
        given = [*call.args, *(word.value for word in call.keywords)] if isinstance(call, ast.Call) else []
        for inner in [one.elts[0] for one in given if isinstance(one, (ast.List, ast.Tuple)) and len(one.elts) == 1]:
            assert found is not None and isinstance(call, ast.Call)
            held, cell = values_of(found[0]).of(inner), values_of(found[0]).of(call.func)
            sizes = attribute(cell, "state_size")
            keeps = [*sizes] if isinstance(sizes, (list, tuple)) else [sizes]
            if isinstance(held, (list, tuple)) and len(held) == len(keeps) and isinstance(keeps[0], int):
                return attribute(cell, "name"), ast.unparse(inner), len(keeps), Place(found[0].f_code.co_filename, call.lineno)
    return None


def written(code: CodeType) -> ast.AST | None:
    """The function of a code object in its file's text."""
    return scope_of(Place(code.co_filename, max((line for *_, line in code.co_lines() if line), default=code.co_firstlineno)))


def returned_alone(layer: Any, error: BaseException) -> tuple[str, str, Place] | None:
    """A recurrent cell whose ``call`` returns a tensor where the layer takes an output and the states apart: its class, what it returns, and where."""
    cell = getattr(layer, "cell", None)
    call = getattr(inspect.unwrap(getattr(type(cell), "call", None) or len), "__code__", None)
    if not hasattr(cell, "state_size") or call is None or not is_user_file(call.co_filename) or hear(words(error), HeardNoPair) is None:
        return None
    scope = written(call)
    returned = [item for item in ast.walk(scope) if isinstance(item, ast.Return)] if scope is not None else []
    value = returned[0].value if len(returned) == 1 else None
    if not isinstance(value, (ast.Name, ast.BinOp)):
        return None
    return type(cell).__name__, ast.unparse(value), Place(call.co_filename, returned[0].lineno)


def taped_lines(step: Any) -> list[tuple[int, int]]:
    """The first and last lines of the blocks of a training step that a tape records."""
    code = getattr(inspect.unwrap(step), "__code__", None)
    if code is None or not is_user_file(code.co_filename):
        return []
    scope = written(code)
    blocks = [node for node in ast.walk(scope) if isinstance(node, ast.With)] if scope is not None else []
    return [
        (_counted(code.co_filename, node.lineno), _counted(code.co_filename, node.end_lineno or node.lineno))
        for node in blocks
        if any(syntax.called(item.context_expr) == "GradientTape" for item in node.items)
    ]


def _counted(file: str, line: int) -> int:
    where = location((file, line), text=False)
    return where.line if where is not None else line


def crossed_names(cls: type) -> tuple[str, str, str, tuple[str, int]] | None:
    """Two parameters of a class's ``__init__`` that are kept under each other's name, the class, and the line of the first."""
    for base in cls.__mro__:
        code = getattr(base.__dict__.get("__init__"), "__code__", None)
        if code is None or not is_user_file(code.co_filename):
            continue
        scope = written(code)
        parameters, kept = {*code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]}, {}
        for node in ast.walk(scope) if scope is not None else ():
            target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
            if not isinstance(node, ast.Assign) or not isinstance(target, ast.Attribute) or not isinstance(node.value, ast.Name):
                continue
            if ast.unparse(target.value) == code.co_varnames[0] and {target.attr, node.value.id} <= parameters:
                kept[target.attr] = (node.value.id, node.lineno)
        for name, (given, line) in kept.items():
            if name != given and kept.get(given, ("",))[0] == name:
                return name, given, base.__name__, (code.co_filename, line)
    return None


def first_row(step: Any) -> tuple[str, tuple[str, int]] | None:
    """The batch of a training step, by its name, and the line that reads it by ``[0]``."""
    code = getattr(inspect.unwrap(step), "__code__", None)
    if code is None or not is_user_file(code.co_filename) or not code.co_argcount:
        return None
    name = code.co_varnames[code.co_argcount - 1]
    scope = written(code)
    inside = [*ast.walk(scope)] if scope is not None else []
    tests = [one for node in inside if isinstance(node, (ast.If, ast.IfExp)) for one in ast.walk(node.test)]
    stored = [node for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    asked = any(isinstance(one, ast.Name) and one.id == name for one in (*tests, *stored))
    for node in inside:
        if not asked and isinstance(node, ast.Subscript) and ast.unparse(node) == f"{name}[0]":
            return name, (code.co_filename, node.lineno)
    return None


def paired(error: BaseException) -> bool:
    """Whether a loss was given, for the predictions, a pair of them and of variables."""
    trace = error.__traceback__
    while trace is not None:
        given = trace.tb_frame.f_locals.get("y_pred")
        if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], list):
            return True
        trace = trace.tb_next
    return False


def scanned(error: BaseException | None) -> tuple[tuple[Shape, ...], tuple[str, int]] | None:
    """The shapes of what a loop steps through whose body raised, and the user's line that starts the loop."""
    found, seen = None, set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        line, trace = None, error.__traceback__
        while trace is not None:
            code, held = trace.tb_frame.f_code, trace.tb_frame.f_locals
            # JAX lets go of its argument once it has made a flat list of it.
            flat = [*held.get("xs_flat", ())] if code.co_name == "scan" else []
            xs = _leaves(held["xs"]) if held.get("xs") is not None else flat
            if is_user_file(code.co_filename):
                line = (code.co_filename, trace.tb_lineno)
            elif xs and code.co_name == "scan" and line is not None and all(hasattr(one, "shape") for one in xs):
                found = tuple(tuple(n if isinstance(n, int) else None for n in one.shape) for one in xs), line
            trace = trace.tb_next
        error = error.__cause__ or error.__context__
    return found


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        tree = [tree[key] for key in sorted(tree)]
    return [leaf for part in tree for leaf in _leaves(part)] if isinstance(tree, (list, tuple)) else [tree] if tree is not None else []


def scanned_inside(failed: Call | None) -> tuple[tuple[Shape, ...], tuple[str, int]] | None:
    """The same of a layer that was called again by itself: JAX removes the frames from the error that a builder raises."""
    found = scanned(failed.failure) if failed is not None else None
    if found is None:
        return None
    shapes, line = found
    opened = []
    for shape in shapes:
        stand_ins = filled((None,) * len(shape))
        opened.append(tuple(None if size == other else size for size, other in zip(shape, stand_ins, strict=True)))
    return tuple(opened), line


def scan_axis(error: BaseException) -> int:
    """The axis that ``associative_scan`` was to go along, as the user's innermost line gives it; the first where it gives none."""
    found = innermost_function(error)
    if found is None:
        return 0
    frame, place, _, scope = found
    for call in (one for one in ast.walk(scope) if isinstance(one, ast.Call)):
        if ast.unparse(call.func).rpartition(".")[2] != "associative_scan" or not call.lineno <= place[1] <= (call.end_lineno or 0):
            continue
        given = next((word.value for word in call.keywords if word.arg == "axis"), next(iter(call.args[3:4]), None))
        if given is None:
            return 0
        try:
            axis = ast.literal_eval(given)
        except ValueError:
            axis = values_of(frame).of(given)
        return axis if isinstance(axis, int) else -1
    return 0


_TRACES_ALL = frozenset({"checkpoint", "remat", "jit"})


def traced_argument(adapter: Framework, error: BaseException | None) -> tuple[str, str, int, str, tuple[str, int]] | None:
    """A number or truth value of Python's that a function of JAX's hands on as a tensor, where a line of the function asked for its value.

    The parameter, the function, the argument's place, what hands it on, and the line that calls it.
    """
    frames, trace = [], getattr(error, "__traceback__", None)
    while trace is not None:
        if is_user_file(trace.tb_frame.f_code.co_filename):
            frames.append((trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    if len(frames) < 2:
        return None
    (outer, line), (inner, _) = frames[-2:]
    code, values = inner.f_code, values_of(outer)
    parameters = [name for name in code.co_varnames[: code.co_argcount] if name != "self"]
    scope = scope_of(Place(outer.f_code.co_filename, line))
    for call in (one for one in ast.walk(scope) if isinstance(one, ast.Call)) if scope is not None else ():
        hands = ast.unparse(call.func.func).rpartition(".")[2] if isinstance(call.func, ast.Call) else ""
        if hands not in _TRACES_ALL or not call.lineno <= line <= (call.end_lineno or 0):
            continue
        for place, (name, given) in enumerate(zip(parameters, call.args, strict=False)):
            value = given.value if isinstance(given, ast.Constant) else values.of(given)
            if isinstance(value, (bool, int)) and adapter.is_tensor(inner.f_locals.get(name)):
                return name, code.co_name, place, hands, (outer.f_code.co_filename, line)
    return None


def breaking_layer(adapter: Framework, error: BaseException) -> Who | None:
    """The innermost layer whose code was running when an error was raised."""
    found, trace = None, error.__traceback__
    while trace is not None:
        code, this = trace.tb_frame.f_code, trace.tb_frame.f_locals.get("self")
        trace = trace.tb_next
        if code.co_varnames[:1] == ("self",) and isinstance(this, adapter.Layer) and not isinstance(this, adapter.Model):
            found = Who(str(getattr(this, "name", "") or type(this).__name__), type(this).__name__)
    return found


def _made_at(recorder: Recorder, layer: Any) -> tuple[str, int] | None:
    made = recorder.made.get(id(layer))
    return made.where if made is not None else line_of(layer)


def _tensors(adapter: Framework, value: Any) -> bool:
    items = value if isinstance(value, (list, tuple)) else [value]
    return bool(items) and all(adapter.is_tensor(item) and adapter.is_symbolic(item) for item in items)


def last_call(recorder: Recorder, flow: Flow, ids: dict[int, str], line: Location | None) -> LastCall | None:
    """The last layer that was called on the line that raised."""
    calls = reversed(recorder.calls)
    done = (item for item in calls if item.kind == "layer" and item.done and id(item) in ids)
    call = next((item for item in done if item.parent is None or item.parent.called != item.called), None)
    if call is None or call.called is None or line is None or (str(call.called[0]), call.called[1]) != (line.file, line.line):
        return None
    return LastCall(Who.of(flow.node(ids[id(call)])), tuple(port.spec.shape for port in call.outputs))


def initial_shape(recorder: Recorder | None) -> tuple[str, Shape, Shape, Location | None] | None:
    """A weight of the layer that broke whose initializer returned another shape: its name, the two shapes, and the initializer's line."""
    call = recorder.failed if recorder is not None and recorder.initial else None
    while recorder is not None and call is not None:
        held = {id(one) for one in getattr(call.obj, "variables", ()) or ()}
        for one in recorder.initial:
            # A layer that the trace has built is unbuilt again.
            if one.layer is call.obj or id(one.variable) in held:
                return str(one.variable.name), one.want, one.got, location(one.line)
        call = call.parent
    return None


def on_one_sample(adapter: Framework, call: Call | None) -> tuple[Who, Shape] | None:
    """The layer or model that a mapped function called on one sample, and the sample's shape; the outermost that got it."""
    found = None
    while call is not None:
        tensors = [tensor for _, tensor in adapter.tensors_of(*call.given)] if call.given is not None else []
        mapped = [tensor for tensor in tensors if adapter.backend.is_mapped(tensor)]
        if mapped and call.kind == "layer":
            found = Who(call.name, call.op), adapter.spec(mapped[0]).shape or ()
        call = call.parent
    return found
