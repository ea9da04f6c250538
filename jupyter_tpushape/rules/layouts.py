"""Keras on JAX: a layout map against the variables that it shards."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Any

from ..examine.evidence import Evidence
from ..examine.layout_facts import Entry, Laid, broken, matches
from ..flow import Finding
from .facts.layouts import IdleAxis, KeyBroken, KeysClash, KeyUnused, LeftWhole, MadeEarly, MeshAxes, SlotApart, TooLong, Twice, Undivided, for_batch
from .registry import check, rule

# A variable of at least this many bytes is reported if it is replicated on every device.
LARGE = 64 * 2**20
# How alike a key and the end of a path are, as difflib counts, for one to be suggested for the other, and to be taken for it.
_CLOSE, _SAME = 0.75, 0.9
_PROGRAM = """
def build():
    m = keras.Sequential([keras.Input((256,)), L.Dense({units}, name="up"), L.Dense(8, name="head")]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((64, 256), "float32"), np.zeros((64, 8), "float32")
def strategy():
    D = keras.distribution
    mesh = D.DeviceMesh((2, 4), ["batch", "model"], devices=[f"tpu:{{i}}" for i in range(8)])
    layout = D.LayoutMap(mesh)
    {layout}
    return D.ModelParallel(layout_map=layout)
"""


def _example(layout: str, units: int = 512) -> str:
    return _PROGRAM.format(layout=layout, units=units)


_RIGHT = _example('layout[".*up/kernel"] = (None, "model")')
_COMMON: dict[str, Any] = {"backend": "jax", "frameworks": ("keras",), "passes": _RIGHT}
UNUSED = rule(
    "layout-key", "A key of the layout map matches no variable", severity="silent", source="keras.distribution.LayoutMap.__getitem__: re.fullmatch",
    fails=_example('layout["up.*"] = (None, "model"); layout["kernel"] = ("model",)'), **_COMMON,
    doc="""Variables that match no key are silently replicated on every device, so a model that should be sharded needs the memory of an unsharded one. A
key that matches no variable and resembles none is a note.""",
)  # fmt: skip
PATTERN = rule(
    "layout-pattern", "A key of the layout map is not a regular expression", severity="error", source="keras.distribution.LayoutMap.__getitem__: re.fullmatch",
    fails=_example('layout["*/up/kernel"] = (None, "model")'), **_COMMON,
)  # fmt: skip
CLASH = rule(
    "layout-clash", "Two keys of the layout map match one variable", severity="error", source="keras.distribution.LayoutMap.__getitem__",
    fails=_example('layout[".*up.*"] = (None, "model"); layout[".*kernel"] = ("model", None)'), **_COMMON,
)  # fmt: skip
LONG = rule(
    "layout-rank", "A layout has more axes than the variable", severity="error", source="jax.sharding.NamedSharding: rank of the PartitionSpec",
    fails=_example('layout[".*up.*"] = (None, "model")'), **_COMMON,
)  # fmt: skip
TWICE = rule(
    "layout-axis-twice", "A layout uses a mesh axis twice", severity="error", source="jax.sharding.PartitionSpec: DuplicateSpecError",
    fails=_example('layout[".*up/kernel"] = ("model", "model")'), **_COMMON,
)  # fmt: skip
UNDIVIDED = rule(
    "layout-indivisible", "A variable cannot be sharded evenly over the mesh", severity="tpu", source="jax.device_put: IndivisibleError",
    fails=_example('layout[".*up/kernel"] = (None, "model")', 510), **_COMMON,
)  # fmt: skip
IDLE = rule(
    "mesh-axis-idle", "Devices along a mesh axis repeat each other's work", severity="slow", source="keras.distribution.ModelParallel",
    fails=_example('layout[".*up/kernel"] = (None, None)'), **_COMMON,
)  # fmt: skip
WHOLE = rule(
    "layout-whole", "A large variable is replicated on every device", severity="note", source="keras.distribution.ModelParallel.get_variable_layout",
    fails=_example('layout[".*head/kernel"] = ("model", None)', 131072), **_COMMON,
)  # fmt: skip
EARLY = rule(
    "mesh-set-late", "The model was built before the distribution was set", severity="error",
    source="keras/src/backend/jax/trainer.py: a mix of local and distributed variables", backend="jax", frameworks=("keras",),
    fails="""
def build():
    m = keras.Sequential([keras.Input((16,)), L.Dense(8)]); m.compile("sgd", "mse"); return m
build = build()
def data():
    return np.zeros((64, 16), "float32"), np.zeros((64, 8), "float32")
def strategy():
    D = keras.distribution
    if D.distribution() is None:
        D.set_distribution(D.DataParallel(device_mesh=D.DeviceMesh((8,), ["batch"], devices=[f"tpu:{i}" for i in range(8)])))
    return D.distribution()
""",
    passes="""
def build():
    m = keras.Sequential([keras.Input((16,)), L.Dense(8)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((64, 16), "float32"), np.zeros((64, 8), "float32")
def strategy():
    D = keras.distribution
    if D.distribution() is None:
        D.set_distribution(D.DataParallel(device_mesh=D.DeviceMesh((8,), ["batch"], devices=[f"tpu:{i}" for i in range(8)])))
    return D.distribution()
""",
    doc="`keras.distribution.set_distribution` places variables when they are created, and does not move existing ones.",
)  # fmt: skip
_OWN_OPTIMIZER = """
class Momentum(keras.optimizers.Optimizer):
    def build(self, variables):
        super().build(variables)
        self.speed = [{made} for v in variables]
    def update_step(self, gradient, variable, rate):
        speed = self.speed[self._get_variable_index(variable)]
        self.assign(speed, 0.9 * speed + gradient); self.assign_sub(variable, rate * speed)
"""
SLOT = rule(
    "layout-slot", "An optimizer variable has a different layout than its model variable", severity="slow",
    source="keras.optimizers.Optimizer.add_variable: a variable without a layout takes the map's for its own path", **{
        **_COMMON,
        "passes": _OWN_OPTIMIZER.format(made='self.add_variable_from_reference(v, "speed")') + _RIGHT.replace('"sgd"', "Momentum(0.1)"),
    },
    fails=_OWN_OPTIMIZER.format(made='self.add_variable(v.shape, name="speed")') + _RIGHT.replace('"sgd"', "Momentum(0.1)"),
    doc="""Every step needs both in one layout, so one of them is exchanged between devices in every step. A replicated slot uses as much memory on each
device as its variable on all of them.""",
)  # fmt: skip


@check(order=59, backend="jax")
def batch_axis(evidence: Evidence) -> Iterator[Finding]:
    """The axis that the batch is sharded along."""
    told = evidence.facts.get("batch_axis")
    if told is not None and evidence.failure is None:
        yield Finding.of("code-raises", "error", MeshAxes(told[0], told[1], batch=True))


@check(order=60, backend="jax")
def judged(evidence: Evidence) -> Iterator[Finding]:
    """The map, entry by entry; then the devices."""
    laid: Laid | None = evidence.facts.get("layout")
    if laid is None or not laid.variables:
        return
    if laid.early:
        yield Finding.of(EARLY.id, "error", MadeEarly(laid.early[0], len(laid.early), laid.mesh.devices, laid.scoped))
    if any(broken(entry.key) for entry in laid.entries):
        yield from _patterns(laid)
        return
    yield from _clashes(laid)
    for entry in laid.entries:
        yield from _entry(laid, entry)
    yield from _idle(laid)
    yield from _whole(laid)
    if laid.slots:
        first = max(laid.slots, key=lambda slot: slot.bytes)
        fact = SlotApart(first.path, first.axes, first.variable, first.beside, len(laid.slots) - 1, sum(slot.bytes for slot in laid.slots))
        yield Finding.of(SLOT.id, "slow", fact)


def _clashes(laid: Laid) -> Iterator[Finding]:
    said: set[tuple[str, ...]] = set()
    for path, _, _, _ in laid.variables:
        keys = tuple(entry.key for entry in laid.fits(path))
        if len(keys) > 1 and path not in laid.taken and keys not in said:
            said.add(keys)
            yield Finding.of(CLASH.id, "error", KeysClash(path, keys))


def _patterns(laid: Laid) -> Iterator[Finding]:
    for entry in laid.entries:
        if error := broken(entry.key):
            plain = Entry(_glob(entry.key), entry.axes)
            whole = [path for path, _, _, _ in laid.variables if matches(plain.key, path)]
            near = whole or (_near(laid, plain)[0] if not broken(plain.key) else [])
            yield Finding.of(PATTERN.id, "error", KeyBroken(entry.key, error, entry.axes, tuple(near), _key_for(laid, plain, near)))


def _glob(key: str) -> str:
    return re.sub(r"(?<!\\)(^|[\w/-])\*+", r"\1.*", re.sub(r"^\*+/", ".*", key))


def _entry(laid: Laid, entry: Entry) -> Iterator[Finding]:
    used = [axis for axis in entry.axes if axis]
    if len(used) > len(set(used)):
        yield Finding.of(TWICE.id, "error", Twice(entry.key, entry.axes))
        return
    fitting = [(path, shape) for path, shape, _, _ in laid.variables if entry in laid.fits(path)]
    fitting += [(path, shape) for path, shape in laid.given if entry in laid.fits(path)]
    if not fitting:
        yield from _unused(laid, entry)
        return
    long = next(((path, shape) for path, shape in fitting if len(entry.axes) > len(shape)), None)
    if long is not None:
        yield Finding.of(LONG.id, "error", TooLong(*long, entry.axes, entry.key))
        return
    broken = [(path, shape, cut) for path, shape in fitting if (cut := laid.mesh.undivided(shape, entry.axes)) is not None]
    if broken:
        path, shape, (place, axis) = broken[0]
        instead = divided(laid, entry, [shape for _, shape in fitting], place)
        fact = Undivided(path, shape, entry.axes, place, laid.mesh.size(axis), entry.key, len(broken) - 1, instead)
        yield Finding.of(UNDIVIDED.id, "tpu", fact)


def divided(laid: Laid, entry: Entry, shapes: list[tuple[int, ...]], place: int) -> tuple[str, ...]:
    """The entry with one of its mesh axes on another axis of all its variables, if that divides evenly."""
    axis, rank = entry.axes[place], min(map(len, shapes))
    free = [other for other in range(rank) if other >= len(entry.axes) or not entry.axes[other]]
    for other in sorted(free, key=lambda other: -min(shape[other] for shape in shapes)):
        made = [*entry.axes, *[""] * (rank - len(entry.axes))]
        made[place], made[other] = "", axis
        if not any(laid.mesh.undivided(shape, tuple(made)) for shape in shapes):
            return tuple(made)
    made = [*entry.axes]
    made[place] = ""
    return tuple(made) if not any(laid.mesh.undivided(shape, tuple(made)) for shape in shapes) else ()


def _unused(laid: Laid, entry: Entry) -> Iterator[Finding]:
    if any(matches(entry.key, path) for path in (*laid.outputs, *laid.left)) or not any(entry.axes):
        return
    near, how = _near(laid, entry)
    instead: tuple[str, ...] = ()
    # A part of a path that the key matches says more than a name that is close to it.
    if (not near or how) and (other := _for_other_axes(laid, entry)) is not None:
        (near, instead), how = other, ""
    fact = KeyUnused(entry.key, entry.axes, tuple(near), _key_for(laid, entry, near), laid.mesh.devices, how, instead)
    # Nothing comes of the whole map, or variables stay whole that the key was clearly meant for: else it may be for another variant.
    idle = not any(laid.axes(path) and any(laid.axes(path) or ()) for path, _, _, _ in laid.variables)
    yield Finding.of(UNUSED.id, "silent" if idle or (near and how not in ("renamed", "spelled")) else "note", fact)


def _for_other_axes(laid: Laid, entry: Entry) -> tuple[list[str], tuple[str, ...]] | None:
    found = [
        (path, shape)
        for path, shape, _, _ in laid.variables
        if path not in laid.taken and not laid.fits(path) and len(entry.axes) <= len(shape) and re.search(entry.key, path)
    ]
    shapes = [shape for _, shape in found]
    place = next((cut[0] for shape in shapes if (cut := laid.mesh.undivided(shape, entry.axes)) is not None), None)
    made = divided(laid, entry, shapes, place) if place is not None else ()
    return ([path for path, _ in found], made) if any(made) else None


def _near(laid: Laid, entry: Entry) -> tuple[list[str], str]:
    free = [
        path
        for path, shape, _, _ in laid.variables
        if path not in laid.taken and not laid.fits(path) and len(entry.axes) <= len(shape) and not laid.mesh.undivided(shape, entry.axes)
    ]
    found = [path for path in free if re.search(entry.key, path)]
    if found:
        return found, ""
    found = [path for path in free if matches(_glob(entry.key), path)]
    if found:
        return found, "glob"
    # As attributes of layers are named, and not the layers themselves.
    found = [path for path in free if path in laid.held and (matches(entry.key, laid.held[path]) or matches(f".*{entry.key}", laid.held[path]))]
    if found:
        return found, "held"
    # As a key is written with dots for slashes, or for a layer that bears another number.
    meant = [_words(key) for key in _alternatives(entry.key)]
    alike = [path for path in free if any(_alike(words, path) for words in meant)]
    found = [path for path in alike if any(path.rsplit("/", 1)[-1] == words[-1] for words in meant)] or alike
    if found:
        return found, ""
    found = [path for path in free if _root(entry.key) and path.split("/")[1:] == _root(entry.key)]
    if found:
        return found, "root"
    paths = [path for path, _, _, _ in laid.variables]
    found = [path for words in meant for path in _wrapped(laid, words, free)]
    if found:
        return found, "wrapped"
    found, ratio = _closest(meant, free)
    # What another key that matches nothing is as close to is not this one's.
    others = [_alternatives(one.key) for one in laid.entries if one is not entry and not any(one in laid.fits(path) for path in paths)]
    if found and not any(_closest([_words(key) for key in keys], found)[1] >= ratio for keys in others):
        return found, "" if ratio > _SAME else "spelled"
    # The layers that it was written for have other names here: clear where only one kind of layer is left that its layout would do for.
    rank, last = len(entry.axes), meant[0][-1]
    left = [path for path, shape, _, _ in laid.variables if path in free and path.rsplit("/", 1)[-1] == last and len(shape) == rank]
    return (left, "renamed") if len(meant[0]) > 1 and any(entry.axes) and len({_kind(path) for path in left}) == 1 else ([], "")


def _root(key: str) -> list[str]:
    parts = key.split("/")
    return parts[1:] if len(parts) > 2 and re.fullmatch(r"[\w/-]+", key) else []


def _alternatives(key: str) -> list[str]:
    group = re.search(r"\((?:\?:)?([\w|-]+)\)", key)
    return [key[: group.start()] + word + key[group.end() :] for word in group[1].split("|")] if group else [key]


def _words(key: str) -> list[str]:
    plain = re.sub(r"_?(\\[dws]|\[0-9\])[+*]?", "", key)
    return re.sub(r"[.*^$\\()|?+\[\]]+", "/", plain).strip("/").split("/")


def _kind(path: str) -> str:
    return re.sub(r"_?\d+", "", path)


def _wrapped(laid: Laid, words: list[str], free: list[str]) -> Iterator[str]:
    """The variables of layers that have a key's words in their paths, with parts of a layer around them between (``up/kernel`` in
    ``lora_up/inner/kernel``). Of what a wrapper adds it is the largest: the wrapped layer's own."""
    sizes = {path: held for path, _, held, _ in laid.variables}
    inside: dict[str, list[str]] = {}
    for path in free:
        parts = path.split("/")
        at = 0
        for word in words[:-1]:
            while at < len(parts) and not (parts[at] == word or word in re.split(r"[_.]", parts[at])):
                at += 1
            at += 1
        if len(words) > 1 and at < len(parts) and parts[-1] == words[-1]:
            inside.setdefault("/".join(parts[:at]), []).append(path)
    for paths in inside.values():
        yield max(paths, key=lambda path: sizes[path])


def _alike(plain: list[str], path: str) -> bool:
    words = [re.sub(r"_\d+$", "", word) for word in plain]
    parts = [re.sub(r"_\d+$", "", part) for part in path.split("/")][-len(words) :]
    return len(parts) == len(words) and all(difflib.SequenceMatcher(None, a, b).ratio() > 0.8 for a, b in zip(words, parts, strict=True))


def _closest(meant: list[list[str]], free: list[str]) -> tuple[list[str], float]:
    """The variables whose paths end most like a key is written, if they are of one kind: what a misspelled key was probably meant for."""

    def ratio(words: list[str], path: str) -> float:
        return difflib.SequenceMatcher(None, _kind("/".join(words)), "/".join(_kind(path).split("/")[-len(words) :])).ratio()

    scores = {path: max(ratio(words, path) for words in meant) for path in free if any(len(words) > 1 for words in meant)}
    best = max(scores.values(), default=0.0)
    found = [path for path, score in scores.items() if score == best]
    return (found, best) if best >= _CLOSE and len({_kind(path) for path in found}) == 1 else ([], 0.0)


def _key_for(laid: Laid, entry: Entry, near: list[str]) -> str:
    if not near:
        return ""
    for made in (_glob(entry.key), f".*{entry.key}", f"{entry.key}.*", f".*{entry.key}.*", *ends(near), entry.key.replace("/", "/(.*/)?")):
        if [path for path, _, _, _ in laid.variables if matches(made, path)] == near:
            return made
    if len(near) == 1 and _root(entry.key) == near[0].split("/")[1:]:
        return near[0]
    return re.escape(near[0]).replace(r"\_", "_").replace(r"\-", "-") if len(near) == 1 else ""


def ends(near: list[str]) -> Iterator[str]:
    """Keys by the parts that all these paths end with, numbers left open: the shortest first."""
    split = [re.sub(r"\d+", "#", path).split("/") for path in near]
    for count in range(1, min(map(len, split)) + 1):
        ends = {tuple(parts[-count:]) for parts in split}
        if len(ends) > 1:
            return
        yield ".*" + re.escape("/".join(ends.pop())).replace(r"\_", "_").replace(r"\-", "-").replace(r"\#", r"\d+").replace("#", r"\d+")


def _idle(laid: Laid) -> Iterator[Finding]:
    used = {axis for path, _, _, _ in laid.variables for axis in laid.axes(path) or ()}
    used |= {axis for entry in laid.entries for axis in entry.axes if any(matches(entry.key, path) for path in laid.outputs)}
    for name, devices in laid.mesh.sizes:
        if devices > 1 and name != laid.mesh.batch and name not in used:
            meant = for_batch(name) and not for_batch(laid.mesh.batch) and laid.mesh.batch in used
            given = laid.mesh.batch != laid.mesh.sizes[0][0]
            yield Finding.of(IDLE.id, "slow", IdleAxis(name, devices, laid.mesh.batch, meant, given))


def _whole(laid: Laid) -> Iterator[Finding]:
    cut = any(any(laid.axes(path) or ()) for path, _, _, _ in laid.variables)
    for path, shape, held, _ in laid.variables:
        if cut and held >= LARGE and laid.axes(path) == ():
            yield Finding.of(WHOLE.id, "note", LeftWhole(path, shape, held, laid.mesh.devices))
