"""Functions of TensorFlow and of Keras 2's ``keras.backend`` as ``keras.ops`` has them: names, arguments and what each takes where nothing is said."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .arguments import Change, appended
from .names import Names
from .source import NoPlace, Source, nodes

# Of one name in TensorFlow, keras.backend and keras.ops, with the same arguments in the same order.
_SAME = (
    "abs exp log sqrt square sin cos tan tanh floor ceil round sign maximum minimum add subtract multiply divide matmul einsum reshape cast "
    "expand_dims squeeze stack where tile zeros ones zeros_like ones_like shape arange equal not_equal greater greater_equal less less_equal "
    "logical_and logical_or logical_not argsort roll eye repeat unstack tensordot cond convert_to_tensor divide_no_nan rsqrt erf"
)
# The same of keras.backend and keras.ops alone.
_OLD = (
    "mean sum max min prod any all var std argmax argmin cumsum cumprod concatenate transpose clip dot one_hot relu sigmoid softmax softplus elu "
    "hard_sigmoid stop_gradient binary_crossentropy categorical_crossentropy"
)
_TENSORFLOW: dict[str, str | None] = {
    **dict.fromkeys(_SAME.split()),
    **{f"reduce_{name}": name for name in ("mean", "sum", "max", "min", "prod", "any", "all", "logsumexp", "std")},
    "reduce_variance": "var", "concat": "concatenate", "range": "arange", "pow": "power", "transpose": "transpose", "gather": "take", "fill": "full",
    "one_hot": "one_hot", "clip_by_value": "clip", "stop_gradient": "stop_gradient", "constant": "convert_to_tensor", "reverse": "flip", "split": "split",
    "sigmoid": "sigmoid", "argmax": "argmax", "argmin": "argmin", "cumsum": "cumsum", "norm": "norm", "map_fn": "map", "pad": "pad",
    "nn.relu": "relu", "nn.relu6": "relu6", "nn.elu": "elu", "nn.selu": "selu", "nn.gelu": "gelu", "nn.silu": "silu", "nn.swish": "silu", "nn.tanh": "tanh",
    "nn.sigmoid": "sigmoid", "nn.softmax": "softmax", "nn.log_softmax": "log_softmax", "nn.softplus": "softplus", "nn.leaky_relu": "leaky_relu",
    "nn.l2_normalize": "normalize", "l2_normalize": "normalize", "nn.moments": "moments", "nn.embedding_lookup": "take", "nn.top_k": "top_k", "top_k": "top_k",
    "softplus": "softplus", "softmax": "softmax", "log_softmax": "log_softmax",
    "random.normal": "random.normal", "random.uniform": "random.uniform", "random.truncated_normal": "random.truncated_normal",
    "nn.sigmoid_cross_entropy_with_logits": "binary_crossentropy", "nn.softmax_cross_entropy_with_logits": "categorical_crossentropy",
    "nn.sparse_softmax_cross_entropy_with_logits": "sparse_categorical_crossentropy",
}  # fmt: skip
_BACKEND: dict[str, str | None] = {
    **dict.fromkeys(_SAME.split()),
    **dict.fromkeys(_OLD.split()),
    "pow": "power", "permute_dimensions": "transpose", "flatten": "ravel", "gather": "take", "repeat_elements": "repeat", "reverse": "flip",
    "l2_normalize": "normalize", "constant": "convert_to_tensor", "int_shape": "shape",
    "random_normal": "random.normal", "random_uniform": "random.uniform", "truncated_normal": "random.truncated_normal",
}  # fmt: skip
# What an argument is called in keras.ops.
_ARGUMENTS = {
    "input_tensor": "x", "input": "x", "tensor": "x", "params": "x", "reference": "x", "value": "x", "features": "x", "a": "x", "x": "x", "y": "x2", "rep": "repeats",
    "perm": "axes", "pattern": "axes", "depth": "num_classes", "tensors": "xs x", "values": "xs x", "logits": "output x", "alpha": "negative_slope", "clip_value_min": "x_min", "clip_value_max": "x_max",
    "min_value": "x_min", "max_value": "x_max", "multiples": "repeats", "ids": "indices", "limit": "stop", "delta": "step", "dims": "shape", "axes": "axis",
    "labels": "target", "fn": "f", "elems": "xs", "paddings": "pad_width", "keep_dims": "keepdims", "n": "repeats",
}  # fmt: skip
# Of which the first two go by these names where they are two tensors.
_PAIRS = {"a": "x1", "b": "x2", "x": "x1", "y": "x2"}
# What is meant where no axis is given, when keras.ops would take another one.
_AXES = {
    "tensorflow": {"argmax": 0, "argmin": 0, "cumsum": 0, "gather": 0, "nn.embedding_lookup": 0},
    "backend": {"argmax": -1, "argmin": -1, "cumsum": 0, "cumprod": 0, "gather": 0, "concatenate": -1, "expand_dims": -1},
}
# Behind these, what is given by its place means something else.
_MOST = {
    "take": 2, "one_hot": 2, "argmax": 2, "argmin": 2, "cumsum": 2, "cumprod": 2, "matmul": 2, "eye": 1, "norm": 1, "pad": 2, "top_k": 2, "moments": 2,
    "normalize": 2, "argsort": 2, "convert_to_tensor": 2, "map": 2, "tile": 2, "reshape": 2, "softmax": 2, "log_softmax": 2, "gelu": 1, "leaky_relu": 2,
}  # fmt: skip
# Over everything where no axis is given, which keras.ops does not do.
_NEEDS_AXIS = frozenset({"normalize"})
_LOGITS = frozenset({"binary_crossentropy", "categorical_crossentropy", "sparse_categorical_crossentropy"})
# Methods that take a function which runs on the host.
ON_HOST = frozenset({"map", "filter", "flat_map", "interleave", "scan", "reduce", "take_while", "from_generator", "py_function", "numpy_function", "apply"})


def origin(names: Names, func: ast.AST) -> tuple[str, str]:
    """Whose function a name leads to, ``tensorflow`` or ``backend``, and what it is called there; ``("", "")`` for all else."""
    way: list[str] = []
    while isinstance(func, ast.Attribute):
        way.insert(0, func.attr)
        func = func.value
        module = names.value(func)
        if inspect.ismodule(module):
            package = module.__name__
            if package.startswith("keras.") and package.endswith(".backend"):
                return "backend", ".".join(way)
            if package == "tensorflow" and way[:2] == ["keras", "backend"]:
                return "backend", ".".join(way[2:])
            if package == "tensorflow" or package.startswith("tensorflow._api."):
                inner = package.removeprefix("tensorflow").removeprefix("._api").removeprefix(".v2").lstrip(".")
                name = ".".join([*([inner] if inner else []), *way])
                return ("", "") if name.startswith("keras.") else ("tensorflow", name.removeprefix("math.").removeprefix("linalg."))
    return "", ""


def name_of(names: Names, call: ast.Call) -> str:
    """The function of ``keras.ops``, or of ``keras.random``, that stands for what is called, with its module."""
    whose, name = origin(names, call.func)
    table = _TENSORFLOW if whose == "tensorflow" else _BACKEND
    if not whose or name not in table:
        return ""
    made = table[name] or name
    made = f"keras.{made}" if "." in made else f"keras.ops.{made}"
    return made if _function(made) is not None and _rest(call, whose, name, made) is not None else ""


def _function(made: str) -> Any:
    module, _, name = made.rpartition(".")
    return getattr(sys.modules[module], name, None)


def changes(source: Source, names: Names, call: ast.Call) -> list[Change]:
    """What writes a call with ``keras.ops``."""
    whose, name = origin(names, call.func)
    made = name_of(names, call)
    if not made:
        raise NoPlace
    module, imports = names.spell(sys.modules[made.rpartition(".")[0]], call)
    found = [*imports, source.change(call.func, f"{module}.{made.rpartition('.')[2]}")]
    for change in _rest(call, whose, name, made) or []:
        found += change(source, module)
    for item in (*call.args, *(word.value for word in call.keywords)):
        dtype: Any = names.value(item) if isinstance(item, ast.Attribute) else None
        if type(dtype).__name__ == "DType":
            found.append(source.change(item, f'"{dtype.name}"'))
    return found


_Written = Callable[[Source, str], list[Change]]


def _rest(call: ast.Call, whose: str, name: str, made: str) -> list[_Written] | None:
    taken = list(inspect.signature(_function(made)).parameters)
    made = made.rpartition(".")[2]
    if any(word.arg is None for word in call.keywords) or any(isinstance(item, ast.Starred) for item in call.args):
        return None
    if len(call.args) > _MOST.get(made, len(taken)) or (made == "split" and not _counted(call)) or (made == "pad" and call.keywords):
        return None
    found: list[_Written] = []
    said = set(taken[: len(call.args)])
    for word in call.keywords:
        if word.arg == "name":
            found.append(_without(call, word))
            continue
        if made == "matmul" and word.arg in ("transpose_a", "transpose_b"):
            if not isinstance(word.value, ast.Constant) or len(call.args) < 2:
                return None
            found.append(_without(call, word))
            if word.value.value:
                found.append(_transposed(call.args[word.arg == "transpose_b"]))
            continue
        new = _argument(str(word.arg), taken)
        if not new or new in said:
            return None
        said.add(new)
        if new != word.arg:
            found.append(_renamed(word, new))
    if made in _LOGITS and whose == "tensorflow":
        found.append(_appending(call, "from_logits=True"))
    if "axis" in taken and "axis" not in said:
        axis = _AXES[whose].get(name)
        if axis is not None:
            found.append(_appending(call, f"axis={axis}"))
        elif made in _NEEDS_AXIS:
            return None
    if made == "gelu" and "approximate" not in said:
        found.append(_appending(call, "approximate=False"))
    return found


def _argument(word: str, taken: list[str]) -> str:
    if word in taken:
        return word
    if "x1" in taken and word in _PAIRS:
        return _PAIRS[word]
    return next((new for new in _ARGUMENTS.get(word, "").split() if new in taken), "")


def _counted(call: ast.Call) -> bool:
    parts = call.args[1] if len(call.args) > 1 else None
    return isinstance(parts, ast.Constant) and isinstance(parts.value, int)


def _renamed(word: ast.keyword, new: str) -> _Written:
    def write(source: Source, _: str) -> list[Change]:
        return [(source.start(word), source.start(word) + len(word.arg or ""), new)]

    return write


def _appending(call: ast.Call, text: str) -> _Written:
    def write(source: Source, _: str) -> list[Change]:
        return [appended(source, call, text)]

    return write


def _transposed(node: ast.AST) -> _Written:
    def write(source: Source, module: str) -> list[Change]:
        return [(source.start(node), source.start(node), f"{module}.swapaxes("), (source.end(node), source.end(node), ", -1, -2)")]

    return write


def _without(call: ast.Call, word: ast.keyword) -> _Written:
    def write(source: Source, _: str) -> list[Change]:
        items = sorted([*call.args, *call.keywords], key=source.start)
        place = items.index(word)
        start = source.end(items[place - 1]) if place else source.start(word)
        return [(start, source.end(word), "")]

    return write


# -- where a program's lines run


def on_host(tree: ast.Module) -> set[ast.AST]:
    """Functions that prepare data: those handed to a pipeline, those that make one, and all that these call."""
    named = {one.name: one for one in nodes(tree, (ast.FunctionDef, ast.AsyncFunctionDef))}
    found: set[ast.AST] = set()
    for call in nodes(tree, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in ON_HOST:
            for given in (*call.args, *(word.value for word in call.keywords)):
                if isinstance(given, ast.Lambda):
                    found.add(given)
                elif isinstance(given, ast.Name) and given.id in named:
                    found.add(named[given.id])
    for made in named.values():
        chains = {ast.unparse(node) for node in nodes(made, ast.Attribute)}
        if any(chain.startswith(("tf.data.", "tf.io.", "tf.train.", "tensorflow.data.", "tensorflow.io.")) for chain in chains):
            found.add(made)
    waiting = list(found)
    while waiting:
        for call in nodes(waiting.pop(), ast.Call):
            inner = named.get(call.func.id) if isinstance(call.func, ast.Name) else None
            if inner is not None and inner not in found:
                found.add(inner)
                waiting.append(inner)
    return found


def operations() -> ModuleType:
    """The module that is loaded: ``tensorflow`` or ``keras.ops``."""
    tensorflow, keras = sys.modules.get("tensorflow"), sys.modules.get("keras")
    foreign = keras is not None and keras.config.backend() != "tensorflow"
    return sys.modules["keras.ops"] if foreign or tensorflow is None else tensorflow


def spelled() -> str:
    """How an idea or a snippet names it: ``tf`` or ``ops``."""
    return "ops" if operations().__name__.startswith("keras") else "tf"
