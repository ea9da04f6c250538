"""Step functions of a loop of the program's own, which take their state as arguments."""

from __future__ import annotations

import functools

import pytest
from strangers import HEAD, serious

import jupyter_tpushape as tpushape
from jupyter_tpushape.examine.program import BadProgram

LOOP = """
model = keras.Sequential([layers.Input((8,)), layers.Dense(16), layers.Dense(1)])
optimizer = keras.optimizers.Adam(1e-3)
optimizer.build(model.trainable_variables)
def loss_of(trainable, rest, x, y):
    y_pred, rest = model.stateless_call(trainable, rest, x)
    return jnp.mean((y_pred - y) ** 2), rest
@jax.jit
def train_step(state, data):
    trainable, rest, slots = state
    (loss, rest), grads = jax.value_and_grad(loss_of, has_aux=True)(trainable, rest, *data)
    trainable, slots = optimizer.stateless_apply(slots, grads, trainable)
    return loss, (trainable, rest, slots)
@jax.jit
def by_parts(trainable, x, y):
    return jax.grad(lambda weights: loss_of(weights, [], x, y)[0])(trainable)
def state_of(): return tuple([one.value for one in group] for group in (model.trainable_variables, model.non_trainable_variables, optimizer.variables))
"""


@pytest.fixture
def loop(tmp_path):
    path = tmp_path / "loop.py"
    path.write_text(HEAD + LOOP, encoding="utf-8")
    scope = {"__name__": "loop", "__file__": str(path)}
    exec(compile(HEAD + LOOP, str(path), "exec"), scope)
    return scope


def batch(loop, rank):
    return loop["np"].zeros((64, 8), "float32"), loop["np"].zeros((64, 1)[:rank], "float32")


def test_the_state_is_the_variable_of_the_parameters_name(loop):
    loop["state"] = loop["state_of"]()
    (finding,) = serious(tpushape.trace(loop["train_step"], batch(loop, 1), tpu=None))
    assert (finding.rule, finding.severity) == ("batch-broadcast", "silent")
    assert finding.location.line > 0
    report = tpushape.trace(loop["train_step"], batch(loop, 2), tpu=None)
    assert report.ok
    assert [node.op for node in report.flow.nodes if node.kind == "layer"] == ["Dense", "Dense"]


def test_a_batch_in_parts_and_weights_of_another_name(loop):
    loop["trainable"] = loop["state_of"]()[0]
    assert tpushape.trace(loop["by_parts"], batch(loop, 2), tpu=None).ok
    assert not tpushape.trace(loop["by_parts"], batch(loop, 1), tpu=None).ok


def test_a_state_that_is_bound_is_taken_as_it_is(loop):
    step = functools.partial(loop["train_step"], loop["state_of"]())
    assert tpushape.trace(step, batch(loop, 2), tpu=None).ok
    x, _ = batch(loop, 2)
    (finding,) = serious(tpushape.trace(step, (x[:, :5], x[:, :1]), tpu=None))
    assert finding.severity == "error"


def test_a_state_that_is_nowhere_is_asked_for(loop):
    with pytest.raises(BadProgram, match=r"no variable named state exists next to it. Bind the state"):
        tpushape.trace(loop["train_step"], batch(loop, 2), tpu=None)


def test_nothing_of_the_state_changes(loop):
    loop["state"] = state = loop["state_of"]()
    before = [[one.copy() for one in group] for group in state]
    tpushape.trace(loop["train_step"], batch(loop, 1))
    for group, kept, variables in zip(state, before, (loop["model"].trainable_variables, [], loop["optimizer"].variables), strict=True):
        assert all((one == other).all() for one, other in zip(group, kept, strict=True))
        assert all((one.value == other).all() for one, other in zip(variables, kept, strict=True))


PLAIN = """
w = {"w": jnp.ones((8, 3)), "key": jax.random.key(0)}
@jax.jit
def update(w, batch):
    x, y = batch
    noise = jax.random.normal(w["key"], x.shape)
    return jax.grad(lambda one: jnp.mean(((x + noise) @ one - y) ** 2))(w["w"])
"""


def test_a_step_without_a_model_is_traced_as_well(tmp_path):
    path = tmp_path / "plain.py"
    path.write_text(HEAD + PLAIN, encoding="utf-8")
    scope = {"__name__": "plain", "__file__": str(path)}
    exec(compile(HEAD + PLAIN, str(path), "exec"), scope)
    x = scope["np"].zeros((32, 8), "float32")
    (finding,) = serious(tpushape.trace(scope["update"], (x, x[:, :4]), tpu=None))
    assert finding.rule == "op-shapes"
    assert tpushape.trace(scope["update"], (x, x[:, :3]), tpu=None).ok


LOST = """
def loss_of(tv, ntv, x, y):
    y_pred, {thrown} = model.stateless_call(tv, ntv, x, training=True)
    return {result}
grad_fn = jax.value_and_grad(loss_of{aux})
@jax.jit
def train_step(state, data):
    tv, rest, slots = state
    {got}, grads = grad_fn(tv, rest, *data)
    tv, slots = optimizer.stateless_apply(slots, grads, tv)
    return loss, (tv, rest, slots)
"""
MEAN = "jnp.mean((y_pred - y) ** 2)"


def lost(tmp_path, layer="layers.BatchNormalization()", **parts):
    text = HEAD + LOOP.replace("layers.Dense(16)", f"layers.Dense(16), {layer}").split("def loss_of")[0]
    text += LOST.format(**parts) + LOOP[LOOP.index("def state_of()") :] + "state = state_of()\n"
    path = tmp_path / "lost.py"
    path.write_text(text, encoding="utf-8")
    scope = {"__name__": "lost", "__file__": str(path)}
    exec(compile(text, str(path), "exec"), scope)
    return tpushape.trace(scope["train_step"], batch(scope, 2), tpu=None)


@pytest.mark.parametrize(
    ("parts", "patch"),
    [
        ({"thrown": "_", "result": f"{MEAN}, y_pred", "aux": ", has_aux=True", "got": "(loss, y_pred)"}, "    (loss, (y_pred, rest)), grads"),
        ({"thrown": "new", "result": MEAN, "aux": "", "got": "loss"}, "    (loss, rest), grads"),
        ({"thrown": "_", "result": MEAN, "aux": "", "got": "loss", "layer": "layers.Dropout(0.1)"}, ", new_ntv"),
    ],
    ids=["aux", "no aux", "seed"],
)
def test_state_that_a_loop_carries_as_it_was_is_returned_anew(tmp_path, parts, patch):
    (finding,) = serious(lost(tmp_path, **parts))
    assert (finding.severity, type(finding.fact).__name__) == ("silent", "StateDropped")
    assert finding.fixes[0].proof == "source"
    assert patch in finding.fixes[0].patch


@pytest.mark.parametrize(
    "parts",
    [
        {"thrown": "ntv", "result": f"{MEAN}, ntv", "aux": ", has_aux=True", "got": "(loss, rest)"},
        {"thrown": "_", "result": MEAN, "aux": "", "got": "loss", "layer": "layers.ReLU()"},
    ],
    ids=["kept", "no state"],
)
def test_a_loop_that_carries_its_state_is_not_reported(tmp_path, parts):
    assert lost(tmp_path, **parts).ok
