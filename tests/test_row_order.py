"""Inputs and labels that are shuffled differently: found in the text of the data's code, and given one order."""

from __future__ import annotations

import numpy as np
import pytest
from broken import HEAD, load
from written_rows import HEAD as ARRAYS
from written_rows import MODEL

import jupyter_tpushape as tpushape

APART = {
    "the inputs alone": "x, y = x_all.copy(), y_all\nnp.random.shuffle(x)\nreturn x, y",
    "one alone, in spite of a seed": "np.random.seed(1)\nx, y = x_all.copy(), y_all\nnp.random.shuffle(x)\nreturn x, y",
    "each on its own": "x, y = x_all.copy(), y_all.copy()\nnp.random.shuffle(x)\nnp.random.shuffle(y)\nreturn x, y",
    "an index for the inputs alone": "order = np.random.permutation(len(x_all))\nx = x_all[order]\nreturn x, y_all",
    "two indices": "a, b = rng.permutation(96), rng.permutation(96)\nreturn x_all[a], y_all[b]",
    "two indices on the spot": "return x_all[rng.permutation(96)], y_all[rng.permutation(96)]",
    "a permutation of the inputs": "x = rng.permutation(x_all)\nreturn x, y_all",
    "numbers that are shuffled": "rows = np.arange(96)\nrng.shuffle(rows)\nreturn x_all[rows], y_all",
    "sorted by the labels": "x = x_all[np.argsort(y_all)]\nreturn x, y_all",
    "each row repeated beside the whole": "return np.tile(x_all, (2, 1)), np.repeat(y_all, 2)",
    "each row repeated beside two parts": "x = np.concatenate([x_all, x_all])\ny = np.repeat(y_all, 2, axis=0)\nreturn x, y",
    "inputs repeated beside the whole of the labels": "many = 3\nreturn np.repeat(x_all, many, axis=0), np.tile(y_all, many)",
    "a pipeline": "rows = rng.permutation(96)\nx = x_all[rows]\nreturn tf.data.Dataset.from_tensor_slices((x, y_all)).batch(16)",
}
TOGETHER = {
    "one index": "order = rng.permutation(96)\nreturn x_all[order], y_all[order]",
    "a part of one index": "order = rng.permutation(96)\ntrain = order[:72]\nreturn x_all[train], y_all[train]",
    "one seed for both": ("x, y = x_all.copy(), y_all.copy()\nnp.random.seed(1)\nnp.random.shuffle(x)\nnp.random.seed(1)\nnp.random.shuffle(y)\nreturn x, y"),
    "a table that is then taken apart": (
        "table = np.concatenate([x_all, y_all[:, None]], axis=1)\nnp.random.shuffle(table)\nreturn table[:, :8], table[:, 8].astype('int64')"
    ),
    "inputs and labels made of one array": "x = x_all.copy()\nnp.random.shuffle(x)\nreturn x + 0.1, (x[:, 0] > 0).astype('int64')",
    "two generators with one seed": ("a, b = np.random.default_rng(3), np.random.default_rng(3)\nreturn x_all[a.permutation(96)], y_all[b.permutation(96)]"),
    "labels that are all alike": "x = rng.permutation(x_all)\nreturn x, np.zeros(96, 'int64')",
    "each row of both repeated": "return np.repeat(x_all, 2, axis=0), np.repeat(y_all, 2)",
    "the classes of two parts": "x, many = np.concatenate([x_all[:5], x_all[:5]]), 5\nreturn x, np.repeat([0, 1], many)",
    "parts beside labels that are joined before they are repeated": (
        "x = np.concatenate([x_all[:40], x_all[:8]])\ny = np.concatenate([y_all[:20], y_all[:4]])\nreturn x, np.repeat(y, 2)"
    ),
    "repeated rows with others behind both": (
        "x = np.concatenate([np.stack([x_all, x_all], 1).reshape(192, 8), x_all])\ny = np.concatenate([np.repeat(y_all, 2), y_all])\nreturn x, y"
    ),
    "another array": "names = np.arange(96)\nnp.random.shuffle(names)\nreturn x_all, y_all",
    "elements of a pipeline": "return tf.data.Dataset.from_tensor_slices((x_all, y_all)).shuffle(96).batch(16)",
}


def program(tmp_path, name, body):
    path = tmp_path / f"{'_'.join(name.split())}.py"
    code = "\n".join(f"    {line}" for line in body.splitlines())
    path.write_text(f"{HEAD.format(framework='keras')}{ARRAYS}{MODEL}\ndef data():\n{code}\n")
    return path


def arrays(data):
    return data if isinstance(data, tuple) else next(iter(data.unbatch().batch(96).as_numpy_iterator()))


@pytest.mark.parametrize("name", APART)
def test_two_orders_are_found_and_made_one(name, tmp_path):
    path = program(tmp_path, name, APART[name])
    module = load(path)
    (finding,) = [one for one in tpushape.trace(module.build, module.data, tpu=None).findings if one.severity != "note"]
    assert (finding.rule, finding.severity) == ("shuffled-apart", "silent")
    assert finding.location is not None
    fix = finding.fixes[0]
    assert (fix.verified, fix.proof) == (True, "source"), fix.title
    tpushape.apply(fix, path)
    again = load(path)
    assert tpushape.trace(again.build, again.data, tpu=None).ok
    labels = {row.tobytes(): label for row, label in zip(again.x_all, again.y_all, strict=True)}
    x, y = arrays(again.data())
    assert [labels[row.tobytes()] for row in x] == list(np.asarray(y)), "each row has its own label"


@pytest.mark.parametrize("name", TOGETHER)
def test_one_order_is_none_of_its_business(name, tmp_path):
    module = load(program(tmp_path, name, TOGETHER[name]))
    assert tpushape.trace(module.build, module.data, tpu=None).ok


def test_an_input_that_is_paired_with_other_samples_is_meant(tmp_path):
    path = tmp_path / "pairs.py"
    path.write_text(
        HEAD.format(framework="keras")
        + ARRAYS
        + """
def build():
    a, b = keras.Input((8,)), keras.Input((8,))
    model = keras.Model([a, b], L.Dense(1)(L.Concatenate()([a, b])))
    model.compile('sgd', 'mse')
    return model


def data():
    other = x_all[rng.permutation(96)]
    return [x_all, other], y_all
"""
    )
    module = load(path)
    assert tpushape.trace(module.build, module.data, tpu=None).ok


BATCHES = """
class Batches(keras.utils.PyDataset):
    def __len__(self):
        return {count}
    def __getitem__(self, i):
        rows = np.arange(i * 16, i * 16 + 16)
        np.random.shuffle(rows)
        return x_all[rows], y_all[i * 16 : i * 16 + 16]


def data():
    return Batches()
"""


@pytest.mark.parametrize("count", [1, 6])
def test_an_order_takes_the_place_of_an_index_that_selects_the_rows_already(count, tmp_path):
    """One more index behind it would select the wrong rows, and the first batch alone would not raise."""
    path = tmp_path / "batches.py"
    path.write_text(HEAD.format(framework="keras") + ARRAYS + MODEL + BATCHES.format(count=count))
    module = load(path)
    (finding,) = [one for one in tpushape.trace(module.build, module.data, tpu=None).findings if one.rule == "shuffled-apart"]
    for fix in finding.fixes:
        assert "+        return x_all[rows], y_all[rows]" in fix.patch


def test_rows_that_are_shuffled_and_then_selected(tmp_path):
    path = program(tmp_path, "both", "x = rng.permutation(x_all)\nx = x[:64]\nreturn x, y_all")
    module = load(path)
    (finding,) = [one for one in tpushape.trace(module.build, module.data, tpu=None).findings if one.severity == "error"]
    assert (finding.rule, finding.fact.made.step) == ("data-misfit", "cut")


def test_inputs_and_labels_are_not_taken_for_sets():
    from jupyter_tpushape.repair.makers.same_rows import _same_set

    assert _same_set("x_train", "y_test", "y_train")
    assert _same_set("trainX", "testY", "trainY")
    assert not _same_set("y_test", "x_train", "y_train")
    assert not _same_set("x_test", "y_train", "y_test"), "the training set stays"


_SERIES = """
N = 6
series = rng.normal(size=(40, 3)).astype("float32")
def build():
    model = keras.Sequential([L.Flatten(), L.Dense(1)])
    model.compile('sgd', 'mse')
    return model

def data():
"""
WINDOWS = "    x = np.array([series[i : i + N] for i in range(30)])\n"
MIXED = {
    "windows": WINDOWS + "    return x.reshape((30, 3, N)), series[:30, 0]\n",
    "counted rows": WINDOWS + "    return x.reshape(-1, 3, N).astype('float32'), series[:30, 0]\n",
    "its own sizes": WINDOWS + "    x = np.reshape(x, (len(x), x.shape[2], x.shape[1]))\n    return x[:24], series[:24, 0]\n",
}
PARTS = "    parts = [np.array([series[i : i + N, k] for i in range(30)]) for k in range(3)]\n    x = np.stack([parts[0], parts[1], parts[2]], axis=%d)\n"
MIXED["arrays that are stacked"] = PARTS % 1 + "    x = x / 2\n    return x.reshape(-1, N, 3).astype('float32'), series[:30, 0]\n"
MIXED["labels that are stacked"] = PARTS % 1 + "    return np.zeros((30, 4)), x.reshape(-1, N, 3)\n"
MIXED["stacked, and reshaped in a function"] = (
    PARTS % 1
    + "    return turned(scaled(x, 2.0), count=N), series[:30, 0]\n\ndef scaled(a, by):\n    a = a * by\n    return a\n\n"
    + "def turned(values, count):\n    values = values.astype('float32')\n    return values.reshape(len(values), count, 3)\n"
)
KEPT = {
    "stacked behind": PARTS % 2 + "    return x.reshape(-1, N, 3), series[:30, 0]\n",
    "stacked, and turned": PARTS % 1 + "    x = x.transpose(0, 2, 1)\n    return x.reshape(-1, N, 3), series[:30, 0]\n",
    "windows as they are": WINDOWS + "    return x, series[:30, 0]\n",
    "the sizes that they have": WINDOWS + "    return x.reshape((30, N, 3)), series[:30, 0]\n",
    "a transpose": WINDOWS + "    return x.transpose((0, 2, 1)).reshape((30, 3, N)), series[:30, 0]\n",
    "one feature": "    x = np.array([series[i : i + N, 0] for i in range(30)])\n    return x.reshape((30, 1, N)), series[:30, 0]\n",
    "windows in parts": "    x = np.array([series[i : i + 18, 0] for i in range(20)])\n    return x.reshape((20, 3, N)), series[:20, 0]\n",
    "rows of a table": "    x = rng.normal(size=(30, 18)).astype('float32')\n    return x.reshape((30, 3, N)), x[:, 0]\n",
}


def windowed(name):
    text = _SERIES.replace("L.Dense(1)]", "L.Dense(18), L.Reshape((N, 3))]") if "labels" in name else _SERIES
    return HEAD.format(framework="keras") + "rng = np.random.default_rng(0)\n" + text + {**MIXED, **KEPT}[name]


@pytest.mark.parametrize("name", [*MIXED, *KEPT])
def test_steps_and_features_that_a_reshape_mixes(tmp_path, name):
    path = tmp_path / "train.py"
    path.write_text(windowed(name))
    module = load(path)
    found = [finding for finding in tpushape.trace(module.build, module.data, tpu=None, fixes=False).findings if finding.serious]
    assert [(one.rule, one.severity) for one in found] == ([("data-axes-mixed", "silent")] if name in MIXED else [])
    assert all((*one.fact.before,) in ((6, 3), (3, 6)) and one.fact.after == one.fact.before[::-1] for one in found)


@pytest.mark.parametrize("name", [name for name in MIXED if "stacked" in name])
def test_what_is_stacked_is_turned_where_it_was_reshaped(tmp_path, name):
    path = tmp_path / "train.py"
    path.write_text(windowed(name))
    module = load(path)
    fix = next(one for one in tpushape.trace(module.build, module.data, tpu=None).findings if one.serious).fixes[0]
    assert fix.verified
    before = module.data()
    tpushape.apply(fix, path)
    index = int("labels" in name)
    values, after = before[index], load(path).data()[index]
    assert np.array_equal(values.reshape(30, 3, 6).transpose(0, 2, 1), after)


HELPER = """
def prepared(images):
    images = images / 2
    order = np.random.permutation(len(images))
    return images[order]


def picked(values, order):
    values = values[order]
    return values


def data():
"""


@pytest.mark.parametrize(
    ("ends", "apart"),
    [
        ("return prepared(x_all), y_all", True),
        ("x = prepared(x_all)\n    return x, y_all", True),
        ("order = rng.permutation(96)\n    return picked(x_all, order), picked(y_all, order=order)", False),
        ("return picked(x_all, np.arange(96)), y_all", False),
    ],
)
def test_an_order_in_a_function_that_the_data_goes_through(tmp_path, ends, apart):
    path = tmp_path / "train.py"
    path.write_text(f"{HEAD.format(framework='keras')}{ARRAYS}{MODEL}{HELPER}    {ends}\n")
    module = load(path)
    found = [one for one in tpushape.trace(module.build, module.data, tpu=None).findings if one.serious]
    assert [one.rule for one in found] == ["shuffled-apart"] * apart
    assert all(one.location.line == path.read_text().splitlines().index("    return images[order]") + 1 for one in found)
