"""Families of messages: what many have in common, where no entry knows the message itself.

An entry here says only what the words bear out; the sizes stand in the message.
"""

from __future__ import annotations

from .known import Known, known

_LOOK = "The message names what was wanted and what came; tpushape check shows which layer gave it."

FAMILIES: tuple[Known, ...] = (
    known(
        "", r"(?:OOM when allocating|[Oo]ut of memory|RESOURCE_EXHAUSTED|ResourceExhausted|[Ff]ailed to allocate|not enough memory|memory (?:limit|usage|requirement)s? exceed)",
        "A device has no room left for a tensor, or the program needs more than it has.",
        "A smaller batch is the first thing to try; then smaller inputs, mixed precision, or a larger device.",
        family=True,
    ),
    known(
        "", r"(?:divisible|a multiple of|evenly (?:divide|split)|must divide|does not divide|divide (?:evenly|into))",
        "A size is to be divided into equal parts and leaves a rest.",
        "Change the size or the number of parts: a batch and its devices, channels and groups, a width and its heads.",
        family=True,
    ),
    known(
        "", r"(?:[Bb]roadcast)",
        "Tensors are combined that have sizes which do not go together.",
        "Counted from the right, two axes must be equal or one of them 1.",
        family=True,
    ),
    known(
        "", (
            r"\b(?:rank|ndims?|n-?dim(?:ensional)?|[1-9N]-?D)\b",
            r"(?:number of (?:dimensions|axes)|\bdimensional\b|\d dimensions)",
        ),
        "A tensor has another number of axes than is wanted there.",
        f"Add or take an axis: expand_dims, Reshape, Flatten or a pooling. {_LOOK}",
        family=True,
    ),
    known(
        "", r"\b(?:ax[ei]s|dims?)\b",
        "An axis is named that the tensor does not have, or one whose size is not what is wanted.",
        f"Axes are counted from 0, the batch first; -1 is the last. {_LOOK}",
        family=True,
    ),
    known(
        "", r"\b(?:[dD][- ]?types?|data[- ]type|DataType|DType|float(?:16|32|64)?|integers?|int(?:8|32|64)?|bool(?:ean)?|complex(?:64|128)?|numeric|precision|casts?|casting)\b",
        "A tensor has another type of numbers than is wanted there.",
        "Cast it before: tf.cast, keras.ops.cast or astype; ids and labels are whole numbers, what layers compute with is floating point.",
        family=True,
    ),
    known(
        "", r"(?:[Ss]ame|matching|match|compatible|consistent|equal|agree).{0,40}(?:shapes?|sizes?|lengths?|dimensions?)"
        r"|(?:shapes?|sizes?|lengths?|dimensions?).{0,60}(?:same|match|incompatible|compatible|equal|agree|differ)",
        "Shapes that must agree do not.",
        f"Make them alike where they come from. {_LOOK}",
        family=True,
    ),
    known(
        "", r"(?:[Uu]nknown|undefined|not (?:fully )?(?:defined|known|specified)|static(?:ally)?|dynamic|None|fully[- ]defined).{0,60}(?:shapes?|dimensions?|sizes?)"
        r"|(?:shapes?|dimensions?|sizes?).{0,80}(?:unknown|undefined|defined|static|dynamic|None)",
        "A size is not known where it is needed.",
        "Declare it in Input (or in output_signature, ensure_shape), or use what works for any size: -1 in a reshape, a global pooling.",
        family=True,
    ),
    known(
        "", r"(?:[Ss]hapes?\b|\bdimensions?\b|_shape\b|_size\b|\bsizes?\b|\blengths?\b|channels?\b)",
        "A shape or a size is not what is wanted there.",
        _LOOK,
        family=True,
    ),
)  # fmt: skip
