"""Keys of random numbers: one from which a line of the program draws the same numbers a second time."""

from __future__ import annotations

from types import FrameType
from typing import Any

from .inside_jax import draws
from .locations import Place, is_user_file

# Equations that give a key another form.
_FORMS = frozenset({"random_wrap", "random_unwrap", "convert_element_type", "copy"})


class Keys:
    """What was drawn from each key. It holds what it knows by identity, until a trace ends."""

    def __init__(self) -> None:
        self._roots: dict[int, Any] = {}
        self._drawn: dict[tuple[Any, ...], tuple[Place, Any]] = {}
        self._held: list[Any] = []

    def note(self, name: str, params: dict[str, Any], operands: list[Any], results: list[Any], caller: FrameType | None) -> Any:
        """The shape, and the lines of both draws, where this equation draws what one before it drew.

        Args:
            operands, results: tensors. caller: the program's function that runs; the same draw in another function may well be meant.
        """
        if not operands or not results:
            return None
        root = self._roots.get(id(operands[0]), operands[0])
        if name in _FORMS:
            self._roots[id(results[0])] = root
            self._held.append(results[0])
            return None
        if caller is None or not is_user_file(caller.f_code.co_filename) or not draws(name, params):
            return None
        key = (id(root), id(caller), str(params.get("name") or name), tuple(results[0].shape), str(results[0].dtype))
        place = Place(caller.f_code.co_filename, caller.f_lineno)
        self._held += [root, caller]
        if key in self._drawn and self._drawn[key][1] == caller.f_lasti:
            return None  # one call that makes several equations
        before, _ = self._drawn.setdefault(key, (place, caller.f_lasti))
        return (tuple(results[0].shape), before, place) if self._drawn[key][1] != caller.f_lasti else None

    def clear(self) -> None:
        """Lets go of everything."""
        self._roots.clear()
        self._drawn.clear()
        self._held.clear()
