"""What runs inside ``cond``, ``while`` and ``scan``: the operations that the user's functions made, as the inside of one closed operation.

They are read off the program when it is complete, so nothing of it runs again. A view shows the operation closed until somebody opens it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .frames_jax import function_between, named
from .locations import Place, is_ours, is_user_file
from .recorder import Call, Port, Recorder

# An operation of more equations than this stays closed.
_MOST = 400
# The programs of each operation, and what each is called; "" where there is only one.
_BODIES = {"cond": (("branches", "branch"),), "while": (("cond_jaxpr", "condition"), ("body_jaxpr", "body")), "scan": (("jaxpr", ""),)}
# A function that is a layer's call.
_LAYER = "layer"


def opens(name: str) -> bool:
    """Whether a primitive has an inside."""
    return name in _BODIES


def draws(name: str, params: dict[str, Any]) -> bool:
    """Whether an equation draws random numbers, or a compiled function that does."""
    program = params.get("jaxpr") if name in ("jit", "pjit") else None
    if program is None:
        return name in ("random_bits", "random_gamma")
    return any(draws(str(one.primitive.name), one.params) for one in getattr(program, "jaxpr", program).eqns)


def inside(recorder: Recorder, framework: Any, call: Call, name: str, params: dict[str, Any]) -> None:
    """Adds the operations inside of ``call``, where the user wrote any of them."""
    bodies = list(_bodies(name, params))
    size = sum(len(program.eqns) for _, program in bodies)
    if size > _MOST or not any(_made(equation)[1] for _, program in bodies for equation in program.eqns):
        return
    for title, program in bodies:
        parent = _new(recorder, framework, call, title, title) if title else call
        _body(recorder, framework, parent, program)


def _bodies(name: str, params: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, title in _BODIES.get(name, ()):
        found = params.get(key) or ()
        several = isinstance(found, (list, tuple))
        for index, one in enumerate(found if several else [found]):
            yield f"{title}_{index}" if several else title, getattr(one, "jaxpr", one)


def _body(recorder: Recorder, framework: Any, parent: Call, program: Any) -> None:
    makers: dict[int, Call] = {}
    last: tuple[str, Place | None] | None = None
    call: Call | None = None
    for equation in program.eqns:
        function, place = made = _made(equation)
        name = str(equation.primitive.name)
        if call is None or place is None or made != last:
            call, last = _layer(recorder, parent, place) if function == _LAYER else None, made
        if call is None:
            op = named(function or str(equation.params.get("name") or name))
            call = _new(recorder, framework, parent, op, op)
            call.called = place
        known = {port.key for port in call.inputs}
        for operand in equation.invars:
            maker = makers.get(id(operand))
            if maker is not None and maker is not call and id(operand) not in known:
                call.inputs.append(Port(framework.backend.spec(operand.aval), maker, "", id(operand)))
        call.outputs = [Port(framework.backend.spec(one.aval), call, "", id(one)) for one in equation.outvars]
        makers.update((id(one), call) for one in equation.outvars)
        if opens(name):
            inside(recorder, framework, call, name, equation.params)


def _layer(recorder: Recorder, parent: Call, place: Place | None) -> Call | None:
    """The call of a built-in layer in the user's function, which was recorded when it ran: it moves to where it belongs."""
    around = parent
    while around.kind == "op" and around.parent is not None:
        around = around.parent
    for call in recorder.calls:
        if call.kind == "layer" and call.parent in (around, around.parent) and call.called == place and call.opaque and call is not around:
            recorder.calls.remove(call)
            recorder.calls.append(call)
            call.parent = parent
            parent.children += 1
            return call
    return None


def _new(recorder: Recorder, framework: Any, parent: Call, op: str, name: str) -> Call:
    call = Call(len(recorder.calls), "op", name, op, None, parent, True, framework=framework.name)
    call.done = True
    parent.children += 1
    recorder.calls.append(call)
    return call


def _made(equation: Any) -> tuple[str, Place | None]:
    """The library's function that the user's innermost line called for an equation, and that line."""
    names, place = called_at(equation)
    inner = place is not None and any(is_ours(filename) for _, filename in names)
    return (_LAYER if inner else function_between(names), place) if place is not None else ("", None)


def called_at(equation: Any) -> tuple[list[tuple[str, str]], Place | None]:
    """The functions that led from the user's innermost line to an equation, inner ones first, with their files, and that line."""
    traceback = getattr(equation.source_info, "traceback", None)
    names: list[tuple[str, str]] = []
    for frame in getattr(traceback, "frames", ()):
        if is_user_file(frame.file_name):
            return names, Place(frame.file_name, frame.line_num)
        names.append((frame.function_name.rsplit(".", 1)[-1], frame.file_name))
    return names, None
