"""What a training step passes to its optimizer: what the framework refuses is told, with a fix that trains; what it takes is not."""

from __future__ import annotations

import linecache

import pytest
from broken import HEAD, fit, load

import jupyter_tpushape as tpushape

BOTH = pytest.mark.parametrize("framework", ["keras", "tf_keras"])

PROGRAM = """
class Pair(keras.Model):
    def __init__(self):
        super().__init__()
        self.one = keras.Sequential([L.InputLayer((3,)), L.Dense(4), L.Dense(1)])
        self.two = keras.Sequential([L.InputLayer((3,)), L.Dense(5), L.Dense(1)])

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.one(x) - y) ** 2)
        grads = tape.gradient(loss, self.one.trainable_variables)
        %s
        return {"loss": loss}

def build():
    model = Pair()
    model.compile("adam")
    return model

def data():
    return np.zeros((8, 3), "float32"), np.ones((8, 1), "float32")
"""
MEANT = "self.optimizer.apply_gradients(zip(grads, self.one.trainable_variables))"
SECOND = """
        with tf.GradientTape() as tape:
            both = tf.reduce_mean(self.one(x) * self.two(x))
        grads = tape.gradient(both, self.%s.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.two.trainable_variables))"""
BUILT = "self.optimizer.build(self.trainable_variables); " + MEANT
REFUSED = {
    "exchanged": ("self.optimizer.apply_gradients(zip(self.one.trainable_variables, grads))", "exchanged", MEANT),
    "another network's": ("self.optimizer.apply_gradients(zip(grads, self.two.trainable_variables))", "apart", MEANT),
    "in another order": ("self.optimizer.apply_gradients(zip(grads, self.one.trainable_variables[::-1]))", "apart", MEANT),
    "no pairs": ("self.optimizer.apply_gradients((grads, self.one.trainable_variables))", "pairs", MEANT),
    "gradients alone": ("self.optimizer.apply_gradients(grads)", "pairs", MEANT),
    "computed for the other network": (
        BUILT + SECOND % "one", "apart", "grads = tape.gradient(both, self.two.trainable_variables)",
    ),
}  # fmt: skip
TAKEN = {
    "as it is meant": MEANT,
    "pairs in a list": "self.optimizer.apply_gradients([(g, v) for g, v in zip(grads, self.one.trainable_variables)])",
    "by name": "self.optimizer.apply_gradients(grads_and_vars=zip(grads, self.one.trainable_variables))",
    "no gradient for some": "self.optimizer.apply_gradients(zip([None, *grads[1:]], self.one.trainable_variables))",
    "one that broadcasts": "self.optimizer.apply_gradients(zip([g * 0 + 1 for g in grads], self.one.trainable_variables))",
    "built for both networks": BUILT + SECOND % "two",
}


def _traced(tmp_path, framework, step):
    path = tmp_path / "updates_program.py"
    path.write_text(HEAD.format(framework=framework) + (PROGRAM % step).lstrip("\n"))
    linecache.checkcache(str(path))
    module = load(path)
    return path, module, tpushape.trace(module.build, module.data, tpu=None)


@BOTH
@pytest.mark.parametrize("name", REFUSED)
def test_an_update_that_raises_is_told_and_mended(name, tmp_path, framework):
    step, how, line = REFUSED[name]
    path, module, report = _traced(tmp_path, framework, step)
    with pytest.raises(Exception):  # noqa: B017, PT011
        fit(module.build(), module.data())
    finding = next(finding for finding in report.findings if finding.serious)
    assert (finding.rule, finding.fact.how) == ("optimizer-update", how)
    assert finding.fixes[0].verified and finding.fixes[0].proof == "source"
    tpushape.apply(finding.fixes[0], path)
    assert line in path.read_text()
    linecache.checkcache(str(path))
    again = load(path)
    fit(again.build(), again.data())


@BOTH
@pytest.mark.parametrize("name", TAKEN)
def test_an_update_that_trains_is_not_told(name, tmp_path, framework):
    _, module, report = _traced(tmp_path, framework, TAKEN[name])
    fit(module.build(), module.data())
    assert report.ok, report


TAPE = """        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.one(x) - y) ** 2)
"""
UNTAPED = {
    "the loss": ("loss", """        with tf.GradientTape() as tape:
            guess = self.one(x)
        error = (guess - y) ** 2
        loss = tf.reduce_mean(error)
""", """            guess = self.one(x)
            error = (guess - y) ** 2
            loss = tf.reduce_mean(error)
"""),
    "the model": ("model", """        guess = self.one(
            x,
        )
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((guess - y) ** 2)
""", """            guess = self.one(
                x,
            )
            loss = tf.reduce_mean((guess - y) ** 2)
"""),
}  # fmt: skip


@BOTH
@pytest.mark.parametrize("built", [True, False])
@pytest.mark.parametrize("name", UNTAPED)
def test_what_no_tape_records_is_told_and_moved_into_its_block(name, built, tmp_path, framework):
    how, wrong, right = UNTAPED[name]
    program = PROGRAM.replace(TAPE, wrong) if built else PROGRAM.replace(TAPE, wrong).replace("L.InputLayer((3,)), ", "")
    path = tmp_path / "updates_program.py"
    path.write_text(HEAD.format(framework=framework) + (program % MEANT).lstrip("\n"))
    linecache.checkcache(str(path))
    module = load(path)
    with pytest.raises(ValueError, match="No gradients"):
        fit(module.build(), module.data())
    (finding,) = [one for one in tpushape.trace(module.build, module.data, tpu=None).findings if one.serious]
    assert (finding.rule, finding.fact.how, finding.fixes[0].proof) == ("optimizer-update", how, "source")
    tpushape.apply(finding.fixes[0], path)
    assert right in path.read_text()
    linecache.checkcache(str(path))
    again = load(path)
    if built or framework == "keras":  # a network that no step calls is not built, which tf_keras does not accept
        fit(again.build(), again.data())


@BOTH
@pytest.mark.parametrize("body", [
    # A tape that goes on, one within another, and a gradient in the block.
    "with tf.GradientTape(persistent=True) as tape:\n            guess = self.one(x)\n        with tape:\n            loss = tf.reduce_mean((guess - y) ** 2)",
    ("with tf.GradientTape() as tape:\n            with tf.GradientTape() as inner:\n                inner.watch(x)\n                out = self.one(x)\n"
    "            slope = inner.gradient(out, x)\n            loss = tf.reduce_mean((out - y) ** 2) + tf.reduce_mean(slope**2)"),
])  # fmt: skip
def test_what_a_tape_records_is_not_told(body, tmp_path, framework):
    path = tmp_path / "updates_program.py"
    path.write_text(HEAD.format(framework=framework) + (PROGRAM.replace(TAPE.strip(" \n"), body) % MEANT).lstrip("\n"))
    linecache.checkcache(str(path))
    module = load(path)
    fit(module.build(), module.data())
    assert tpushape.trace(module.build, module.data, tpu=None).ok


def test_one_optimizer_for_two_networks_is_built_for_both(tmp_path):
    path, module, report = _traced(tmp_path, "keras", MEANT + SECOND % "two")
    with pytest.raises(ValueError, match="Unknown variable"):
        fit(module.build(), module.data())
    finding = next(finding for finding in report.findings if finding.serious)
    assert (finding.rule, finding.fact.how, finding.fixes[0].verified) == ("optimizer-update", "unknown", True)
    tpushape.apply(finding.fixes[0], path)
    assert "self.optimizer.build(self.trainable_variables)" in path.read_text()
    linecache.checkcache(str(path))
    again = load(path)
    fit(again.build(), again.data())


@BOTH
def test_a_model_that_its_first_batch_builds(tmp_path, framework):
    text = PROGRAM.replace("L.InputLayer((3,)), ", "")
    path = tmp_path / "updates_program.py"
    path.write_text(HEAD.format(framework=framework) + (text % MEANT).lstrip("\n"))
    linecache.checkcache(str(path))
    module = load(path)
    assert tpushape.trace(module.build, module.data, tpu=None).ok


@BOTH
@pytest.mark.parametrize("kept", ["self.last = loss.numpy()", "self.__dict__.setdefault('told', []).append(loss.numpy())"])
def test_what_a_step_keeps_of_a_value_is_told_and_not_kept_symbolically(framework, kept, tmp_path):
    path = tmp_path / "keeps.py"
    path.write_text(HEAD.format(framework=framework) + PROGRAM % f"{MEANT}\n        {kept}")
    module = load(path)
    findings = [one for one in tpushape.trace(module.build, module.data, tpu=None).findings if one.severity == "error"]
    assert [one.rule for one in findings] == ["symbolic-tensor"]
    assert not any(fix.verified for fix in findings[0].fixes)
