"""A call that its function's signature refuses: what is missing, given twice, or not known to it."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import msgspec

from .raised import innermost, values_of


class Refused(msgspec.Struct, frozen=True):
    """A call whose arguments do not fit.

    Attributes:
        function: as it is written. missing: parameters without a default that got nothing. doubled: one that got two values.
        unknown: a name that is no parameter. many: how many more arguments came than it takes by their place.
        made: the class, where an instance was to be made of it.
    """

    function: str
    missing: tuple[str, ...] = ()
    doubled: str = ""
    unknown: str = ""
    many: int = 0
    made: type | None = None


def refused_call(error: BaseException) -> Refused | None:
    """Why the call at the user's own line that raised a ``TypeError`` does not fit; ``None`` where it does, or where that is not to be seen."""
    found = innermost(error) if isinstance(error, TypeError) else None
    if found is None:
        return None
    frame, _, text = found
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if (
        not isinstance(call, ast.Call)
        or any(isinstance(item, ast.Starred) for item in call.args)
        or any(w.arg is None for w in call.keywords)
    ):
        return None
    function = values_of(frame).function(call.func)
    try:
        parameters = list(inspect.signature(function).parameters.values()) if callable(function) else []
    except (TypeError, ValueError):
        return None
    return _fitted(ast.unparse(call.func), function, parameters, len(call.args), [word.arg or "" for word in call.keywords])


def _fitted(name: str, function: Any, parameters: list[inspect.Parameter], placed: int, words: list[str]) -> Refused | None:
    kinds = inspect.Parameter
    places = [one.name for one in parameters if one.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    named = {one.name for one in parameters if one.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)}
    more = {one.kind for one in parameters} & {kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD}
    filled = {*places[:placed], *words}
    missing = tuple(
        one.name
        for one in parameters
        if one.default is kinds.empty and one.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD) and one.name not in filled
    )
    doubled = next((word for word in words if word in places[:placed]), "")
    unknown = next((word for word in words if word not in named and kinds.VAR_KEYWORD not in more), "")
    many = max(0, placed - len(places)) if kinds.VAR_POSITIONAL not in more else 0
    if not parameters or not (missing or doubled or unknown or many):
        return None
    return Refused(name, missing, doubled, unknown, many, function if isinstance(function, type) else None)
