"""Families of messages: used if no entry matches the message itself.

An entry here states only what the words imply; the sizes are in the message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LOOK = "The message names the expected and the received value; tpushape check shows which layer it comes from."


@dataclass(frozen=True)
class Known:
    """One kind of message. ``means`` and ``todo`` may use the pattern's groups; ``rule`` is the id of a rule, or ``""``.

    ``family``: matches many messages; used only if no specific entry matches.
    """

    rule: str
    pattern: re.Pattern[str]
    means: str
    todo: str
    family: bool = False


def known(rule: str, pattern: str | tuple[str, ...], means: str, todo: str, *, family: bool = False) -> Known:
    """An entry of the catalog; several patterns are alternatives."""
    whole = pattern if isinstance(pattern, str) else "|".join(pattern)
    return Known(rule, re.compile(whole, re.DOTALL), means, todo, family)


FAMILIES: tuple[Known, ...] = (
    known(
        "", r"(?:OOM when allocating|[Oo]ut of memory|RESOURCE_EXHAUSTED|ResourceExhausted|[Ff]ailed to allocate|not enough memory|memory (?:limit|usage|requirement)s? exceed)",
        "A device has no memory left for a tensor, or the program needs more than the device has.",
        "Try a smaller batch first, then smaller inputs, mixed precision, or a larger device.",
        family=True,
    ),
    known(
        "", r"(?:divisible|a multiple of|evenly (?:divide|split)|must divide|does not divide|divide (?:evenly|into))",
        "A size does not divide into equal parts.",
        "Change the size or the number of parts: a batch and its devices, channels and groups, or features and attention heads.",
        family=True,
    ),
    known(
        "", r"(?:[Bb]roadcast)",
        "The shapes of two tensors cannot be broadcast together.",
        "Shapes are aligned from the right; sizes must be equal or 1.",
        family=True,
    ),
    known(
        "", (
            r"\b(?:rank|ndims?|n-?dim(?:ensional)?|[1-9N]-?D)\b",
            r"(?:number of (?:dimensions|axes)|\bdimensional\b|\d dimensions)",
        ),
        "A tensor has the wrong rank.",
        f"Add or remove an axis: expand_dims, Reshape, Flatten or pooling. {_LOOK}",
        family=True,
    ),
    known(
        "", r"\b(?:ax[ei]s|dims?)\b",
        "The tensor does not have the axis, or the axis has the wrong size.",
        f"Axis 0 is the batch; axis -1 is the last. {_LOOK}",
        family=True,
    ),
    known(
        "", r"\b(?:[dD][- ]?types?|data[- ]type|DataType|DType|float(?:16|32|64)?|integers?|int(?:8|32|64)?|bool(?:ean)?|complex(?:64|128)?|numeric|precision|casts?|casting)\b",
        "A tensor has the wrong dtype.",
        "Cast it first: tf.cast, keras.ops.cast or astype. Ids and labels are integers; most layers compute with floats.",
        family=True,
    ),
    known(
        "", r"(?:[Ss]ame|matching|match|compatible|consistent|equal|agree).{0,40}(?:shapes?|sizes?|lengths?|dimensions?)"
        r"|(?:shapes?|sizes?|lengths?|dimensions?).{0,60}(?:same|match|incompatible|compatible|equal|agree|differ)",
        "Shapes that must match are different.",
        f"Change one of them where it is created. {_LOOK}",
        family=True,
    ),
    known(
        "", r"(?:[Uu]nknown|undefined|not (?:fully )?(?:defined|known|specified)|static(?:ally)?|dynamic|None|fully[- ]defined).{0,60}(?:shapes?|dimensions?|sizes?)"
        r"|(?:shapes?|dimensions?|sizes?).{0,80}(?:unknown|undefined|defined|static|dynamic|None)",
        "A required size is unknown.",
        "Declare it in Input (or with output_signature or ensure_shape), or use code that works for any size: -1 in a reshape, or global pooling.",
        family=True,
    ),
    known(
        "", r"(?:[Ss]hapes?\b|\bdimensions?\b|_shape\b|_size\b|\bsizes?\b|\blengths?\b|channels?\b)",
        "A shape or a size is wrong.",
        _LOOK,
        family=True,
    ),
)  # fmt: skip
