"""Flows made by hand, so that what the view shows does not hang on what a tracer finds."""

from __future__ import annotations

from jupyter_tpushape.flow import (
    Buffer,
    Edge,
    Edit,
    Effect,
    Failure,
    Finding,
    Fix,
    Flow,
    LayerMemory,
    Location,
    Node,
    Replica,
    Side,
    Spec,
    Target,
    Tried,
    Verdict,
    Weight,
)  # fmt: skip
from jupyter_tpushape.report import Report
from jupyter_tpushape.views.comparison import diff

EVIL = "</script><script>alert(2)</script>"
IMAGE = "<img src=x onerror=alert(1)>"
V5E = Target("v5e-8", 8, 1, "v5e", 16 * 1024**3, "TPUStrategyV2")


def held(*shapes: tuple[int | None, ...], replicas: int = 8) -> tuple[Replica, ...]:
    """Replicas 0, 1, ... with these shapes; the last one repeats."""
    return tuple(Replica(i, f"/replica:0/task:0/device:TPU:{i}", shapes[min(i, len(shapes) - 1)]) for i in range(replicas))


def at(line: int, text: str = "") -> Location:
    return Location("<cell>", line, "7f3a9c1e-1", 4, text)


def _pipeline(batch: int, edges: list[Edge], last: str = "split") -> list[Node]:
    image = Spec((28, 28, 1), "float32", axes=("rows", "columns", "channels"))
    batched = Spec((batch, 28, 28, 1), "float32", axes=("batch", "rows", "columns", "channels"))
    edges += [
        Edge("d1", "slices", "map", Spec((28, 28, 1), "uint8")),
        Edge("d2", "map", "batch", image),
        Edge("d3", "batch", "prefetch", batched),
        Edge("d4", "prefetch", last, batched),
    ]
    return [
        Node("slices", "from_tensor_slices", "stage", "TensorSlice", note="28×28×1 u8, label i32"),
        Node("map", "map normalise", "stage", "Map", note="28×28×1 f32"),
        Node("batch", f"batch({batch})", "stage", "Batch", note=f"{batch}×28×28×1 f32"),
        Node("prefetch", "prefetch", "stage", "Prefetch", note="at most 2 batches ahead"),
    ]


def conv_lstm() -> Report:
    """Conv2D into LSTM: a failure with fixes that were tried."""
    grid = ("batch", "rows", "columns", "channels")
    edges: list[Edge] = []
    nodes = _pipeline(64, edges)
    eight = held((8, 28, 28, 1))
    nodes += [
        Node("split", "64 rows ÷ 8 replicas = 8 each", "split", "", note="v5e-8 · even and static"),
        Node("model", "digits", "layer", "Sequential", location=at(1), params=320),
        Node("conv2d", "conv2d", "layer", "Conv2D", "model", location=at(3, "    layers.Conv2D(32, 3, activation='relu'),"), params=320,
             config={"filters": 32, "kernel_size": [3, 3], "activation": "relu", "padding": "valid", "data_format": "channels_last"},
             weights=(Weight("kernel", (3, 3, 1, 32), "float32", copies=8), Weight("bias", (32,), "float32", copies=8))),
        Node("lstm", "lstm", "layer", "LSTM", "model", "failed", at(4, "    layers.LSTM(64),"), config={"units": 64, "activation": "tanh"},
             failure=Failure("ValueError", 'Input 0 of layer "lstm" is incompatible with the layer: expected ndim=3, found ndim=4.', "build")),
        Node("dense", "dense", "layer", "Dense", "model", "not-reached", at(5), config={"units": 10, "activation": "softmax"}),
        Node("loss", "sparse_categorical_crossentropy", "loss", "SparseCategoricalCrossentropy", status="not-reached"),
    ]  # fmt: skip
    edges += [
        Edge("e1", "split", "conv2d", Spec((8, 28, 28, 1), "float32", axes=grid), replicas=eight),
        Edge("e2", "conv2d", "lstm", Spec((8, 26, 26, 32), "float32", axes=grid), "failed", held((8, 26, 26, 32))),
        Edge("e3", "lstm", "dense", Spec(None, "float32"), "not-reached"),
        Edge("e4", "dense", "loss", Spec(None, "float32"), "not-reached"),
        Edge("e5", "split", "loss", Spec((8,), "int32", axes=("batch",)), "ok", held((8,)), "labels"),
    ]
    rows = Fix(
        "Read the rows as time steps", (Edit("insert-layer", "e2", {"layer": "Reshape", "target_shape": [26, 832]}),), True,
        Effect((8, 26, 26, 32), (8, 26, 832), (8, 10), 229632),
        "--- In[4]\n+++ In[4]\n@@ -3,3 +3,4 @@\n     layers.Conv2D(32, 3, activation='relu'),\n+    layers.Reshape((26, 26 * 32)),\n     layers.LSTM(64),\n"
        "     layers.Dense(10, activation='softmax'),\n", cell="7f3a9c1e-1", proof="source",
    )  # fmt: skip
    every = Fix(
        "Read every position as a step", (Edit("insert-layer", "e2", {"layer": "Reshape", "target_shape": [676, 32]}),), True,
        Effect((8, 26, 26, 32), (8, 676, 32), (8, 10), 24832, "(8, 26, 26, 32) → (8, 676, 32) → (8, 10) · +24,832 parameters · 676 steps are slow on a TPU"),
        "--- In[4]\n+++ In[4]\n@@ -3,3 +3,4 @@\n     layers.Conv2D(32, 3, activation='relu'),\n+    layers.Reshape((26 * 26, 32)),\n     layers.LSTM(64),\n",
        cell="7f3a9c1e-1", proof="source",
    )  # fmt: skip
    finding = Finding(
        "rank.recurrent", "error", "lstm cannot take what conv2d gives",
        "An LSTM reads a sequence of vectors. Conv2D gives a grid of vectors: rows × columns × 32 channels. Say which axis is time.",
        Side("(batch, time, features)", ("batch", "time", "features"), (1, 2)),
        Side("(8, 26, 26, 32)", ("8", "26", "26", "32"), (2, 3)),
        ("conv2d", "lstm"), ("e2",), at(4), [rows, every],
        ("Flatten gives rank 2, and an LSTM reads rank 3", "GlobalAveragePooling2D gives rank 2, and an LSTM reads rank 3"),
    )  # fmt: skip
    verdict = Verdict("forward", "xla", True, "v5e-8", layers=(LayerMemory("conv2d", "conv2d", 1_417_216, 692_224),), temporaries=2_000_000)
    return Report(Flow(nodes, edges, "keras 3.15.1"), [finding], target=V5E, verdicts=[verdict], title="Sequential digits", seconds=0.21)


def compiled() -> Report:
    """A train step that the TPU compiler was asked about, at several batches."""
    report = conv_lstm()
    gib = 2**30
    layers = (LayerMemory("conv2d", "conv2d", 3 * gib, gib, 2 * gib), LayerMemory("lstm", "lstm", gib, gib))
    buffers = (Buffer("conv", "temporary", "f32", (64, 26, 26, 12), (128, 26, 26, 16), 2 * gib, gib, "conv2d"),)
    tried = tuple(Tried(rows, rows < 512, rows * gib // 32 if rows < 512 else 0, "quick") for rows in (64, 128, 256, 512))
    report.findings = []
    report.verdicts = [
        Verdict(
            "train", "tpu", True, "v5e-8", "compiles at quick effort", effort="quick", hbm_bytes=16 * gib, arguments=2 * gib,
            temporaries=3 * gib, flops=2e9, moved=1e9, intensity=2.0, layers=layers, buffers=buffers, unmapped=gib, tried=tried,
        )
    ]  # fmt: skip
    return report


def missing_flatten() -> Report:
    """A dense head on a grid: the model runs, and the loss cannot take what it gives."""
    edges: list[Edge] = []
    nodes = _pipeline(64, edges)
    grid = ("batch", "rows", "columns", "channels")
    nodes += [
        Node("split", "64 rows ÷ 8 replicas = 8 each", "split", "", note="v5e-8 · even and static"),
        Node("conv2d", "conv2d", "layer", "Conv2D", location=at(2), params=160, config={"filters": 16, "kernel_size": [3, 3], "activation": "relu"}),
        Node("pool", "max_pooling2d", "layer", "MaxPooling2D", location=at(3), config={"pool_size": [2, 2]}),
        Node("dense", "dense", "layer", "Dense", location=at(4), params=170, config={"units": 10, "activation": "softmax"}),
        Node("loss", "sparse_categorical_crossentropy", "loss", "SparseCategoricalCrossentropy", status="failed",
             failure=Failure("ValueError", "Shape mismatch: labels (8,), predictions (8, 13, 13, 10)", "loss")),
        Node("acc", "accuracy", "metric", "SparseCategoricalAccuracy", status="not-reached"),
    ]  # fmt: skip
    shapes: list[tuple[str, str, tuple[int, ...]]] = [
        ("split", "conv2d", (8, 28, 28, 1)), ("conv2d", "pool", (8, 26, 26, 16)), ("pool", "dense", (8, 13, 13, 16)), ("dense", "loss", (8, 13, 13, 10)),
    ]  # fmt: skip
    for i, (a, b, shape) in enumerate(shapes):
        edges.append(Edge(f"e{i}", a, b, Spec(shape, "float32", axes=grid), "failed" if b == "loss" else "ok", held(shape)))
    edges += [
        Edge("labels", "split", "loss", Spec((8,), "int32", axes=("batch",)), "ok", held((8,)), "labels"),
        Edge("m", "dense", "acc", Spec((8, 13, 13, 10), "float32"), "not-reached"),
    ]
    fix = Fix(
        "Flatten before the classifier", (Edit("insert-layer", "e2", {"layer": "Flatten"}),), True, Effect((8, 13, 13, 16), (8, 2704), (8, 10), 26880),
        "@@ -3,2 +3,3 @@\n     layers.MaxPooling2D(),\n+    layers.Flatten(),\n     layers.Dense(10, activation='softmax'),\n", cell="7f3a9c1e-1", proof="source",
    )  # fmt: skip
    pool = Fix(
        "Average each channel over the grid", (Edit("replace-layer", "pool", {"layer": "GlobalAveragePooling2D"}),), True,
        Effect((8, 26, 26, 16), (8, 16), (8, 10)),
        "@@ -3,1 +3,1 @@\n-    layers.MaxPooling2D(),\n+    layers.GlobalAveragePooling2D(),\n", cell="7f3a9c1e-1", proof="source",
    )  # fmt: skip
    finding = Finding(
        "loss.rank", "error", "The loss gets one prediction for each of 13 × 13 positions, and one label for each image",
        "Dense works on the last axis of whatever rank it is given, so it does not raise: the grid goes on to the loss. "
        "Nothing between conv2d and dense folds the rows and columns.",
        Side("(8, 10)", ("8", "10"), ()), Side("(8, 13, 13, 10)", ("8", "13", "13", "10"), (1, 2)),
        ("pool", "dense", "loss"), ("e3",), at(4), [fix, pool],
    )  # fmt: skip
    return Report(Flow(nodes, edges, "keras 3.15.1"), [finding], target=V5E, title="Sequential", seconds=0.18)


def uneven() -> Report:
    """Twelve rows on eight replicas."""
    edges: list[Edge] = []
    nodes = _pipeline(12, edges)
    nodes += [
        Node("split", "12 rows ÷ 8 replicas: uneven", "split", "", note="6 replicas get 2 rows, 2 get none", status="failed"),
        Node("model", "classifier", "layer", "Functional", location=at(1), params=7850),
        Node("flatten", "flatten", "layer", "Flatten", "model", location=at(2)),
        Node("dense", "dense", "layer", "Dense", "model", location=at(3), params=7850, config={"units": 10}),
        Node("loss", "sparse_categorical_crossentropy", "loss", "SparseCategoricalCrossentropy"),
    ]
    for i, (a, b, rest) in enumerate([("split", "flatten", (28, 28, 1)), ("flatten", "dense", (784,)), ("dense", "loss", (10,))]):
        shapes = [(2, *rest)] * 6 + [(0, *rest)] * 2
        edges.append(Edge(f"e{i}", a, b, Spec((2, *rest), "float32"), "ok", held(*shapes)))
    edges.append(Edge("labels", "split", "loss", Spec((2,), "int32"), "ok", held(*[(2,)] * 6, (0,)), "labels"))
    fix = Fix(
        "Drop the batch that is not full", (Edit("batching", "batch", {"drop_remainder": True, "batch_size": 16}),), True, None,
        "@@ -2,1 +2,1 @@\n-ds = ds.batch(12)\n+ds = ds.batch(16, drop_remainder=True)\n", cell="7f3a9c1e-1", proof="source",
    )  # fmt: skip
    findings = [
        Finding("tpu.split", "tpu", "12 rows do not split evenly over 8 replicas: two get none",
                "A TPU program is compiled for one batch shape, and every replica runs it. Take a batch size that 8 divides.",
                Side("a multiple of 8"), Side("12 rows"), ("batch", "split"), ("e0",), None, [fix]),
        Finding("tpu.pad", "slow", "A batch of 2 rows fills 2 of the 8 rows that a TPU core works on at once", nodes=("dense",), edges=("e1",)),
        Finding("silent.axis", "silent", "softmax is not applied, and the loss expects probabilities", nodes=("dense",), edges=("e2",)),
    ]  # fmt: skip
    return Report(Flow(nodes, edges, "keras 3.15.1"), findings, target=V5E, title="classifier", seconds=0.1)


def compared() -> Report:
    """Two programs in one: the broken ones, side by side."""
    return diff(conv_lstm(), missing_flatten()).report


def chain(n: int, *, folded: bool = True) -> Report:
    """A chain of ``n`` layers with a residual every five."""
    nodes, edges = [Node("n0", "input", "input", "InputLayer")], []
    spec, last = Spec((8, 64, 64, 32), "float32"), "n0"
    kinds = ["Conv2D", "BatchNormalization", "ReLU", "Conv2D", "Add"]
    for i in range(1, n):
        kind = kinds[(i - 1) % 5]
        units = {} if folded else {"filters": i}
        nodes.append(Node(f"n{i}", f"{kind.lower()}_{i}", "layer", kind, config=units, params=0 if folded else i))
        edges.append(Edge(f"c{i}", last, f"n{i}", spec))
        if kind == "Add":
            edges.append(Edge(f"r{i}", f"n{i - 5}", f"n{i}", spec))
        last = f"n{i}"
    return Report(Flow(nodes, edges, "keras 3.15.1"), [], title=f"chain of {n}")


def hostile() -> Report:
    """Names, messages, diffs and config that are markup."""
    nodes = [
        Node("in", "input", "input", "InputLayer"),
        Node(EVIL, EVIL, "layer", IMAGE, location=Location(IMAGE, 3), config={IMAGE: EVIL}, note=IMAGE, weights=(Weight(EVIL, (1,), "float32"),)),
        Node("out", "]]>" + EVIL + "<!--", "layer", "Dense", status="failed", failure=Failure("ValueError", IMAGE)),
    ]
    edges = [Edge("a", "in", EVIL, Spec((8, 4), "float32", axes=("batch", IMAGE))), Edge("b", EVIL, "out", Spec((8, 4), IMAGE), "failed", label=EVIL)]
    fix = Fix(IMAGE, (), True, Effect(text=EVIL), f"@@ -1 +1 @@\n-{IMAGE}\n+{EVIL}\n", proof="source")
    finding = Finding(
        IMAGE, "error", f"{EVIL} & {IMAGE} \u2028", EVIL, Side(IMAGE, (IMAGE, EVIL), (1,)), Side(EVIL), ("out",), ("b",),
        Location(IMAGE, 3), [fix], (EVIL,), f"javascript:{EVIL}",
    )  # fmt: skip
    return Report(Flow(nodes, edges, EVIL), [finding], target=Target(IMAGE, 8), title=EVIL, limits=(IMAGE,))


ALL = {"conv_lstm": conv_lstm, "missing_flatten": missing_flatten, "uneven": uneven, "hostile": hostile}
