"""What is lowered: the plan of a program, and the program with its parameters."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from ..trace.ran import Leaf
from .hlo import Read, of_proto, of_text

if TYPE_CHECKING:
    from .lowering_jax import NamedScopes
    from .scopes import Found, Scopes


@dataclass(frozen=True)
class Parameter:
    """What a parameter of the program is: a tensor of the ``data``, or a variable. ``node`` is ``""`` where no layer owns it."""

    name: str
    node: str
    shape: tuple[int, ...]
    data: bool = False


@dataclass
class Lowered:
    """A program by its plan's label (``forward``, ``predict``, ``train``): its bytes, or ``error`` where it was refused.

    ``form``: ``hlo``, or portable ``stablehlo`` with XLA's ``text`` of it. ``partitions``: devices that one program is cut for; then shapes of
    parameters are shares. ``replicas``: how many run it and sum with one another in it. ``apart``: a step of several replicas without their sums.
    """

    program: str
    hlo: bytes = b""
    form: str = "hlo"
    partitions: int = 1
    replicas: int = 1
    apart: bool = False
    shardy: bool = False
    text: str = ""
    parameters: list[Parameter] = field(default_factory=list)
    error: BaseException | None = None
    graph: Any = None
    scopes: Scopes | NamedScopes | Found | None = None

    @cached_property
    def read(self) -> Read:
        """Its key, and the names of its operations."""
        return of_proto(self.hlo) if self.form == "hlo" and self.hlo else of_text(self.text)


@dataclass(frozen=True)
class Plan:
    """A program that can be lowered: its name, the arguments of its function, and the leaves of the data in them.

    ``rows``: whether it is of a ``full`` batch, of the ``last`` one, or leaves sizes open: that of the batch (``open``), or of other ``axes``.
    ``sizes`` are those: each comes in as one more argument, and is that of the axes it lists, as ``(place of the leaf, axis)``. The shapes of
    ``leaves`` are the largest that there can be.
    """

    name: str
    arguments: tuple[Any, ...]
    leaves: list[Leaf]
    rows: Literal["full", "last", "open", "axes"] = "full"
    sizes: tuple[tuple[tuple[int, int], ...], ...] = ()

    @property
    def label(self) -> str:
        """``train``, or ``train-last``, ``train-open``, ``train-axes``."""
        return self.name if self.rows == "full" else f"{self.name}-{self.rows}"


class CannotLower(Exception):
    """There is no program to lower; the message is one line that says why."""


def variables(model: Any) -> list[Any]:
    try:
        return list(getattr(model, "variables", None) or getattr(model, "weights", None) or ())
    except ValueError:  # tf_keras, before a model is built
        return []


def raw(variable: Any) -> Any:
    """TensorFlow's variable inside Keras 3's."""
    inner = getattr(variable, "_value", None)
    return inner if inner is not None and hasattr(inner, "handle") else variable


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings that frameworks give while they trace."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
