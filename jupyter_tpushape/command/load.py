"""From what is typed to objects: ``file.py:name``, saved models, specs."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

from ..flow import Spec
from .usage import UsageError

SAVED = (".keras", ".h5", ".hdf5")
_SPEC = re.compile(r"\s*(?:(?P<name>[A-Za-z_][\w./-]*)=)?(?P<shape>[\d?,\sNone()]*?)\s*:\s*(?P<dtype>[a-z]+\d*)\s*")
DTYPES = (
    "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "string",
)  # fmt: skip


def is_saved(place: str) -> bool:
    """Whether this names a saved model and not a file of Python."""
    path = Path(place)
    return path.suffix.lower() in SAVED or (path.is_dir() and (path / "saved_model.pb").is_file())


def load(place: str) -> Any:
    """The object that ``file.py:name`` names; the file is executed."""
    path, _, name = place.rpartition(":")
    if not path or not name:
        raise UsageError(f"{place} names no object: type file.py:name, such as train.py:make_model.")
    file = Path(path)
    if not file.is_file():
        raise UsageError(f"There is no file {path}: type the path of a Python file, then a colon and a name in it.")
    module = _module(file)
    if not hasattr(module, name):
        public = [
            key
            for key, value in vars(module).items()
            if not key.startswith("_") and callable(value) and getattr(value, "__module__", None) == module.__name__
        ]
        raise UsageError(f"{file.name} has no {name}; it has {', '.join(public[:8]) or 'no functions'}.")
    return getattr(module, name)


def _module(file: Path) -> Any:
    name = f"tpushape_checked_{file.stem}"
    if name in sys.modules and getattr(sys.modules[name], "__file__", "") == str(file):
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise UsageError(f"{file.name} raises when it is run ({type(error).__name__}: {error}): mend that first.") from error
    return module


def saved_model(place: str) -> Any:
    """A model from a file or folder. Keras' safe mode stays on: code that a file carries is not run.

    Raises:
        UsageError: where the file cannot be read without running its code, or not at all.
    """
    path = Path(place)
    if not path.exists():
        raise UsageError(f"There is no {place}: type the path of a .keras or .h5 file, or of a SavedModel's folder.")
    if path.is_dir():
        import keras

        try:
            return keras.Sequential([keras.layers.TFSMLayer(str(path), call_endpoint="serving_default")])
        except Exception as error:
            raise UsageError(f"{place} is no SavedModel that serves under serving_default ({_first(error)}).") from error
    package = "tf_keras" if _written_by(path).startswith(("1.", "2.")) else "keras"
    try:
        framework = importlib.import_module(package)
    except ImportError:
        raise UsageError(f"{place} was written by {package}, which is not here: type pip install {package}.") from None
    try:
        return _read(framework, path)
    except Exception as error:
        said = _first(error)
    if any(word in said.lower() for word in ("safe_mode", "unsafe", "lambda")):
        raise UsageError(
            f"{place} carries code of its own (a Lambda layer), which is not run: make the model in a file of Python, and type tpushape check file.py:function."
        )
    raise UsageError(
        f"{package} cannot load {place} ({said}). A model with classes of your own is checked from its code: tpushape check file.py:function."
    )


def _read(framework: Any, path: Path) -> Any:
    """The model as it was compiled, or else without that: a loss by a short name is not always found again."""
    try:
        return framework.models.load_model(path, compile=True, safe_mode=True)
    except Exception:
        model = framework.models.load_model(path, compile=False, safe_mode=True)
    print(
        f"tpushape: What {path.name} was compiled with cannot be read, so no loss is looked at: type --loss with its name.", file=sys.stderr
    )
    return model


def _written_by(path: Path) -> str:
    """The version of the Keras that wrote a file, or ``""``."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                return str(json.loads(archive.read("metadata.json")).get("keras_version", ""))
        import h5py

        with h5py.File(path, "r") as file:
            version = file.attrs.get("keras_version", "")
            return version.decode() if isinstance(version, bytes) else str(version)
    except (OSError, KeyError, ValueError, ImportError):
        return ""


def _first(error: BaseException) -> str:
    said = next((line.strip() for line in str(error).splitlines() if line.strip()), "") or type(error).__name__
    return said if len(said) <= 200 else said[:199] + "…"


def input_spec(texts: list[str]) -> Any:
    """Specs from ``"32,224,224,3:float32"``; ``name=...`` for inputs by name, ``?`` for an unknown axis.

    Raises:
        UsageError: where one cannot be read.
    """
    found: list[tuple[str, Any]] = []
    for text in texts:
        match = _SPEC.fullmatch(text)
        if match is None or match["dtype"] not in DTYPES:
            raise UsageError(
                f'{text!r} is no spec: type the axes, a colon and a dtype, such as "32,224,224,3:float32" (the first axis is the batch).'
            )
        tokens = [part.strip() for part in match["shape"].strip("() ").split(",") if part.strip()]
        if any(token not in ("?", "None") and not token.isdigit() for token in tokens) or not tokens:
            raise UsageError(f'{text!r} has an axis that is no number: type "32,224,224,3:float32", with ? for an axis that is not known.')
        axes = [None if token in ("?", "None") else int(token) for token in tokens]
        found.append((match["name"] or "", Spec(tuple(axes), match["dtype"])))
    if not found:
        return None
    if all(name for name, _ in found):
        return dict(found)
    if any(name for name, _ in found):
        raise UsageError("Name all inputs or none: --input-spec a=32,8:float32 --input-spec b=32,4:float32.")
    return found[0][1] if len(found) == 1 else [spec for _, spec in found]
