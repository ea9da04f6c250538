"""Whose a function is that a layer holds, and what its attributes are."""

from __future__ import annotations

from typing import Any

_OWN = ("keras.", "tf_keras.", "tensorflow.", "builtins", "numpy", "jax.")


def of_the_user(value: Any) -> bool:
    """Whether a layer's attribute is a function, or an object that can be called, of the user's own."""
    if not callable(value) or isinstance(value, type):
        return False
    return written_by_the_user(value if getattr(value, "__module__", None) else type(value))


def written_by_the_user(made: Any) -> bool:
    """Whether a class or function is the program's own, or of a library that is none of the frameworks."""
    return not str(getattr(made, "__module__", None) or "").startswith(_OWN)


def attribute(obj: Any, name: str) -> Any:
    """An attribute of an object of the user's own; ``None`` where it has none, or where reading it raises."""
    try:
        return getattr(obj, name, None)
    except Exception:
        return None
