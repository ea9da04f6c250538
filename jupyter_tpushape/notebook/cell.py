"""A cell as a builder: run in a copy of the namespace, with training calls caught instead of made.

That is how a fix for a cell is tried. It happens on request (``%%tpushape``), and after a failure only
with cells that do nothing but import, define and build: a cell that opens files, prints or changes
other objects is not run again.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import io
import linecache
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

from ..flow import CannotRebuild, Spec, syntax
from ..trace.caught import Caught, catching
from ..trace.restore import Memento
from .earlier import earlier, quiet, spent
from .pairing import assigned_in

if TYPE_CHECKING:
    from ..trace.aftermath import Attempt

_COPIED = 1000  # items of a list of the user's
_LIBRARIES = ("keras", "tf_keras", "tensorflow", "jax", "numpy")


class CellProgram:
    """Builds what a cell builds, behind the cells in ``front`` of it. ``data`` is known after a run that reached a training call."""

    def __init__(self, shell: Any, source: str, count: int | None = None, front: Sequence[tuple[int, str]] = ()) -> None:
        self._start(shell, source)
        plain = shell.transform_cell(source)
        self.name = shell.compile.cache(plain, shell._tpushape.running if count is None else count, raw_code=source)
        names = {number: name for name, number in shell.compile._filename_map.items()}
        texts = {names[number]: quiet(shell, text) for number, text in front} | {self.name: quiet(shell, source)}
        #: The code of each cell by the name of its text, in order.
        self.codes = {name: compile(text, name, "exec") for name, text in texts.items()}
        #: The user's own objects that the cells name, as they were found: a cell may compile a model or add a layer to it.
        self.found = Memento([value for name in self._named() if _is_kept(value := self.names.get(name))])

    def _start(self, shell: Any, source: str) -> None:
        self.shell, self.source = shell, source
        self.names: dict[str, Any] = shell.user_ns
        self.made: dict[str, Any] = {}
        self.data: Any = None
        self.handed: tuple[str, int] | None = None
        self.batch_size: int | None = None
        #: Whether the model that the cell trains is one of an earlier cell.
        self.lives = False
        #: Whether a fix is tried in it; and whether it then ran to its end, without a model.
        self.changed = self.ended = False

    def _named(self) -> set[str]:
        pending = list(self.codes.values())
        found: set[str] = set()
        while pending:
            code = pending.pop()
            found.update(code.co_names)
            pending += [item for item in code.co_consts if isinstance(item, CodeType)]
        return found

    @property
    def code(self) -> CodeType:
        """The code of the cell itself."""
        return self.codes[self.name]

    def again(self, texts: dict[str, tuple[str, str]], names: dict[str, Any] | None) -> CellProgram:
        """The same cells, some with another text and the name that it is looked up under, or in another namespace."""
        made = object.__new__(CellProgram)
        made._start(self.shell, self.source)
        made.changed = True
        made.found = self.found
        made.names = self.names if names is None else names
        made.name = texts[self.name][1] if self.name in texts else self.name
        made.codes = {}
        for name, code in self.codes.items():
            text, alias = texts.get(name, ("", name))
            made.codes[alias] = compile(quiet(self.shell, text), alias, "exec") if name in texts else code
        return made

    def build(self) -> Any:
        """The model that the cell trains, or else the last one that it leaves behind, or what it has begun of one."""
        from ..repair.held import inside
        from ..trace.frameworks import adapter_for, loaded

        self.found.restore()
        names = dict(self.names)
        before = {key: id(value) for key, value in names.items()}
        caught: list[Attempt] = []
        self.made = names
        with catching(loaded(), caught), contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Caught):
            for code in self.codes.values():
                exec(code, names)
        if caught:
            self.data, self.handed, self.batch_size = caught[-1].data, caught[-1].where, caught[-1].batch_size
            self.lives = any(value is caught[-1].model for value in list(self.names.values()))
            return caught[-1].model
        made = [value for key, value in names.items() if before.get(key) != id(value) and not key.startswith("_")]
        # Such as the model of a trainer that the cell makes.
        held = [one for value in made for one in inside(value)]
        models = [value for value in (*held, *made) if (found := adapter_for(value)) is not None and found.is_model(value)]
        found_one = models[-1] if models else begun(made)
        if found_one is None and self.changed:
            # Such as a pipeline: that it ends without an error, and gives an element, is all there is to see.
            for value in made:
                _draw(value)
            adapter = loaded()[0]
            self.ended = True
            empty = adapter.input_layer(Spec((None, 1), "float32"), "nothing").output
            return adapter.Model(empty, empty)
        return found_one


def run_cell(shell: Any, source: str, chosen: dict[str, Any]) -> Any:
    """``%%tpushape``: what the cell builds. The cell itself is run where nothing serious stands in its way.

    ``None``: the cell raises something that shapes have no part in, and running it says what.
    """
    from ..trace.locations import MAGIC

    # The line with the magic is the cell's first: lines are counted as the user sees them.
    source = f"{MAGIC}\n{source}"
    report, _ = _trace_cell(shell, source, chosen)
    if report is None or report.ok:
        with _numbered(shell, shell._tpushape.running):
            shell.run_cell(source, store_history=False)
    return report


@contextlib.contextmanager
def _numbered(shell: Any, count: int) -> Iterator[None]:
    next_count, shell.execution_count = shell.execution_count, count
    try:
        yield
    finally:
        shell.execution_count = next_count


def _trace_cell(shell: Any, source: str, chosen: dict[str, Any], count: int | None = None, front: Sequence[tuple[int, str]] = ()) -> tuple[Any, CellProgram]:
    from ..examine import BadProgram
    from ..trace.build import build
    from ..trace.recorder import Recorder
    from .hint import has_part, is_ours, of_message

    program, recorder = CellProgram(shell, source, count, front), Recorder()
    try:
        model, error = build(program.build, recorder)
        if error is None and model is None:
            raise BadProgram("This cell does not build a Keras model: use %%tpushape on a cell that builds one, or run %tpushape model data.")
        if error is not None and not is_ours(error) and not has_part(error, recorder) and not of_message(error):
            return None, program
        if callable(chosen.get("strategy")):
            chosen = {**chosen, "strategy": chosen["strategy"](program.made)}
        if program.batch_size and not chosen.get("batch_size"):
            chosen = {**chosen, "batch_size": program.batch_size}
        report = _traced(program, model, chosen)
    finally:
        program.found.restore()
    if report.title == program.build.__name__:
        report.title = f"In[{shell._tpushape.running if count is None else count}]"
    return report, program


def _traced(program: CellProgram, model: Any, chosen: dict[str, Any]) -> Any:
    from ..diagnose import trace
    from ..examine import HANDED

    token = HANDED.set(program.handed)
    try:
        report = trace(model if program.lives else program.build, program.data, **chosen)
        # A cell that trains a model of another builds nothing anew: that model is changed where it was made, data where the cells make it.
        if program.lives and not report.ok and (proved := _proved(report)) < 2:
            anew = trace(program.build, program.data, **chosen)
            report = anew if _proved(anew) > proved else report
        return report
    finally:
        HANDED.reset(token)


def _draw(value: Any) -> None:
    """Draws an element of a ``tf.data.Dataset``; anything else is left alone.

    Raises:
        CannotRebuild: where that would advance a generator, or run other Python code of the user's.
    """
    if not hasattr(value, "element_spec") or not hasattr(value, "take"):
        return
    from ..sources.pipeline import stages_of

    if any(stage.detail.get("python") for stage in stages_of(value)):
        raise CannotRebuild("an element of this pipeline would run its Python code, such as a generator that cannot be rewound")
    next(iter(value.take(1)), None)


def _is_kept(value: Any) -> bool:
    """Whether a cell can change a value in place, and the value is small enough to be copied: Keras' objects, and short containers."""
    return len(value) <= _COPIED if type(value) in (list, dict, set) else hasattr(value, "__dict__")


def _proved(report: Any) -> int:
    fix = next((fix for finding in report.findings if finding.serious for fix in finding.fixes), None)
    return 0 if fix is None or not fix.verified else 2 if fix.proof == "source" else 1


def rerun_report(extension: Any, chosen: dict[str, Any], execution: int = 0) -> Any:
    """The report of a cell that failed, the last one or that with a number, where it may safely be run again; ``None`` for any other cell.

    Layers get the names that they had in the failed run.
    """
    from .hint import raises

    shell = extension.shell
    source, _, counters_then = extension.earlier.get(execution) or (extension.source, 0, extension.failed_counters)
    front = earlier(shell, quiet(shell, source), execution or extension.count)
    # What the cells in front make again is theirs to change.
    anew = frozenset().union(*(assigned_in(text) for _, text in front))
    if not source.strip() or not is_pure(quiet(shell, source), shell.user_ns, anew=anew):
        return None
    if all(is_pure(quiet(shell, text), shell.user_ns, anew=anew) for _, text in front):
        counters_then = extension.started.get(front[0][0], counters_then) if front else counters_then
    else:
        front = []
        if not is_pure(quiet(shell, source), shell.user_ns):
            return None
    if not front and spent(quiet(shell, source)):
        return None
    now = [(adapter, adapter.globals()) for adapter, _ in counters_then]
    try:
        for adapter, counters in counters_then:
            adapter.restore_globals(counters)
        report, _ = _trace_cell(shell, source, {**chosen, "tpu": chosen["tpu"] if chosen["tpu"] != "auto" else None}, execution or extension.count, front)
    except Exception:
        return None
    finally:
        for adapter, counters in now:
            adapter.restore_globals(counters)
    return report if report is not None and raises(report) else None


def is_pure(source: str, names: dict[str, Any], seen: frozenset[str] = frozenset(), anew: frozenset[str] = frozenset()) -> bool:
    """Whether a cell only imports, defines, and calls Keras, TensorFlow, NumPy, its own definitions, and those of other cells that are like it.

    ``seen``: definitions that are being looked at already. ``anew``: names whose objects are made again before it runs.
    """
    try:
        tree = syntax.parse(source)
    except SyntaxError:
        return False
    own = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    targets = [target for node in ast.walk(tree) if isinstance(node, ast.Assign) for target in node.targets]
    own |= {item.id for target in targets for item in getattr(target, "elts", [target]) if isinstance(item, ast.Name)}
    # What a function is given is looked at where it is called.
    own |= {item.arg for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.Lambda)) for item in ast.walk(node.args) if isinstance(item, ast.arg)}
    own |= {alias.asname or alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, (ast.For, ast.comprehension)):
            # What a loop takes from its own lists, and from lists of layers.
            read = {item.id for item in ast.walk(node.iter) if isinstance(item, ast.Name)}
            if all(name in own or name in _BUILT_IN or _of_libraries(names.get(name)) for name in read):
                own |= {item.id for item in ast.walk(node.target) if isinstance(item, ast.Name)}
    new, made = _new(tree), _constructed(tree, own, names) | anew
    for node in ast.walk(tree):
        if isinstance(node, (ast.Delete, ast.Global, ast.Nonlocal, ast.AsyncWith, ast.Await)):
            return False
        if isinstance(node, ast.AugAssign) and not (isinstance(node.target, ast.Name) and node.target.id in own and _replaced(names.get(node.target.id))):
            return False
        # A strategy's scope, a device, a name: what is called is looked at below. A file or a tape is given a name.
        if isinstance(node, ast.With) and not all(isinstance(item.context_expr, ast.Call) and item.optional_vars is None for item in node.items):
            return False
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            if any(module.split(".")[0] not in _LIBRARIES for module in modules):
                return False
        stored = [target for target in node.targets if isinstance(target, (ast.Subscript, ast.Attribute))] if isinstance(node, ast.Assign) else []
        if any(_root(target) != "self" and _root(target) not in (new if isinstance(target, ast.Subscript) else made) for target in stored):
            return False
        if isinstance(node, ast.Call) and (syntax.writes(syntax.called(node)) or not _allowed(node.func, own, names, seen)):
            return False
        given = [*node.args, *(word.value for word in node.keywords)] if isinstance(node, ast.Call) else []
        if not all(_handed(item, own, names, seen) for item in given if isinstance(item, (ast.Name, ast.Attribute))):
            return False
    return True


def _new(tree: ast.AST) -> set[str]:
    """The names that a cell gives nothing but new containers, such as ``results = {}``."""
    made = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Dict, ast.List, ast.DictComp, ast.ListComp))]
    new = {target for node in made for target in node.targets if isinstance(target, ast.Name)}
    return {one.id for one in new} - {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in new}


def _constructed(tree: ast.AST, own: set[str], names: dict[str, Any]) -> set[str]:
    """The names that a cell gives nothing but what a library's or its own class or function returns, and those of loops over their layers."""
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and (root := _root(node.value.func)) is not None
        and (root in own or inspect.ismodule(value := names.get(root)) or inspect.isclass(value) or inspect.isfunction(value))
    ]  # fmt: skip
    made = {target for node in calls for target in node.targets if isinstance(target, ast.Name)}
    found = {one.id for one in made} - {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in made
    }
    # What stands under another name, too, was only looked up.
    held = [id(value) for key, value in names.items() if not key.startswith("_")]
    found = {name for name in found if held.count(id(names.get(name))) < 2 or name not in names}
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and _root(node.iter) in found]
    return found | {node.target.id for node in loops if isinstance(node.target, ast.Name)}


def _replaced(value: Any) -> bool:
    """Whether ``+=`` gives a name another object, and does not change the one that it has."""
    from ..trace.frameworks import loaded

    return isinstance(value, (int, float, str)) or any(adapter.is_symbolic(value) for adapter in loaded())


_BUILT_IN = frozenset({
    "super", "range", "len", "list", "tuple", "dict", "int", "float", "zip", "enumerate", "print", "self", "reversed", "sorted", "sum", "min", "max",
})  # fmt: skip


def _of_libraries(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(type(one).__module__.split(".")[0] in _LIBRARIES for one in value)


def _allowed(function: ast.expr, own: set[str], names: dict[str, Any], seen: frozenset[str]) -> bool:
    root = _root(function)
    if root is None:
        return isinstance(function, (ast.Call, ast.Attribute))
    if root in own or root in _BUILT_IN:
        return True
    value = names.get(root)
    if isinstance(value, functools.partial):
        value = value.func
    module = getattr(value, "__module__", None) or getattr(value, "__name__", "") or type(value).__module__
    if str(module).split(".")[0] in _LIBRARIES:
        return True
    if not inspect.isclass(value) and not inspect.isfunction(value):
        return False
    if root in seen:
        return True
    text = _definition(value, root)
    return bool(text) and is_pure(text, names, seen | {root})


def _handed(argument: ast.expr, own: set[str], names: dict[str, Any], seen: frozenset[str]) -> bool:
    """Whether a function may call what it is given, and its methods: a function that may be called, or an object of the libraries, or plain data."""
    root = _root(argument)
    if root is None or root in own or root in _BUILT_IN or root not in names:
        return True
    value = names[root]
    plain = type(value).__module__.split(".")[0] in (*_LIBRARIES, "builtins", "pandas") and not callable(value)
    return plain or inspect.ismodule(value) or _allowed(argument, own, names, seen)


def _definition(value: Any, name: str) -> str:
    code = next((code for item in (value, *vars(value).values()) if (code := getattr(item, "__code__", None)) is not None), None)
    try:
        tree = syntax.parse("".join(linecache.getlines(code.co_filename))) if code is not None else ast.Module([], [])
    except SyntaxError:
        return ""
    found = [item for item in tree.body if isinstance(item, (ast.FunctionDef, ast.ClassDef)) and item.name == name]
    return ast.unparse(found[-1]) if found else ""


def _root(node: ast.expr) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


_MOST = 5000


def begun(values: Iterable[Any]) -> Any:
    """A functional model of the symbolic tensors among ``values`` that lead to no other of them."""
    from ..trace.frameworks import adapter_for

    tensors = {id(one): one for value in values for one in _tensors(value)}
    if not tensors:
        return None
    adapter: Any = adapter_for(next(iter(tensors.values())))
    inputs: dict[int, Any] = {}
    passed: dict[int, Any] = {}
    pending = list(tensors.values())
    while pending and len(passed) < _MOST:
        tensor = pending.pop()
        operation, before = adapter.origin(tensor) or (None, [])
        if isinstance(operation, adapter.InputLayer):
            inputs[id(tensor)] = tensor
        for one in before:
            if id(one) not in passed:
                passed[id(one)] = one
                pending.append(one)
    ends = [one for key, one in tensors.items() if key not in passed and key not in inputs]
    return adapter.Model(list(inputs.values()), ends) if ends and inputs else None


def _tensors(value: Any) -> Iterator[Any]:
    from ..trace.frameworks import adapter_for

    for one in value if type(value) in (list, tuple) else [value]:
        adapter = adapter_for(one)
        if adapter is not None and adapter.is_symbolic(one):
            yield one


def last_report(extension: Any, chosen: dict[str, Any]) -> Any:
    """The flow of the last shape error; ``None`` if there was none.

    Args:
        chosen: options of ``trace``; with ``fixes``, a cell that only builds is run again to try them.
    """
    error = extension.error
    if error is None:
        return None
    from .hint import report_for, report_of_code

    report = rerun_report(extension, chosen) if chosen["fixes"] and extension.said else None
    return report or report_for(error, fixes=bool(chosen["fixes"])) or report_of_code(error)
