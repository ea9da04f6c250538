"""Which built-in layers compile for a TPU: every layer of both Kerases, forward and gradient, put to the TPU compiler one by one.

``python scripts/tpu_layers.py [--only NAME ...]`` writes ``jupyter_tpushape/graph/tpu_layers.json`` (``make tpu-layers``). A layer stands there
as compiled only where this very run saw it compile; one that could not be made from default arguments, or that a compiler refused, is listed
with what was said. Needs the TPU compiler (``make compiler``); half an hour on two cores.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import itertools
import json
import os
import pickle
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "jupyter_tpushape" / "graph" / "tpu_layers.json"
ROWS = 4
SHAPES = ((8, 8, 3), (6, 4), (6,), (4, 8, 8, 2), (2, 6, 8, 8, 2), ())
# What a constructor is given where it asks, by the parameter's name.
ASKED: dict[str, Any] = {
    "units": 3, "filters": 4, "kernel_size": 3, "pool_size": 2, "rate": 0.5, "stddev": 0.1, "size": 2, "target_shape": (-1,), "dims": (2, 1),
    "n": 3, "axes": -1, "input_dim": 10, "output_dim": 3, "num_heads": 2, "key_dim": 2, "head_dim": 2, "num_query_heads": 2,
    "num_key_value_heads": 1, "factor": 0.2, "height": 4, "width": 4, "num_bins": 8, "num_tokens": 4, "max_tokens": 5, "theta": 0.5, "padding": 1,
    "cropping": 1, "scale": 2.0, "activation": "relu", "bin_boundaries": (0.0, 1.0), "value_range": (0, 1), "height_factor": 0.2, "width_factor": 0.2,
    "equation": "ab,bc->ac", "output_shape": 3, "l1": 0.1, "num_outputs": 3, "sequence_length": 3, "num_classes": 4, "target_size": 4,
    "bounding_box_format": "xyxy", "projection_dim": 4, "output_size": 2, "max_number": 4, "init_values": 0.1, "drop_path_rate": 0.1,
}  # fmt: skip
# Where defaults do not go with the shapes above.
GIVEN: dict[str, dict[str, Any]] = {
    "GroupNormalization": {"groups": 1}, "CategoryEncoding": {"num_tokens": 4}, "Discretization": {"bin_boundaries": (0.0, 1.0)},
}  # fmt: skip
# One process compiles one program after the other; where libtpu kills it, that program's answer is missing and another goes on.
COMPILES = """
import pickle, sys
from jupyter_tpushape.compilers import bridge
import os; os.environ.update(bridge.ENVIRONMENT)
while True:
    try: name, program, request = pickle.load(sys.stdin.buffer)
    except EOFError: break
    try: bridge.compile_program(program, request); said = ""
    except Exception as error: said = str(error).split(chr(10))[0][:200] or type(error).__name__
    sys.stdout.write(repr((name, said)) + chr(10)); sys.stdout.flush()
"""


class Compiler:
    """libtpu in a process that is made anew whenever it dies."""

    def __init__(self) -> None:
        """Makes no process yet."""
        self.process: Any = None

    def refusal(self, name: str, program: bytes) -> str:
        """What is said against a program, ``""`` where it compiles."""
        from jupyter_tpushape.compilers import bridge, process
        from jupyter_tpushape.replicas.targets import slice_named

        if self.process is None:
            environment = {**os.environ, **bridge.ENVIRONMENT, "PYTHONPATH": process._path()}
            self.process = subprocess.Popen(
                [sys.executable, "-c", COMPILES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
            )
        entry = slice_named("v5e-8")
        request = {
            "topology": entry.topology, "described": entry.options, "effort": "quick", "form": "hlo", "partitions": 1, "replicas": 1, "shardy": False
        }  # fmt: skip
        try:
            pickle.dump((name, program, request), self.process.stdin)
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            self.process.wait()
            self.process = None
            return "the TPU compiler died on it"
        import ast

        return str(ast.literal_eval(line.decode())[1])


def classes(lib: Any) -> Iterator[tuple[str, Any]]:
    """The layers that a framework offers, and those of its own that its applications use."""
    places = [lib.layers]
    package = importlib.import_module(f"{lib.__name__}.src.applications")
    places += [importlib.import_module(f"{package.__name__}.{one.name}") for one in pkgutil.iter_modules(package.__path__) if "test" not in one.name]
    told: set[str] = set()
    for place in places:
        for name, value in sorted(vars(place).items()):
            known = inspect.isclass(value) and issubclass(value, lib.layers.Layer) and not inspect.isabstract(value)
            if known and name not in told and name not in ("Layer", "Model", "Functional", "Sequential", "Lambda", "InputLayer"):
                told.add(name)
                yield name, value


def made(lib: Any, cls: Any) -> Any:
    """A layer with default arguments.

    Raises:
        TypeError: where it asks for what is not known here.
    """
    given = dict(GIVEN.get(cls.__name__, {}))
    for parameter in list(inspect.signature(cls.__init__).parameters.values())[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or parameter.default is not parameter.empty:
            continue
        name = parameter.name
        if name == "layer":
            given[name] = lib.layers.LSTM(3) if "Bidirectional" in cls.__name__ else lib.layers.Dense(3)
        elif name == "cell":
            given[name] = lib.layers.LSTMCell(3)
        elif name == "cells":
            given[name] = [lib.layers.LSTMCell(3), lib.layers.GRUCell(2)]
        elif name in ASKED:
            given[name] = ASKED[name]
        else:
            raise TypeError(f"asks for {name}")
    layer = cls(**given)
    return lib.layers.RNN(layer) if hasattr(layer, "state_size") and not hasattr(layer, "cell") else layer


def called(layer: Any, given: tuple[Any, ...], **more: Any) -> Any:
    """A layer's outputs: of one tensor, of a list, or of a query and a value."""
    if "Attention" in type(layer).__name__ and len(given) == 2 and hasattr(layer, "head_dim" if hasattr(layer, "head_dim") else "_key_dim"):
        return layer(*given, **more)
    return layer(given[0] if len(given) == 1 else list(given), **more)


def tried(lib: Any, cls: Any) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """A layer, and specs on which it builds and is called, for each of the shapes that go.

    Raises:
        ValueError: where there are none.
    """
    found = False
    import tensorflow as tf

    error: Exception = ValueError("takes none of the shapes that were tried")
    for dtype, number in itertools.product(("float32", "int32"), (1, 2, 3)):
        for shape in SHAPES:
            specs = tuple(tf.TensorSpec((ROWS, *shape), dtype) for _ in range(number))
            try:
                layer = made(lib, cls)
                inputs = [lib.Input(shape, batch_size=ROWS, dtype=dtype) for _ in range(number)]
                lib.Model(inputs, called(layer, tuple(inputs)))
            except TypeError as said:
                if str(said).startswith("asks for "):
                    raise ValueError(str(said)) from None
                error = said
            except Exception as said:
                error = said
            else:
                found = True
                yield layer, specs
    if not found:
        raise ValueError(f"cannot be built alone: {type(error).__name__}")


def program(layer: Any, specs: tuple[Any, ...]) -> bytes:
    """The forward pass in training, and the gradient of its floats by weights and inputs, lowered."""
    import tensorflow as tf

    def step(*given: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([one for one in given if one.dtype.is_floating])
            try:
                out = called(layer, given, training=True)
            except TypeError:
                out = called(layer, given)
            floats = [one for one in tf.nest.flatten(out) if hasattr(one, "dtype") and tf.as_dtype(one.dtype).is_floating]
            loss = tf.add_n([tf.reduce_sum(tf.cast(one, tf.float32) ** 2) for one in floats]) if floats else tf.constant(0.0)
        by = [getattr(one, "value", one) if not isinstance(one, tf.Variable) else one for one in layer.trainable_variables]
        by = [one for one in by if isinstance(one, tf.Variable)] + [one for one in given if one.dtype.is_floating]
        return [one for one in tape.gradient(loss, by) if one is not None] + tf.nest.flatten(out)

    return bytes(tf.function(step, jit_compile=True).experimental_get_compiler_ir(*specs)(stage="hlo_serialized"))


def said(error: BaseException) -> str:
    """XLA's refusal in a line."""
    if "in user code" in str(error):
        # Python's own last line; the lines before it name files of the machine.
        return [line.strip() for line in str(error).splitlines() if line.strip()][-1][:160]
    text = " ".join(str(error).split("Stack trace", 1)[0].split()).removeprefix("Failed getting HLO text: ").lstrip("'")
    missing = re.search(r"No registered '(\w+)'", text)
    if missing:
        return f"no kernel for {missing.group(1)}"
    return text.split("{{", 1)[0].strip()[:160] or type(error).__name__


def table(lib: Any, compiler: Compiler, only: set[str]) -> dict[str, Any]:
    """``compiled``: names. ``refused`` and ``untried``: what was said, by name."""
    found: dict[str, Any] = {"compiled": [], "refused": {}, "untried": {}}
    for name, cls in classes(lib):
        if only and name not in only:
            continue
        refusal, raised = "", False
        try:
            for layer, specs in tried(lib, cls):
                try:
                    refusal, raised = compiler.refusal(name, program(layer, specs)), False
                    break
                except Exception as error:
                    raised = "in user code" in str(error)
                    refusal = said(error) if not raised else refusal or said(error)
                    if not raised:
                        break
                    # Built by this shape's symbol, and not called by its tensors.
        except ValueError as error:
            found["untried"][name] = str(error)
            continue
        if raised:
            found["untried"][name] = f"takes none of the tensors that were tried: {refusal}"
        elif refusal:
            found["refused"][name] = refusal
        else:
            found["compiled"].append(name)
        print(f"{lib.__name__} {name}: {refusal or 'compiles'}", flush=True)
    return found


def main() -> None:
    """Writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="layers, by name; the others' answers stay")
    asked = parser.parse_args()
    import tensorflow as tf

    from jupyter_tpushape.compilers import bridge

    wrong = bridge.check()
    if wrong:
        raise SystemExit(wrong)
    compiler, tables, versions = Compiler(), {}, [f"tensorflow {tf.__version__}", *(f"{name} {pin}" for name, pin in bridge.PINS.items())]
    for package in ("keras", "tf_keras"):
        lib = importlib.import_module(package)
        versions.append(f"{package} {lib.__version__}")
        tables[package] = table(lib, compiler, set(asked.only))
    if asked.only:
        kept = json.loads(PLACE.read_text(encoding="utf-8"))
        tables = {package: _merged(kept[package], fresh, set(asked.only)) for package, fresh in tables.items()}
    about = "Layers with default arguments, forward and gradient, as the TPU compiler answers for v5e; made by scripts/tpu_layers.py with "
    text = json.dumps({"about": about + ", ".join(versions), **tables}, indent=1, sort_keys=True)
    PLACE.write_text(text + "\n", encoding="utf-8")


def _merged(kept: dict[str, Any], fresh: dict[str, Any], only: set[str]) -> dict[str, Any]:
    """A table with the answers for some layers in place of those that it had."""
    found: dict[str, Any] = {"compiled": sorted({*kept["compiled"]} - only | {*fresh["compiled"]})}
    for which in ("refused", "untried"):
        found[which] = {name: text for name, text in kept[which].items() if name not in only} | fresh[which]
    return found


if __name__ == "__main__":
    main()
