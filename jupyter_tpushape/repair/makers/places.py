"""Candidates where the right tensors, axes, weights or random numbers stand in the wrong place."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Fact, Finding
from ...flow.syntax import called, loaded
from ...rules.facts.calls import Constant, HostDrawn
from ...rules.facts.layers import OperationRaised
from ...rules.facts.lines import LineRaised
from ...rules.facts.mesh import Unseeded
from ...rules.facts.mixing import HeadsAttended, Interleaved
from ...rules.facts.reasons import ScanRows
from ...rules.facts.transforms import BatchScanned, BranchesApart
from ...rules.in_order import FUSED, split_heads
from ...rules.mixing import heads_apart
from ...trace.locations import location
from ..edits import Edit, Seeded
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.source import nodes, parents, statement_of
from .conditions import branches
from .edits import Made, of
from .line import Line, assigned_to, calls_at, calls_of, lines_at, lines_of, listed, reshaped, short, span_of, whole_number
from .other_axes import of_arrays, turned_back
from .steps import groups, stateless

_PRODUCTS = frozenset({"matmul", "dot", "tensordot"})


@of(Interleaved)
def heads(evidence: Evidence, finding: Finding, fact: Interleaved) -> Made:
    """A transpose of steps and heads behind the reshape that makes heads of features, or in front of the one that takes them together."""
    for line in lines_at(evidence, finding.location):
        given, sizes = reshaped(line)
        call = line.node
        if given is None or not isinstance(call, ast.Call):
            continue
        if heads_apart(fact.before, fact.after) and len(sizes) == 4:
            batch, one, steps, rest = map(ast.unparse, sizes)
            target = f"({batch}, {steps}, {one}, {rest})"
            method = isinstance(call.func, ast.Attribute) and call.func.value is given
            new = f"{ast.unparse(call.func)}({target if method else f'{ast.unparse(given)}, {target}'})"
            edit = line.edit(call, f"{MODULE}.transpose({new}, (0, 2, 1, 3))", line.module())
        elif heads_apart(fact.after, fact.before):
            edit = line.edit(given, f"{MODULE}.transpose({IT}, (0, 2, 1, 3))", line.module())
        else:
            continue
        yield f"Transpose steps and heads at line {call.lineno}", [edit], "The features of each step stay together."


@of(HeadsAttended)
def heads_first(evidence: Evidence, finding: Finding, fact: HeadsAttended) -> Made:
    """A transpose of steps and heads behind each reshape that splits them, and before the one that joins them."""
    flow = evidence.flow
    for line, call in calls_at(evidence, finding.location, "dot_product_attention") if fact.product.op == FUSED else ():
        parts = [f"{MODULE}.swapaxes({ast.unparse(one)}, 1, 2)" for one in call.args[:3]]
        new = f"{MODULE}.swapaxes({ast.unparse(call.func)}({', '.join([*parts, *map(ast.unparse, [*call.args[3:], *call.keywords])])}), 1, 2)"
        if len(parts) == 3:
            yield (f"Swap steps and heads around {called(call)} at {line.at}", [line.edit(call, new, line.module())], "Each step then attends to the others.")
    soft, made = flow.node(finding.nodes[-1]), [*flow.into(finding.nodes[0])]
    while soft.op.lower() not in ("batchmatmulv2", "matmul", "einsum") and len(readers := flow.out_of(soft.id)) == 1:
        soft = flow.node(readers[0].target)
    joins = [flow.node(edge.target) for edge in flow.out_of(soft.id)]
    splits = [node for edge in (*made, *flow.into(soft.id)) if (node := split_heads(evidence, edge)) is not None]
    order, edits = "(0, 2, 1, 3)", {}
    for node, joined in [*((node, False) for node in splits), *((node, True) for node in joins if node.op.lower() == "reshape")]:
        for line, call in calls_at(evidence, node.called, "reshape"):
            given, _ = reshaped(line)
            target = given if joined else call
            if target is not None:
                edits[node.called] = line.edit(target, f"{MODULE}.transpose({IT}, {order})", line.module())
    if len(splits) == 3 and len(joins) == 1 and joins[0].called in edits:
        yield (
            "Move the heads before the steps where they are split, and back where they are joined",
            [*edits.values()],
            "The scores are then of the steps, for each head.",
        )


def exchanged_weights(evidence: Evidence, finding: Finding) -> Made:
    """Two weights of a layer in each other's place, where a product does not fit one of them."""
    for line in lines_of(evidence):
        product = (isinstance(line.node, ast.BinOp) and isinstance(line.node.op, ast.MatMult)) or (
            isinstance(line.node, ast.Call) and called(line.node) in _PRODUCTS
        )
        made = {
            ast.unparse(item.targets[0]): item.value
            for item in nodes(line.owner(), ast.Assign)
            if isinstance(item.value, ast.Call) and called(item.value) == "add_weight"
        }
        used = [node for node in nodes(line.scope, ast.Attribute) if ast.unparse(node) in made] if product else []
        for mine in (node for node in used if node in line.operands()):
            for other in used:
                if ast.unparse(other) != ast.unparse(mine) and all([ast.unparse(node) for node in used].count(ast.unparse(one)) == 1 for one in (mine, other)):
                    one, two = ast.unparse(mine), ast.unparse(other)
                    apart = _sizes_apart(made[one], made[two])
                    if len(apart) == 1 and _meets(finding, made[one], apart[0][0], line.operands().index(mine)):
                        # As they are used and as they start, only their sizes are in each other's place.
                        yield (f"Swap the sizes of {one} and {two} at line {apart[0][0].lineno}", line.swap(*apart[0]), "Each product then fits.")
                    yield f"Swap {one} and {two} at {line.at}", line.swap(mine, other), "Each product then fits."


def _meets(finding: Finding, made: ast.Call, size: ast.expr, index: int) -> bool:
    """Whether a size of a weight, which is a factor of a product, is one that the product sums over: no other changes what it does not accept."""
    fact, given = finding.fact, argument(made, "shape", ["shape"])
    sizes = given.elts if isinstance(given, (ast.Tuple, ast.List)) else []
    shapes = fact.shapes if isinstance(fact, OperationRaised) else ()
    if len(shapes) != 2 or size not in sizes or any(len(shape or ()) < 2 for shape in shapes):
        return True
    return sizes.index(size) == len(sizes) - (2 if index else 1)


def _sizes_apart(one: ast.Call, other: ast.Call) -> list[tuple[ast.expr, ast.expr]]:
    shapes = [argument(call, "shape", ["shape"]) for call in (one, other)]
    first, second = [shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else [] for shape in shapes]
    pairs = zip(first, second, strict=True) if len(first) == len(second) else ()
    return [(a, b) for a, b in pairs if ast.unparse(a) != ast.unparse(b)]


@of(BranchesApart)
def same_branch(evidence: Evidence, finding: Finding, fact: BranchesApart) -> Made:
    """Zeros or ones in the shape of what the other branch returns, its dtype, or a crop in the size of the whole picture."""
    for line in lines_of(evidence):
        lambdas = [item for item in line.operands() if isinstance(item, ast.Lambda)]
        for one, other in ((0, 1), (1, 0)) if len(lambdas) == 2 else ():
            assert isinstance(fact, BranchesApart)
            shapes, dtypes = (fact.first, fact.second), fact.dtypes
            made, want, got = lambdas[one].body, shapes[other], shapes[one]
            if isinstance(made, ast.Call) and called(made) in ("zeros", "ones") and got != want:
                like = f"{MODULE}.{called(made)}_like({ast.unparse(lambdas[other].body)})"
                yield (
                    f"Return {called(made)} with the shape of the other branch at line {made.lineno}",
                    [line.edit(made, like, line.module())],
                    "Both branches return the same shape.",
                )
            elif isinstance(made, ast.Call) and len(got) == len(want) + 1 and (kept := argument(made, "keepdims", [])) is not None:
                yield (f"Drop the reduced axis at line {made.lineno}: keepdims=False", [line.edit(kept, "False")], "Both branches return the same shape.")
            elif got == want and "float" in dtypes[other] and "int" in dtypes[one]:
                cast = f'{MODULE}.cast({IT}, "{dtypes[other]}")'
                yield (f"Cast to {dtypes[other]} at line {made.lineno}", [line.edit(made, cast, "keras.ops")], "Both branches return the same dtype.")
            elif len(want) == len(got) == 4 and (want[0], want[3]) == (got[0], got[3]):
                size = f"({want[1]}, {want[2]})"
                rest = [(large or 0) - (small or 0) for large, small in zip(want[1:3], got[1:3], strict=True)]
                edges = ", ".join(f"({one // 2}, {one - one // 2})" for one in rest)
                for what, new in (("Resize", f"{MODULE}.image.resize({IT}, {size})"), ("Pad", f"{MODULE}.pad({IT}, ((0, 0), {edges}, (0, 0)))")):
                    if min(rest) >= 0:
                        yield (
                            f"{what} the crop to {size} at line {made.lineno}",
                            [line.edit(made, new, "keras.ops", choice="crop")],
                            "Both branches return pictures of the same size.",
                        )


def cell_states(evidence: Evidence, finding: Finding) -> Made:
    """The state of a recurrent cell in the size that its weights take."""
    for line in lines_of(evidence):
        owner = line.owner()
        set_ = [item for item in nodes(owner, ast.Assign) if ast.unparse(item.targets[0]) == "self.state_size"]
        for item in nodes(owner, ast.Assign) if len(set_) == 1 else []:
            weight = next((one for one in line.operands() if ast.unparse(one) == ast.unparse(item.targets[0])), None)
            made = item.value
            if weight is None or not isinstance(made, ast.Call) or called(made) != "add_weight":
                continue
            shape = argument(made, "shape", ["shape"])
            rows = shape.elts[0] if isinstance(shape, (ast.Tuple, ast.List)) and shape.elts else None
            if isinstance(rows, ast.Attribute) and ast.unparse(rows) != ast.unparse(set_[0].value):
                yield (
                    f"Set self.state_size to {ast.unparse(rows)} at line {set_[0].lineno}",
                    [line.edit(set_[0].value, ast.unparse(rows))],
                    f"{short(weight)} has that many rows.",
                )


@of(OperationRaised, LineRaised)
def steps_first(evidence: Evidence, finding: Finding, fact: Fact) -> Made:
    """Steps before heads for a function that attends along axis 1, and its result as it was."""
    node = evidence.failed
    for line, call in calls_of(evidence):
        named = called(call) == "dot_product_attention"
        if node is None or not (named or node.op == "DotProductAttention"):
            continue
        shapes = [line.shape(item) for item in call.args] if named else [one.spec.shape for one in evidence.given[:3]]
        if len(call.args) == 3 and all(len(shape or ()) == 4 for shape in shapes):
            made = [ast.unparse(item.targets[0]) for item in nodes(line.scope, ast.Assign) if item.value is call]
            turned = [f"{MODULE}.transpose({ast.unparse(item)}, (0, 2, 1, 3))" for item in call.args]
            words = [f"{word.arg}={ast.unparse(word.value)}" for word in call.keywords]
            new = f"{ast.unparse(call.func)}({', '.join([*turned, *words])})"
            later = (one for one in nodes(line.scope, ast.Call) if one.lineno > call.lineno and [*map(ast.unparse, one.args[:1])] == made)
            joined = called(min(later, key=lambda one: one.lineno, default=None)) == "reshape"
            new = new if joined else f"{MODULE}.transpose({new}, (0, 2, 1, 3))"
            yield (
                f"Pass (batch, steps, heads, features) at {line.at}: transpose steps and heads",
                [line.edit(call, new, line.module())],
                "The function attends along axis 1.",
            )


def scanned_steps(evidence: Evidence, finding: Finding) -> Made:
    """Steps before the batch for a loop, and its result as it was."""
    over = evidence.facts.get("scanned")
    if not isinstance(finding.fact, OperationRaised) or not isinstance(finding.fact.reason, ScanRows) or over is None:
        return
    for line, call in calls_at(evidence, location(over[1]), "scan"):
        given = line.keyword("xs") or next(iter(call.args[2:3]), None)
        module, where = of_arrays(call)
        if given is None:
            continue
        # What has no batch axis in front, such as a row of numbers, one for each step, stays.
        parts = [given] if len(over[0]) == 1 else _parts(assigned_to(line, given))
        rows = finding.fact.reason.shape[0]
        turn = [part for part, shape in zip(parts, over[0], strict=False) if len(shape) > 1 and shape[0] == rows]
        if len(parts) != len(over[0]) or not turn:
            continue
        picked = parents(line.source.tree).get(call)
        if isinstance(picked, ast.Subscript) and whole_number(picked.slice) == 1 and {*turn} <= {*ast.walk(call)}:
            edits: list[Edit] = [line.edit(picked, _turned(picked, turn, module), where)]
        else:
            edits = [line.edit(part, f"{module}.swapaxes({IT}, 0, 1)", where) for part in turn]
            edits += turned_back(line, call)
        yield f"Swap batch and steps around scan at line {call.lineno}", edits, "scan steps through the first axis."


def _turned(whole: ast.expr, parts: list[ast.expr], module: str) -> str:

    spans = [span_of(part) for part in parts]

    class Swapped(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            if isinstance(node, ast.expr) and span_of(node) in spans:
                return ast.Name(f"{module}.swapaxes({ast.unparse(node)}, 0, 1)", ast.Load())
            return self.generic_visit(node)

    return f"{module}.swapaxes({ast.unparse(Swapped().visit(copy.deepcopy(whole)))}, 0, 1)"


def _parts(given: ast.expr) -> list[ast.expr]:
    if isinstance(given, ast.Dict):
        keyed = {str(key.value): value for key, value in zip(given.keys, given.values, strict=True) if isinstance(key, ast.Constant)}
        return [keyed[key] for key in sorted(keyed)] if len(keyed) == len(given.keys) else []
    return listed(given)


@of(BatchScanned)
def scanned_along_steps(evidence: Evidence, finding: Finding, fact: BatchScanned) -> Made:
    """The axis of the steps for ``associative_scan``, where it is given none."""
    for line in lines_of(evidence)[:1]:
        call = line.call("associative_scan")
        if call is not None and line.keyword("axis") is None:
            yield (f"Pass axis=1 to associative_scan at {line.at}", [line.more(call, "axis=1")], "It then runs along the steps of each sample.")


_SEED, _RANDOM = "{seed}", "{random}"
_KEYS = frozenset({"PRNGKey", "key"})
# What a function of Python or NumPy draws, and its arguments as keras.random names them.
_DRAWS: dict[str, tuple[str, tuple[str, ...]]] = {
    "normal": ("normal", ("mean", "stddev", "shape")),
    "gauss": ("normal", ("mean", "stddev")),
    "standard_normal": ("normal", ("shape",)),
    "randn": ("normal", ()),
    "uniform": ("uniform", ("minval", "maxval", "shape")),
    "random": ("uniform", ("shape",)),
    "random_sample": ("uniform", ("shape",)),
    "rand": ("uniform", ()),
}
_WORDS = {"loc": "mean", "scale": "stddev", "mu": "mean", "sigma": "stddev", "low": "minval", "high": "maxval", "size": "shape"}


def seeded_anew(evidence: Evidence, finding: Finding) -> Made:
    """A seed that the layer or model keeps, in place of none, a number, or a key that is made of one."""
    unseeded = isinstance(finding.fact, Unseeded)
    for line in lines_of(evidence)[:1] if unseeded else lines_at(evidence, finding.location) if isinstance(finding.fact, Constant) else []:
        call, seed = line.node, line.keyword("seed")
        # The key may be made above, and split.
        made_of, reads = [call], loaded(call.args[0]) if isinstance(call, ast.Call) and call.args else set()
        for item in reversed([*nodes(line.scope, ast.Assign)]):
            if reads & {one.id for target in item.targets for one in nodes(target, ast.Name)}:
                made_of.append(item.value)
                reads |= loaded(item.value)
        keys = [
            one
            for item in filter(None, made_of)
            for one in nodes(item, ast.Call)
            if called(one) in _KEYS and one.args and isinstance(one.args[0], ast.Constant)
        ]
        made = _generators(line, seed)
        if isinstance(call, ast.Call) and (unseeded or isinstance(seed, ast.Constant) or made) and "jax." not in ast.unparse(call.func):
            text = line.source.of(call)
            new = text.replace(f"seed={line.source.of(seed)}", f"seed={_SEED}") if seed is not None else f"{text[:-1]}, seed={_SEED})"
            unread = [one for one in made if isinstance(one, ast.Assign)]
            gone = [line.removed(one) for one in unread]
            for title, edits, why in _kept(line, call, new):
                yield title, [*edits, *gone], why
            return
        if keys and not unseeded:
            yield from _kept(line, keys[0], f"{_SEED}.next()")
            return
        held = call.args[0] if isinstance(call, ast.Call) and call.args and not unseeded else None
        key = _held_key(line, held) if isinstance(held, ast.Attribute) else None
        if isinstance(call, ast.Call) and held is not None and key is not None:
            new = line.source.of(call).replace(line.source.of(held), f"{_SEED}.next()", 1)
            uses = [one for one in nodes(line.owner(), ast.Attribute) if ast.unparse(one) == ast.unparse(held)]
            only = any(part.body == [key] for part in nodes(line.owner(), ast.FunctionDef))
            unread = [key] if len(uses) == 2 and not only else []
            gone = [line.removed(one) for one in unread]
            for title, edits, why in _kept(line, call, new):
                yield title, [*edits, *gone], why
            return


def seed_for_key(evidence: Evidence, finding: Finding) -> Made:
    """The next key of a seed that the layer keeps, where a random function of JAX is given a number."""
    for line in lines_of(evidence)[:1]:
        call = line.call()
        ways = ("jax.random.", "jrandom.", "jr.", *["random."] * ("from jax import" in line.source.text))
        if call is not None and call.args and ast.unparse(call.func).startswith(ways) and line.number(call.args[0]) is not None:
            yield from _kept(line, call.args[0], f"{_SEED}.next()")


def _held_key(line: Line, held: ast.Attribute) -> ast.Assign | None:
    every = [one for one in nodes(line.owner(), ast.Assign) if [ast.unparse(target) for target in one.targets] == [ast.unparse(held)]]
    key = every[0].value if len(every) == 1 else None
    made = isinstance(key, ast.Call) and called(key) in _KEYS and all(isinstance(one, ast.Constant) for one in key.args)
    return every[0] if made else None


def _generators(line: Line, seed: ast.expr | None) -> list[ast.AST]:
    if isinstance(seed, ast.Call) and called(seed) == "SeedGenerator":
        return [seed]
    if not isinstance(seed, ast.Name):
        return []
    given = [one for one in nodes(line.scope, ast.Assign) if [ast.unparse(target) for target in one.targets] == [seed.id]]
    read = [one for one in nodes(line.scope, ast.Name) if one.id == seed.id and isinstance(one.ctx, ast.Load)]
    alone = len(given) == len(read) == 1 and isinstance(given[0].value, ast.Call) and called(given[0].value) == "SeedGenerator"
    return [given[0]] if alone else []


@of(HostDrawn)
def on_device(evidence: Evidence, finding: Finding, fact: HostDrawn) -> Made:
    """``keras.random`` with a seed that is kept, for what the host draws; and a choice by ``where`` for a branch on it."""
    for line in lines_at(evidence, finding.location):
        new = _in_keras(line.node)
        if isinstance(line.node, ast.Call) and new:
            yield from _kept(line, line.node, new)


def _in_keras(call: ast.AST | None) -> str:
    if isinstance(call, ast.Call) and called(call) == "permutation" and len(call.args) == 1 and "jax" not in ast.unparse(call.func):
        return f"{_RANDOM}.shuffle({MODULE}.arange({ast.unparse(call.args[0])}), seed={_SEED})"
    name, order = _DRAWS.get(called(call), ("", ())) if isinstance(call, ast.Call) else ("", ())
    if not isinstance(call, ast.Call) or not name or {"keras", "jax", "tf"} & set(ast.unparse(call.func).split(".")):
        return ""
    given = {key: ast.unparse(value) for key, value in zip(order, call.args, strict=False)}
    given |= {_WORDS.get(word.arg or "", word.arg or ""): ast.unparse(word.value) for word in call.keywords}
    if not order:
        given["shape"] = f"({''.join(f'{ast.unparse(one)}, ' for one in call.args).strip()})"
    shape = given.pop("shape", "()")
    shape = f"({shape},)" if shape.isdigit() else shape
    words = "".join(f"{key}={value}, " for key, value in given.items())
    return f"{_RANDOM}.{name}({shape}, {words}seed={_SEED})"


def _kept(line: Line, call: ast.expr, new: str) -> Made:
    source, above = line.source, parents(line.source.tree)
    # A key is given to the call around it.
    what = ast.unparse(next(one.func for one in (call, above.get(call)) if isinstance(one, ast.Call)))
    title = f"Store a seed generator: self.seed_generator, for {what} at line {call.lineno}"
    why = "Its state is a variable, so every step draws new values."
    step = line.scope if isinstance(line.scope, ast.FunctionDef) else None
    state = groups(step) if step is not None and len(step.args.args) == 3 else []
    statement = statement_of(above, call)

    def edit(node: ast.expr | ast.stmt, text: str, module: str = "keras.ops") -> Seeded:
        return Seeded(line.raised.function, line.raised.file, span_of(node), text, isinstance(node, ast.stmt), module)

    if state and isinstance(statement, ast.Assign):
        text = stateless(source.of(statement).replace(source.of(call), new), source.indent(statement), state[1])
        yield title, [edit(statement, text, "keras")], why
    elif isinstance(statement, ast.If) and any(one is call for one in ast.walk(statement.test)):
        for text, rest in _chosen(statement, above, call, new, source.indent(statement)):
            gone = [line.removed(one) for one in rest]
            yield title, [edit(statement, text), *gone], f"{why} Both values are computed, and a random number chooses."
    else:
        branch = next((one for one in nodes(statement, ast.IfExp) if any(item is call for item in ast.walk(one.test))), None)
        if branch is None:
            yield title, [edit(call, new)], why
        else:
            test, values = ast.unparse(branch.test).replace(ast.unparse(call), new), (ast.unparse(branch.body), ast.unparse(branch.orelse))
            yield title, [edit(branch, f"{MODULE}.where({test}, {', '.join(values)})")], why


def _chosen(branch: ast.If, above: dict[ast.AST, ast.AST], call: ast.expr, new: str, pad: str) -> Iterator[tuple[str, list[ast.stmt]]]:
    test, plain = branch.test, ""
    if isinstance(test, ast.BoolOp):
        if not isinstance(test.op, ast.And) or branch.orelse or not any(one is call for one in ast.walk(test.values[-1])):
            return
        plain, test = " and ".join(map(ast.unparse, test.values[:-1])), test.values[-1]
    block = next((body for body in (getattr(above[branch], name, []) for name in ("body", "orelse")) if branch in body), [])
    after = block[block.index(branch) + 1 :]
    ends: list[ast.stmt] = [one for one in after if isinstance(one, ast.Return)] if len(after) == 1 and isinstance(branch.body[-1], ast.Return) else []
    whole = ast.If(branch.test, branch.body, branch.orelse or [*ends])
    text = branches(whole, ast.unparse(test).replace(ast.unparse(call), new))
    if text is not None:
        yield (f"if {plain}:\n{pad}    {text}", []) if plain else (text, ends if not branch.orelse else [])
