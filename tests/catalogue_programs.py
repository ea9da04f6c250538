"""A program and its near miss for the facts of docs/catalogue.md that share a rule with others.

Each program can use ``keras``, ``L`` (``keras.layers``), ``np``, ``tf`` and ``tpushape``, as the rules' examples can.
"""

from __future__ import annotations

from dataclasses import dataclass

BOTH = ("keras", "tf_keras")


@dataclass(frozen=True)
class Program:
    """One fact's program: ``rule`` is to be found with ``severity`` in ``fails`` and not in ``passes``.

    ``says``: part of the fact's ``repr``. ``live``: build first, and trace inside the program's own ``strategy.scope()``.
    """

    rule: str
    severity: str
    fails: str
    passes: str
    says: str = ""
    tpu: str = "v5e-8"
    frameworks: tuple[str, ...] = BOTH
    live: bool = False


MODEL = """
def build():
    m = keras.Sequential([keras.Input(({n},)), {layers}L.Dense(1)]); m.compile("sgd", "mse"); return m
"""
ARRAYS = """
def data():
    return np.zeros(({rows}, {n}), "float32"), np.zeros(({rows}, 1), "float32")
"""
SLICES = """
def data():
    x, y = np.zeros((64, 4), "float32"), np.zeros((64, 1), "float32")
    return tf.data.Dataset.from_tensor_slices((x, y)){pipe}
"""
GOOD = ".batch(16, drop_remainder=True).prefetch(1)"


def model(layers: str = "", n: int = 4) -> str:
    return MODEL.format(layers=layers, n=n)


def arrays(rows: int = 64, n: int = 4) -> str:
    return ARRAYS.format(rows=rows, n=n)


def slices(pipe: str = GOOD) -> str:
    return SLICES.format(pipe=pipe)


def own(body: str) -> str:
    """A model with a layer of the user's own over (8,) rows."""
    indented = "".join(f"        {line}\n" for line in body.strip().splitlines())
    return f"\nclass Own(L.Layer):\n    def call(self, x):\n{indented}" + model("Own(), ", 8) + arrays(n=8)


def images(layer: str) -> str:
    return (
        f"""
def build():
    m = keras.Sequential([keras.Input((8, 8, 3)), {layer}L.Flatten(), L.Dense(1)]); m.compile("sgd", "mse"); return m
"""
        """
def data():
    return np.zeros((64, 8, 8, 3), "float32"), np.zeros((64, 1), "float32")
"""
    )


SCOPE = """
strategy = tpushape.tpu_strategy("v5e-8")
def build():
{body}
    return m
"""


def scoped(body: str, more: str = "") -> str:
    return SCOPE.format(body="".join(f"    {line}\n" for line in body.strip().splitlines())) + more + arrays()


MADE = "keras.Sequential([keras.Input((4,)), L.Dense(1)])"
INSIDE = scoped(f'with strategy.scope():\n    m = {MADE}\n    m.compile("sgd", "mse")')
OUTSIDE = scoped(f'm = {MADE}\nm.compile("sgd", "mse")')
SET_UP = "tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver({}))"


def set_up(strategy: str) -> str:
    return f"""
def build():
    with {strategy}.scope():
        m = {MADE}
        m.compile("sgd", "mse")
    return m
""" + arrays()


CLIENT = """
def build():
    raise tf.errors.NotFoundError(None, None, "{}")
"""
STEP = """
strategy = tpushape.tpu_strategy("v5e-8")
with strategy.scope():
    model = keras.Sequential([keras.Input((4,)), L.Dense(1)])
    optimizer = keras.optimizers.SGD(0.1)
    mean = keras.losses.MeanSquaredError()
{before}
def replica_step(x, y):
    with tf.GradientTape() as tape:
        loss = {loss}
    {inside}
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
@tf.function
def step(x, y):
    return strategy.reduce("SUM", strategy.run(replica_step, args=(x, y){options}), axis=None)
"""


SUMMED = "tf.reduce_sum(tf.square(model(x, training=True) - y)) / 16"


def step(inside: str = "pass", before: str = "", options: str = "", pipe: str = GOOD, loss: str = SUMMED) -> str:
    return STEP.format(inside=inside, before=before, options=options, loss=loss) + slices(pipe)


WORDS = """
def build():
    i = keras.Input((), dtype="string"); v = L.TextVectorization(max_tokens=9, output_sequence_length=4, vocabulary=["a", "b"])
    m = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(L.Embedding(9, 2)(v(i))))); m.compile("sgd", "mse"); return m
def data():
    return tf.data.Dataset.from_tensor_slices((["a b"] * 20, np.zeros((20, 1), "float32"))).batch(8).prefetch(1)
"""
NUMBERS = """
def build():
    i = keras.Input((4,), dtype="int64"); m = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(L.Embedding(9, 2)(i)))); m.compile("sgd", "mse"); return m
def data():
    v = L.TextVectorization(max_tokens=9, output_sequence_length=4, vocabulary=["a", "b"])
    ds = tf.data.Dataset.from_tensor_slices((["a b"] * 20, np.zeros((20, 1), "float32"))).batch(8, drop_remainder=True)
    return ds.map(lambda x, y: (tf.ensure_shape(v(x), (8, 4)), y), num_parallel_calls=2).prefetch(1)
"""
RAGGED = """
def build():
    i = keras.Input((3,)); m = keras.Model(i, L.Dense(1)(i)); m.compile("sgd", "mse"); return m
def data():
    rows = tf.ragged.constant([[1.0], [2.0, 3.0]] * 4)
    return tf.data.Dataset.from_tensor_slices((rows, np.zeros((8, 1), "float32"))).batch(8, drop_remainder=True){cure}.prefetch(1)
"""
DENSE_ROWS = ".map(lambda x, y: (x.to_tensor(shape=(8, 3)), y), num_parallel_calls=2)"
FILES = """
def data():
    import tempfile
    names = [tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) for _ in range({files})]
    [one.write("x\\n" * 64) and one.close() for one in names]
    lines = tf.data.TextLineDataset([one.name for one in names])
    made = tf.data.Options(); made.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.FILE
    rows = lines.map(lambda line: (tf.zeros((4,)), tf.zeros((1,))), num_parallel_calls=2)
    return rows.batch(16, drop_remainder=True).prefetch(1).with_options(made)
"""
GENERATED = """
def data():
    def rows():
        for _ in range(4):
            yield np.zeros((16, 4), "float32"), np.zeros((16, 1), "float32")
    return rows()
"""
SEQUENCE = """
class Rows(keras.utils.{base}):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return np.zeros((16, 4), "float32"), np.zeros((16, 1), "float32")
def data():
    return Rows()
"""
ELSEWHERE = scoped(f'with tpushape.tpu_strategy("v5e-4").scope():\n    m = {MADE}\n    m.compile("sgd", "mse")')
LEGACY = """
other = tpushape.tpu_strategy("v5e-4")
with strategy.scope():
    m = keras.Sequential([keras.Input((4,)), L.Dense(1)])
with other.scope():
    optimizer = keras.optimizers.SGD(momentum=0.9)
    optimizer.build(m.trainable_variables)
    m.compile(optimizer, "mse")
"""
LOOP = "return tf.while_loop(lambda v: tf.reduce_sum(v) < 9.0, lambda v: ({},), (x,))[0]"
WHILE = """
@tf.function
def within(v):
    while tf.reduce_sum(v) < 9.0:
        v = v + 1.0
    return v
"""
PRINT = "tf.print(tf.reduce_sum(x))\nreturn x"

PROGRAMS: dict[str, list[Program]] = {
    "E2": [
        Program("no-tpu", "tpu", set_up(SET_UP.format("tpu='local'")), set_up("tpushape.tpu_strategy('v5e-8')"), "cause='empty'"),
        Program(
            "no-tpu", "tpu", set_up("(tf.distribute.cluster_resolver.TPUClusterResolver.connect(tpu='local'))"),
            set_up("tpushape.tpu_strategy('v5e-8')"), "cause='missing'",
        ),
    ],
    "E5": [
        Program(
            "no-tpu", "tpu", CLIENT.format("'__inference__tpu_init_fn_4' is neither a type of a primitive operation nor a name of a function registered"),
            CLIENT.format("'__inference_my_fn_4' is neither a type of a primitive operation nor a name of a function registered"), "cause='versions'",
        )
    ],
    "V3": [Program("scope-unused", "silent", OUTSIDE, INSIDE, frameworks=("keras",), tpu="")],
    "V6": [
        Program(
            "metric-outside", "tpu", scoped(f'metric = keras.metrics.MeanAbsoluteError()\nwith strategy.scope():\n    m = {MADE}\n    m.compile("sgd", "mse", metrics=[metric])'),
            INSIDE, "what='metric'", frameworks=("tf_keras",),
        )
    ],
    "V1": [
        Program(
            "scope-outside", "tpu", scoped(f'm = {MADE}\nwith strategy.scope():\n    m.compile("sgd", "mse")'), INSIDE, "what='variable'", frameworks=("tf_keras",),
        )
    ],
    "V12": [Program("scope-outside", "tpu", scoped(LEGACY), scoped(LEGACY.replace("other.scope", "strategy.scope")), "what='slots'")],
    "V8": [
        Program("scope-outside", "tpu", ELSEWHERE, INSIDE, live=True),Program("scope-outside", "tpu", OUTSIDE, INSIDE, "asked_inside=True", live=True)],
    "V11": [
        Program(
            "variable-in-step", "error", step("tf.Variable(tf.reduce_sum(x) * 0.0).assign_add(1.0)"),
            step("kept.assign_add(1.0)", "    kept = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)"),
        )
    ],
    "B8": [Program("uneven-replicas", "silent", model() + slices(".batch(4, drop_remainder=True).prefetch(1)"), model() + slices(), "rows=(1, 1, 1, 1, 0, 0, 0, 0)")],
    "B9": [Program("uneven-replicas", "silent", model() + slices(".batch(12, drop_remainder=True).prefetch(1)"), model() + slices(), "trains=True")],
    "B12": [
        Program(
            "unbatched-dataset", "tpu", model(n=1) + "def data():\n    return tf.data.Dataset.range(16).map(lambda n: (tf.cast(n, tf.float32), 0.0))\n",
            model(n=1) + "def data():\n    ds = tf.data.Dataset.range(16).map(lambda n: (tf.cast(n, tf.float32)[None], 0.0))\n    return ds.batch(8, drop_remainder=True)\n", "shape=()",
        )
    ],
    "B11": [Program("unbatched-dataset", "tpu", model() + slices(".batch(16).unbatch().prefetch(1)"), model() + slices(".batch(8).unbatch()" + GOOD))],
    "B14": [Program("dynamic-batch", "slow", model() + arrays(100), model() + arrays(96), "source='arrays', shape=(None, 4), rows=100, size=32")],
    "B15": [
        Program("dynamic-batch", "slow", model() + GENERATED, model() + slices(), "source='generator'"),
        Program("dynamic-batch", "slow", model() + SEQUENCE.format(base="PyDataset"), model() + slices(), "source='pydataset'", frameworks=("keras",)),
        Program("dynamic-batch", "slow", model() + SEQUENCE.format(base="Sequence"), model() + slices(), frameworks=("tf_keras",)),
        Program("python-pipeline", "slow", model() + GENERATED, model() + slices()),
    ],
    "D7": [Program("composite-input", "tpu", RAGGED.format(cure=""), RAGGED.format(cure=DENSE_ROWS), "kind='ragged'")],
    "D9": [Program("string-input", "tpu", WORDS, NUMBERS, "dynamic=True")],
    "O1": [
        Program(
            "tpu-kernel", "tpu", "\n@tf.function\ndef within(x):\n    return tf.image.resize(x[:, :, None, None], (4, 1), 'bicubic')[:, :, 0, 0]\n" + own("return within(x)"),
            "\n@tf.function\ndef within(x):\n    return tf.image.resize(x[:, :, None, None], (4, 1), 'bilinear')[:, :, 0, 0]\n" + own("return within(x)"), "ResizeBicubic",
        ),
        Program("tpu-kernel", "tpu", own("return x + tf.linalg.det(tf.matmul(x, x, transpose_a=True))"), own("return x + tf.linalg.trace(tf.matmul(x, x, transpose_a=True))"), "MatrixDeterminant"),
        Program("tpu-kernel", "tpu", step("tf.py_function(print, [loss], [])"), step(), "Python code"),
    ],
    "O3": [
        Program(
            "tpu-kernel", "tpu", step("with writer.as_default(step=0):\n        tf.summary.write('loss', loss)", "import tempfile\nwriter = tf.summary.create_file_writer(tempfile.mkdtemp())\n"),
            step(before="import tempfile\nwriter = tf.summary.create_file_writer(tempfile.mkdtemp())\n"), "tf.summary",
        )
    ],
    "O13": [
        Program("tpu-kernel", "tpu", images(f"L.{name}, "), images("L.RandomFlip(), "), op)
        for name, op in (
            ("RandomRotation(0.1)", "ImageProjectiveTransformV3"), ("RandomZoom(0.1)", "ImageProjectiveTransformV3"),
            ("RandomTranslation(0.1, 0.1)", "ImageProjectiveTransformV3"), ("Resizing(4, 4, interpolation='bicubic')", "ResizeBicubic"),
            ("Resizing(4, 4, interpolation='area')", "ResizeArea"),
        )
    ],
    "O16": [
        Program("tpu-kernel", "tpu", own(PRINT), own("return x"), "tf.print"),
        Program("tpu-kernel", "tpu", step("tf.print(loss)"), step(), "tf.print"),
    ],
    "P4": [Program("shard-by-file", "tpu", model() + FILES.format(files=1), model() + FILES.format(files=4), "hosts=4, files=1", tpu="v4-32")],
    "P6": [Program("no-prefetch", "slow", model() + slices(".cache().prefetch(1).batch(16, drop_remainder=True)"), model() + slices(".cache()" + GOOD), "early=True")],
    "T5": [Program("data-dependent-size", "slow", own("return tf.boolean_mask(x, x[:, 0] > 0)"), own("return tf.where(x > 0, x, 0.0)"), "BoundedSize(")],
    "B2": [
        Program(
            "dynamic-unsupported", "tpu", own("return tf.concat([x, x], 0)[:1] + x").replace("64", "72"),
            own("return tf.concat([x, x], 1)[:, :8]").replace("64", "72"), "Dynamic concatenation is not supported",
        ),
        Program(
            "dynamic-unsupported", "tpu", own("return tf.reshape(tf.reshape(x, (2, -1)), (-1, 8))").replace("64", "72"),
            own("return tf.reshape(tf.reshape(x, (-1, 4, 2)), (-1, 8))").replace("64", "72"), "splitted and combined",
        ),
    ],
    "B13": [
        Program("data-misfit", severity, model() + slices(".batch(80, drop_remainder=True).prefetch(1)"), model() + slices(), "code='no-batches'", frameworks=(lib,))
        for lib, severity in (("keras", "silent"), ("tf_keras", "error"))
    ],
    "L2": [Program("gradient-scale", "silent", step(loss="mean(y, model(x)) / 8"), step(loss="mean(y, model(x))"), "times=0.125", frameworks=("keras",))],
    "L3": [
        Program("gradient-scale", "silent", step(loss="tf.reduce_mean(tf.square(model(x) - y))"), step(), "times=8.0"),
        Program("reported-loss-scale", "note", step().replace('"SUM"', '"MEAN"'), step(), "reduced='MEAN'"),
    ],
    "O7": [
        Program("shape-from-data", "tpu", own(f"n = tf.cast(tf.reduce_max(x), 'int32') + 4\nreturn x + {made}"), own(f"n = tf.shape(x)[1]\nreturn x + {made}"), says)
        for made, says in (
            ("tf.reduce_sum(tf.cast(tf.range(n), 'float32'))", "Range"), ("tf.reduce_sum(tf.one_hot([1, 2], n))", "OneHot"),
            ("tf.reduce_sum(tf.math.top_k(x, n)[0])", "TopKV2"), ("tf.reduce_sum(tf.function(lambda size: tf.zeros((size,)))(n))", "Fill"),
        )
    ],
    "O8": [
        Program("endless-loop-gradient", "tpu", own(LOOP.format("v * 2.0")).replace("[keras.Input((8,)), Own()", "[keras.Input((8,)), L.Dense(8), Own()"), other)
        for other in (
            own(LOOP.format("v * 2.0")),  # no weights in front of it: no gradient flows through
            own(LOOP.format("v + 2.0")).replace("[keras.Input((8,)), Own()", "[keras.Input((8,)), L.Dense(8), Own()"),  # nothing to keep
        )
    ],
    "O9": [
        Program("assert-dropped", "note", "\n@tf.function\ndef checked(x):\n    tf.debugging.assert_positive(x)\n    return x\n" + own("return checked(x)"), own("return x")),
    ],
    "D1": [Program("tpu-dtype", "tpu", step("tf.math.abs(tf.cast(loss, tf.complex128))"), step("tf.math.abs(tf.cast(loss, tf.complex64))"), "complex128")],
    "D3": [
        Program(
            "int64-matmul", "tpu", "\n@tf.function\ndef product(x):\n    x = tf.cast(x, 'int64')\n    return tf.cast(tf.matmul(x, x, transpose_b=True), 'float32')\n" + own("return x + product(x)[:, :1]"),
            "\n@tf.function\ndef product(x):\n    x = tf.cast(x, 'int32')\n    return tf.cast(tf.matmul(x, x, transpose_b=True), 'float32')\n" + own("return x + product(x)[:, :1]"),
        )
    ],
    "L7": [  # behind a loop the batch axis is unknown, and an unknown axis is no broadcast
        Program("loss-broadcast", "silent", own("return x").replace("L.Dense(1)", "L.Dense(3)"), WHILE + own("return within(x)"), "Crosswise("),
    ],
}  # fmt: skip
