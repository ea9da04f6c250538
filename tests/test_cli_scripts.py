"""``tpushape check train.py``: a training script is executed up to its first training call, and what it trains is traced."""

from __future__ import annotations

import json
import sys

import pytest

from jupyter_tpushape.cli import main

HEAD = "import {lib} as keras, numpy as np\nfrom {lib} import layers\nx, y = np.zeros((48, 8, 8, 1), 'float32'), np.arange(48) % 4\n"
MODEL = "model = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(4, 3), layers.Dense(4, activation='softmax')])\nmodel.compile('sgd', 'sparse_categorical_crossentropy')\n"
FIT = "model.fit(x, y, verbose=0)\nopen(MARK, 'w').close()\n"
LATER = "i = keras.Input((8, 8, 1))\nm = layers.Add()([layers.Conv2D(4, 3)(i), layers.Conv2D(4, 1)(i)])\n"
MAIN = "def main():\n    " + (MODEL + FIT).replace("\n", "\n    ") + "\nif __name__ == '__main__':\n    main()\n"

# Scripts; the exit code, and the rule or the words.
SCRIPTS = {
    "a script": (HEAD + MODEL + FIT, 1, "missing-flatten"),
    "a main function": (HEAD + MAIN, 1, "missing-flatten"),
    "a script that is right": (HEAD + MODEL.replace("layers.Dense", "layers.Flatten(), layers.Dense") + FIT, 0, ""),
    "a graph that does not join": (HEAD + LATER + "keras.Model(i, m).fit(x, y)\n", 1, "merge-shapes"),
    "a slip before it trains": (HEAD + "modle.fit(x, y)\n", 2, "raises an error before it trains, at "),
    "an own error": (HEAD + "raise RuntimeError('no data')\nmodel.fit(x, y)\n", 2, "no data"),
    "a training call that is never reached": (HEAD + "def train(model):\n    model.fit(x, y)\n", 2, "ends without a training call: name its model"),
    "no training call at all": (HEAD + "def make():\n    pass\n", 2, "does not name an object in a file"),
}


def written(tmp_path, text, lib):
    file = tmp_path / f"train_{abs(hash((text, lib)))}.py"
    file.write_text(f"MARK = {str(tmp_path / 'trained')!r}\n" + text.replace("{lib}", lib))
    return file


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch):
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.mark.parametrize(("name", "lib"), list(zip(SCRIPTS, ("keras", "tf_keras") * len(SCRIPTS), strict=False)))
def test_a_script_is_run_up_to_its_first_training_call(tmp_path, capfd, name, lib):
    text, code, said = SCRIPTS[name]
    assert main(["check", str(written(tmp_path, text, lib)), "--tpu", "none", "--format", "json"]) == code
    out, err = capfd.readouterr()
    if code == 2:
        assert said in err and out == ""
    else:
        report = json.loads(out)
        assert [one["rule"] for one in report["findings"] if one["severity"] == "error"] == [said] * code
        assert not (tmp_path / "trained").exists()


@pytest.mark.parametrize("lib", ["keras", "tf_keras"])
def test_a_model_of_a_script_is_traced_on_what_it_trains_on(tmp_path, capfd, lib):
    file = written(tmp_path, HEAD + MODEL + FIT + "later = 3\n", lib)
    assert main(["check", f"{file}:model", "--tpu", "none", "--format", "json"]) == 1
    (finding,) = [one for one in json.loads(capfd.readouterr().out)["findings"] if one["severity"] == "error"]
    assert finding["rule"] == "missing-flatten" and finding["fixes"][0]["proof"] == "source"
    assert main(["check", f"{file}:later", "--tpu", "none"]) == 2
    assert "does not define later before its first training call, at " in capfd.readouterr().err
    assert not (tmp_path / "trained").exists()
