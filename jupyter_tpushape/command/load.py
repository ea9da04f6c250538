"""From command-line arguments to objects: ``file.py:name``, saved models, specs."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..flow import Spec
from ..flow.syntax import DTYPES
from ..trace.arrivals import hooked
from ..trace.caught import Caught
from ..trace.locations import location
from .early import UsageError, check_saved
from .out import said
from .quiet import import_backend

if TYPE_CHECKING:
    from ..trace.aftermath import Attempt

_SPEC = re.compile(r"(?:(?P<name>[A-Za-z_][\w./-]*)=)?(?P<shape>[\d?,\sNone()]*):\s*(?P<dtype>[a-z]+\d*)")
# TensorFlow stores sizes and numbers of elements in 64 bits.
MOST_AXIS = 2**53


def load(place: str) -> Any:
    """The object that ``file.py:name`` names; executes the file."""
    path, _, name = place.rpartition(":")
    if not path or not name:
        raise UsageError(f"{place} does not name an object: use file.py:name, such as train.py:make_model.")
    file = Path(path)
    if not os.path.isfile(file):  # noqa: PTH113
        raise UsageError(f"{path} does not exist: use the path of a Python file, then a colon and a name in it.")
    module = _module(file)
    attempt = _ATTEMPTS.get(module.__name__)
    try:
        return getattr(module, name)
    except AttributeError:
        if attempt is not None:
            raise UsageError(
                f"{file.name} does not define {name} before its first training call, at {location(attempt.where)}: tpushape executes a file up to that call."
            ) from None
        public = [
            key for key, value in vars(module).items() if not key.startswith("_") and callable(value) and getattr(value, "__module__", None) == module.__name__
        ]
        raise UsageError(f"{file.name} does not define {name}; it defines {', '.join(public[:8]) or 'no functions'}.") from None
    except Exception as error:
        raise UsageError(f"{file.name} raises an error when {name} is read ({type(error).__name__}: {error}): fix that first.") from None


def said_at(error: BaseException) -> str:
    """Where it was raised, and its first words, for a sentence."""
    from ..examine import error_line
    from ..flow.text import in_short
    from ..trace.assemble import clean_message

    where = error_line(error)
    return f"{f', at {where}' if where else ''} ({type(error).__name__}: {in_short(clean_message(error))})"


def _module(file: Path) -> Any:
    name = f"tpushape_checked_{file.stem}"
    if name in sys.modules and getattr(sys.modules[name], "__file__", "") == os.path.abspath(file):  # noqa: PTH100
        return sys.modules[name]
    module, run = _begun(file, name)
    try:
        run()
    except BaseException as error:
        sys.modules.pop(name, None)
        if isinstance(error, KeyboardInterrupt):
            raise
        raise UsageError(f"{file.name} raises an error when it is executed{said_at(error)}: fix that first.") from error
    return module


def script(file: Path) -> Attempt | BaseException:
    """Executes a file as ``python file.py`` does, up to its first training call: the call, or what the program raised before it.

    Raises:
        UsageError: the file ends without either.
    """
    name = f"tpushape_script_{file.stem}"
    module, run = _begun(file, name)
    module.__name__, sys.argv = "__main__", [str(file)]
    try:
        run()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return error
    if name not in _ATTEMPTS:
        raise UsageError(f"{file.name} ends without a training call: name its model, such as {file.name}:make_model.")
    return _ATTEMPTS[name]


def trained(model: Any) -> Attempt | None:
    """The training call of a model that a file's execution ended at."""
    return next((one for one in _ATTEMPTS.values() if one.model is model), None)


# The training call that the execution of a module ended at.
_ATTEMPTS: dict[str, Attempt] = {}


def _begun(file: Path, name: str) -> tuple[Any, Callable[[], None]]:
    """The module of a file under a name, and what executes it up to its first training call."""
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.origin is None:
        raise UsageError(f"{file} is not a Python file.")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.parent))
    origin = spec.origin

    def run() -> None:
        caught: list[Attempt] = []
        with hooked(caught), contextlib.suppress(Caught):
            exec(compile(file.read_bytes(), origin, "exec"), vars(module))
        if caught:
            _ATTEMPTS[name] = caught[0]
        # TensorFlow ends a process that has no descriptor left.
        os.close(os.open(os.devnull, os.O_RDONLY))

    return module, run


def saved_model(place: str, *, compiled: bool = True, batched: bool = True) -> Any:
    """A function that builds the model of a file or folder. The file is read as data, and no code in it runs.

    ``compiled``: whether to compile it as the file says. ``batched``: whether the batch size is known from elsewhere.

    Raises:
        UsageError: if the file cannot be read, or contains code that is not part of Keras.
    """
    from ..saved import Broken, Impossible, Refused, Unreadable, builder, read

    path = Path(place)
    check_saved(place)
    try:
        held = read(path)
        if held.signatures and not batched:
            raise UsageError('A SavedModel does not include a batch size: add --input-spec "32,224,224,3:float32" with the shape of its input.')
        import_backend()
        return builder(held, compiled=compiled, said=said)
    except Unreadable as error:
        raise UsageError(str(error)) from None
    except Impossible as error:
        raise UsageError(f"{place} describes what no model has ({error}), so tpushape does not build it: save the model again.") from None
    except Refused as error:
        raise UsageError(
            f"{place} contains code ({error}), which tpushape does not run: build the model in a Python file, and run tpushape check file.py:function."
        ) from None
    except Broken as error:
        raise UsageError(f"{place} {error}. To check a model with custom classes, use its code: tpushape check file.py:function.") from None


def input_spec(texts: list[str]) -> Any:
    """Specs from ``"32,224,224,3:float32"``; ``name=...`` for inputs by name, ``?`` for an unknown axis.

    Raises:
        UsageError: if one is not valid.
    """
    found: list[tuple[str, Any]] = []
    for text in texts:
        match = _SPEC.fullmatch(text.strip())
        if match is None or match["dtype"] not in DTYPES:
            raise UsageError(f'{text!r} is not a valid spec: use the sizes, a colon and a dtype, such as "32,224,224,3:float32" (axis 0 is the batch).')
        tokens = [part.strip() for part in match["shape"].strip("() ").split(",") if part.strip()]
        if any(token not in ("?", "None") and not token.isdigit() for token in tokens) or not tokens:
            raise UsageError(f'{text!r} has an axis that is not a number: use "32,224,224,3:float32", with ? for an unknown axis.')
        if any(token.isdigit() and not 0 < int(token[:20]) <= MOST_AXIS for token in tokens):
            raise UsageError(f"{text[:80]!r} has an axis size out of range: use 1 to {MOST_AXIS:,}, or ?.")
        if match["name"] and match["name"] in dict(found):
            raise UsageError(f"There are two specs for {match['name']}: use --input-spec {match['name']}=32,8:float32 once.")
        axes = [None if token in ("?", "None") else int(token) for token in tokens]
        found.append((match["name"] or "", Spec(tuple(axes), match["dtype"])))
    if not found:
        return None
    if all(name for name, _ in found):
        return dict(found)
    if any(name for name, _ in found):
        raise UsageError("Either all inputs or none need a name: --input-spec a=32,8:float32 --input-spec b=32,4:float32.")
    return found[0][1] if len(found) == 1 else [spec for _, spec in found]
