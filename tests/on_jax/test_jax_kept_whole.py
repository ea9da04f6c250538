"""What stays whole on JAX: samples behind a stack or a pair of tensors, tables of windows, what a branch is taken from, and rows of several lengths."""

from __future__ import annotations

import pytest
from strangers import first, serious, traced

MIXTURE = """
class Mixture(layers.Layer):
    def __init__(self, experts, dim, **kw):
        super().__init__(**kw)
        self.experts = [layers.Dense(dim, activation="gelu") for _ in range(experts)]
        self.gate = layers.Dense(experts)
    def call(self, x):
        gates = ops.softmax(self.gate(x), axis=-1)
        outputs = ops.stack([expert(x) for expert in self.experts]{axis})
        return ops.sum(outputs * gates{new}, axis={over})

def build():
    inputs = keras.Input({shape})
    x = Mixture(3, 20)(inputs)
    model = keras.Model(inputs, layers.Dense(1)(x))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((32, *{shape}), "float32"), np.zeros((32, *{shape}[:-1], 1), "float32")
"""


@pytest.mark.parametrize(("shape", "new", "over"), [((14, 10), "[..., None]", 2), ((10,), "[..., None]", 1), ((6, 5, 10), "[..., None]", 3)])
def test_parts_are_stacked_where_their_weights_have_them(tmp_path, shape, new, over):
    patch = first(tmp_path, MIXTURE.format(shape=shape, axis="", new=new, over=over), "op-shapes")
    assert f"for expert in self.experts], axis={over})" in patch and patch.count("\n+ ") == 1
    assert not serious(traced(tmp_path, MIXTURE.format(shape=shape, axis=f", axis={over}", new=new, over=over)))


SPECTRUM = """
class Spectrum(layers.Layer):
    def call(self, audio):
        {spectrum}
        return ops.expand_dims(ops.log(ops.square(ops.abs(spectrum)) + 1e-6), -1)

def build():
    audio = keras.Input((640,))
    x = layers.Conv2D(4, 3)(Spectrum()(audio))
    model = keras.Model(audio, layers.Dense(3)(layers.GlobalAveragePooling2D()(x)))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((32, 640), "float32"), np.zeros((32, 3), "float32")
"""
PARTS = "ops.stft(audio, sequence_length=64, sequence_stride=32, fft_length=64)"


def test_a_pair_that_is_used_as_one_tensor_is_told_and_no_layer_takes_it_for_frames(tmp_path):
    (finding,) = serious(traced(tmp_path, SPECTRUM.format(spectrum=f"spectrum = {PARTS}")))
    assert finding.rule == "layer-rank"
    assert "the batch as axis 1" in finding.why and "a tuple of 2 tensors" in finding.why
    assert not finding.fixes
    assert not serious(traced(tmp_path, SPECTRUM.format(spectrum=f"real, imag = {PARTS}\n        spectrum = ops.sqrt(real**2 + imag**2 + 1e-9)")))


WINDOWS = """
class Attend(layers.Layer):
    def __init__(self, heads, windows, **kw):
        super().__init__(**kw)
        self.heads, self.windows, self.qkv = heads, windows, layers.Dense(48)
        self.mask = np.zeros((windows, 16, 16), "float32")
    def call(self, x):
        x = ops.reshape(x, (-1, 3, 4, 3, 4, 16))
        x = ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4, 5)), (-1, 16, 16))
        qkv = ops.transpose(ops.reshape(self.qkv(x), (-1, 16, 3, self.heads, 16 // self.heads)), (2, 0, 3, 1, 4))
        scores = ops.matmul(qkv[0], ops.swapaxes(qkv[1], -2, -1))
        {masked}
        return ops.reshape(ops.transpose(ops.matmul(ops.softmax(scores), qkv[2]), (0, 2, 1, 3)), (-1, self.windows, 16, 16))

def build():
    image = keras.Input((12, 12, 3))
    x = Attend(2, 9)(layers.Dense(16)(image))
    model = keras.Model(image, layers.Dense(1)(ops.mean(x, axis=(1, 2))))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((24, 12, 12, 3), "float32"), np.zeros((24, 1), "float32")
"""


def test_no_window_of_a_table_is_left_out(tmp_path):
    (finding, *_) = serious(traced(tmp_path, WINDOWS.format(masked="scores = scores + self.mask")))
    assert not any("self.mask[" in fix.patch for fix in finding.fixes)
    right = "scores = ops.reshape(scores, (-1, self.windows, self.heads, 16, 16)) + self.mask[:, None]\n        scores = ops.reshape(scores, (-1, self.heads, 16, 16))"
    assert not serious(traced(tmp_path, WINDOWS.format(masked=right)))


REST = """
class Block(layers.Layer):
    def __init__(self, lookback, horizon, **kw):
        super().__init__(**kw)
        self.hidden = layers.Dense(32, activation="relu")
        self.backcast, self.forecast = layers.Dense({units}), layers.Dense(horizon)
    def call(self, x):
        x = self.hidden(x)
        return self.backcast(x), self.forecast(x)

def build():
    series = keras.Input((60,))
    rest, total = series, 0.0
    for _ in range(2):
        back, ahead = Block(60, 12)(rest)
        rest = {less}
        total = total + ahead
    model = keras.Model(series, layers.Concatenate()([total, layers.Dense(3)(rest)]))
    model.compile("sgd", "mae")
    return model

def data():
    return np.zeros((64, 60), "float32"), np.zeros((64, 15), "float32")
"""


@pytest.mark.parametrize("less", ["layers.subtract([rest, back])", "rest - back"])
def test_what_is_taken_from_a_tensor_has_its_size(tmp_path, less):
    (finding, *_) = serious(traced(tmp_path, REST.format(units="horizon", less=less)))
    assert "layers.Dense(lookback), layers.Dense(horizon)" in finding.fixes[0].patch
    assert not any("Dense(12)(rest)" in fix.patch for fix in finding.fixes)
    assert not serious(traced(tmp_path, REST.format(units="lookback", less=less)))


PATCHES = """
class Patches(layers.Layer):
    def __init__(self, size, **kw):
        super().__init__(**kw)
        self.size = size
    def call(self, images):
        patches = ops.image.extract_patches(images, self.size)
        return ops.reshape(patches, (-1, patches.shape[1] * patches.shape[2], {last}))

def build():
    image = keras.Input((32, 32, 3))
    x = layers.Dense(24)(Patches(8)(image))
    model = keras.Model(image, layers.Dense(4, activation="softmax")(layers.GlobalAveragePooling1D()(x)))
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model

def data():
    return np.zeros(({rows}, 32, 32, 3), "float32"), np.zeros({rows}, "int32")
"""


# Of 24 samples, the width of a layer has the batch's size by chance.
@pytest.mark.parametrize("rows", [24, 32])
def test_a_patch_keeps_its_channels_and_its_sample(tmp_path, rows):
    patch = first(tmp_path, PATCHES.format(last="self.size * self.size", rows=rows), "batch-axis-merged")
    assert "patches.shape[2], patches.shape[-1]))" in patch
    assert not serious(traced(tmp_path, PATCHES.format(last="patches.shape[-1]", rows=rows)))


ALIGN = """
class Align(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.wide, self.out = layers.Dense(32, activation="relu"), layers.Dense({units})
    def call(self, points):
        transform = self.out(ops.max(self.wide(points), axis=1))
        return ops.matmul(points, {transform})

def build():
    cloud = keras.Input((128, 3))
    x = layers.GlobalMaxPooling1D()(layers.Conv1D(16, 1)(Align()(cloud)))
    model = keras.Model(cloud, layers.Dense(1)(x))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((32, 128, 3), "float32"), np.zeros((32, 1), "float32")
"""


@pytest.mark.parametrize(("units", "folded"), [(9, "(-1, 3, 3)"), (15, "(-1, 3, 5)")])
def test_the_values_of_each_sample_are_a_matrix(tmp_path, units, folded):
    patch = first(tmp_path, ALIGN.format(units=units, transform="transform"), "op-shapes")
    assert f"ops.reshape(transform, {folded})" in patch
    assert not serious(traced(tmp_path, ALIGN.format(units=units, transform=f"ops.reshape(transform, {folded})")))


CROSS = """
class Cross(layers.Layer):
    def __init__(self, dim, heads, **kw):
        super().__init__(**kw)
        self.dim, self.heads = dim, heads
        self.q, self.k, self.v, self.out = (layers.Dense(dim) for _ in range(4))
    def split(self, x, steps):
        return ops.reshape(x, (-1, steps, self.heads, self.dim // self.heads))
    def call(self, x, memory):
        steps, head = x.shape[1], self.dim // self.heads
        {split}
        weights = ops.softmax(ops.einsum("bqhd,bkhd->bhqk", q, k) / head**0.5)
        return self.out(ops.reshape(ops.einsum("bhqk,bkhd->bqhd", weights, v), (-1, steps, self.dim)))

def build():
    target, source = keras.Input((9, 20)), keras.Input((14, 12))
    model = keras.Model([target, source], layers.Dense(2)(Cross(32, 4)(target, source)))
    model.compile("sgd", "mse")
    return model

def data():
    return [np.zeros((32, 9, 20), "float32"), np.zeros((32, 14, 12), "float32")], np.zeros((32, 9, 2), "float32")
"""


@pytest.mark.parametrize(("lines", "fixed"), [
    (["sizes = (-1, steps, self.heads, head)", "q = ops.reshape(self.q(x), sizes)", "k = ops.reshape(self.k(memory), sizes)", "v = ops.reshape(self.v(memory), sizes)"],
     ["k = ops.reshape(self.k(memory), (-1, ops.shape(memory)[1], self.heads, head))", "v = ops.reshape(self.v(memory), (-1, ops.shape(memory)[1], self.heads, head))"]),
    (["q, k, v = self.split(self.q(x), steps), self.split(self.k(memory), steps), self.split(self.v(memory), steps)"],
     ["return ops.reshape(x, (-1, ops.shape(x)[1], self.heads, self.dim // self.heads))"]),
    (["q = self.q(x).reshape(-1, steps, self.heads, head)", "k = self.k(memory).reshape(-1, steps, self.heads, head)", "v = self.v(memory).reshape(-1, steps, self.heads, head)"],
     ["k = self.k(memory).reshape(-1, ops.shape(memory)[1], self.heads, head)", "v = self.v(memory).reshape(-1, ops.shape(memory)[1], self.heads, head)"]),
    (["keys, values = self.k(memory), self.v(memory)", "q = ops.reshape(self.q(x), (-1, steps, self.heads, head))", "k = ops.reshape(keys, (-1, steps, self.heads, head))",
      "v = ops.reshape(values, (-1, steps, self.heads, head))"],
     ["k = ops.reshape(keys, (-1, ops.shape(keys)[1], self.heads, head))", "v = ops.reshape(values, (-1, ops.shape(values)[1], self.heads, head))"]),
])  # fmt: skip
def test_keys_and_values_have_the_length_of_their_memory(tmp_path, lines, fixed):
    patch = first(tmp_path, CROSS.format(split="\n        ".join(lines)))
    assert all(line in patch for line in fixed)
    # The length of the queries stays.
    assert "-        q =" not in patch


BUILT = """
class Two(layers.Layer):
    def __init__(self, units, **kw):
        super().__init__(**kw)
        self.units = units
    def build(self, {names}):
        self.kernel = self.add_weight(shape=({first}[-1], self.{units}), name="kernel")
    def call(self, x, condition):
        return ops.matmul(x, self.kernel) + condition

class Whole(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.two, self.head = layers.Dense(12), Two(12), layers.Dense(1)
    def call(self, x):
        return self.head(self.two(x, self.first(x)))

def build():
    if {whole}:
        model = Whole()
    else:
        x = keras.Input((18,))
        model = keras.Model(x, layers.Dense(1)(Two(12)(x, layers.Dense(12)(x))))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((32, 18), "float32"), np.zeros((32, 1), "float32")
"""


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("names", "units", "fixed"), [
    ("features, other", "units", "def build(self, x_shape, condition_shape):"),
    ("x_shape, other=None", "units", "def build(self, x_shape, condition_shape=None):"),
    ("x_shape, condition_shape", "unit", "self.kernel = self.add_weight(shape=(x_shape[-1], self.units)"),
])  # fmt: skip
def test_a_fault_in_build_is_told_of_the_layer_and_mended_there(tmp_path, whole, names, units, fixed):
    code = BUILT.format(names=names, first=names.split(",")[0], units=units, whole=whole)
    (finding, *_) = serious(traced(tmp_path, code))
    assert finding.rule == "layer-raises" and "MaybeBuild" not in finding.message
    assert fixed in finding.fixes[0].patch


WINDOWS_AS_HEADS = """
class Attend(layers.Layer):
    def __init__(self, heads, windows, **kw):
        super().__init__(**kw)
        self.heads, self.qkv = heads, layers.Dense(48)
        self.mask = np.zeros((windows, 16, 16), "float32")
    def call(self, x):
        qkv = ops.transpose(ops.reshape(self.qkv(x), (-1, 16, 3, self.heads, 16 // self.heads)), (2, 0, 3, 1, 4))
        scores = ops.matmul(qkv[0], ops.swapaxes(qkv[1], -2, -1)) + self.mask
        return ops.reshape(ops.transpose(ops.matmul(ops.softmax(scores), qkv[2]), (0, 2, 1, 3)), (-1, 16, 16))

def build():
    windows = keras.Input((16, 16))
    model = keras.Model(windows, layers.Dense(1)(layers.Flatten()(Attend({heads}, {windows})(windows))))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((36, 16, 16), "float32"), np.zeros((36, 1), "float32")
"""


def test_a_number_of_windows_is_not_made_one_of_heads(tmp_path):
    (finding,) = serious(traced(tmp_path, WINDOWS_AS_HEADS.format(heads=2, windows=9)))
    assert finding.fixes and not any(fix.verified for fix in finding.fixes)
    assert not serious(traced(tmp_path, WINDOWS_AS_HEADS.format(heads=2, windows=1)))


NOISE = """
def build():
    image = keras.Input((20, 20, 3))
    noise = layers.Conv2D({filters}, 3, padding="same")(layers.Conv2D(12, 3, padding="same")(image))
    model = keras.Model(image, layers.Subtract()([image, noise]))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((16, 20, 20, 3), "float32"), np.zeros((16, 20, 20, 3), "float32")
"""


def test_what_is_taken_from_a_picture_gets_as_many_filters_and_no_layer_more(tmp_path):
    (finding,) = serious(traced(tmp_path, NOISE.format(filters=2)))
    assert finding.fixes[0].verified and "Conv2D(3, 3" in finding.fixes[0].patch
    assert not any("1x1" in fix.title for fix in finding.fixes)
    assert not serious(traced(tmp_path, NOISE.format(filters=3)))
