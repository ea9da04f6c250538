"""Scores that a mask hides from a softmax: which comparison the mask is, and whether it hides where it is true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# What leaves each value as it is.
_KEEPS = frozenset({"convert_element_type", "broadcast_in_dim", "reshape", "squeeze", "transpose", "copy", "stop_gradient", "expand_dims"})
_AFFINE: dict[str, Callable[[Any, Any], Any]] = {"mul": np.multiply, "add": np.add, "sub": np.subtract}
_ALIKE = {"multiply": "mul", "subtract": "sub", "equal": "eq", "not_equal": "ne"}
# Less than this, added to a score, leaves it no weight.
_HIDDEN = -1e3


class Hidden:
    """The masks of a trace: of each tensor, by identity, the comparison it comes from, and what it is where that is false and true."""

    def __init__(self) -> None:
        self._masks: dict[int, tuple[Any, Any, float, float]] = {}
        # Scores: the tensor, the comparison, and whether it hides where it is true.
        self._scores: dict[int, tuple[Any, Any, bool]] = {}

    def note(self, name: str, params: dict[str, Any], operands: list[Any], made: Any, known: Callable[[Any], Any], call: Any) -> None:
        """One equation whose operands are tensors and numbers, and the operation of the program's that it is part of."""
        name = str(params.get("name") or name) if name in ("jit", "pjit") else name
        name = _ALIKE.get(name, name)
        masks = [self._masks.get(id(one)) for one in operands]
        scores = [one for operand in operands if (one := self._scores.get(id(operand))) is not None]
        at = next((i for i, one in enumerate(masks) if one is not None), None)
        mask = masks[at] if at is not None else None
        if name not in ("eq", "ne") and mask is None and not scores:
            return
        numbers = [_number(known(one)) for one in operands]
        if name in ("eq", "ne") and len(operands) == 2 and None in numbers and numbers != [None, None]:
            self._masks[id(made)] = (made, (call, name), 0.0, 1.0)
        elif scores and (len(operands) == 1 or name in _KEEPS):
            self._scores[id(made)] = (made, *scores[0][1:])
        elif mask is None or at is None:
            return
        elif name in _KEEPS and len(operands) == 1:
            self._masks[id(made)] = (made, *mask[1:])
        elif name == "not":
            self._masks[id(made)] = (made, mask[1], 1 - mask[2], 1 - mask[3])
        elif name in _AFFINE and len(operands) == 2:
            number = numbers[1 - at]
            if number is not None:
                pairs = [(value, number) if at == 0 else (number, value) for value in mask[2:]]
                self._masks[id(made)] = (made, mask[1], *(float(_AFFINE[name](*pair)) for pair in pairs))
            elif name in ("add", "sub") and masks[1 - at] is None and not (name == "sub" and at == 0):
                sign = -1 if name == "sub" else 1
                self._score(made, mask[1], sign * mask[2], sign * mask[3])
        elif name in ("select_n", "where", "_where") and len(operands) == 3 and at == 0 and {*mask[2:]} == {0.0, 1.0}:
            no, yes = [one or 0.0 for one in (numbers[1:] if name == "select_n" else numbers[:0:-1])]
            self._score(made, mask[1], *(yes if value else no for value in mask[2:]))

    def _score(self, made: Any, comparison: Any, false: float, true: float) -> None:
        if (false < _HIDDEN) != (true < _HIDDEN):
            self._scores[id(made)] = (made, comparison, true < _HIDDEN)

    def read(self, tensors: list[Any]) -> tuple[Any, str, bool] | None:
        """The comparison that hides some of what a softmax reads: its operation, ``eq`` or ``ne``, and whether it hides where it is true."""
        found = next((one for tensor in tensors if (one := self._scores.get(id(tensor))) is not None), None)
        return (*found[1], found[2]) if found is not None else None

    def clear(self) -> None:
        """Lets go of everything."""
        self._masks.clear()
        self._scores.clear()


def _number(value: Any) -> float | None:
    if value is None or not 0 < np.size(value) <= 1 << 20:
        return None
    first = np.asarray(value).reshape(-1)
    return float(first[0]) if first.dtype.kind in "biuf" and bool((first == first[0]).all()) else None
