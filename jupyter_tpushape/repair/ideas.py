"""What cannot be tried here and is still of use: ideas, each with the reason why it is no fix yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, elements, show_shape
from ..flow.paths import show
from ..rules.facts.data import ClassesAsWeights
from ..rules.facts.loss import NoLabels
from ..rules.facts.tpu_steps import GradientScale
from .text.operations import spelled

Ideas = Iterator[tuple[str, str]]


def _labels(evidence: Evidence) -> Ideas:
    """Labels for some of several outputs only."""
    outputs, labels = evidence.outputs, evidence.y
    if labels and 1 <= len(labels) < len(outputs):
        known = [node.name for node in evidence.flow.nodes if node.kind == "output"]
        shown = known if len(known) == len(outputs) else [show(path) for path, _ in outputs]
        names = ", ".join(f"{name} {show_shape(spec.shape)}" for name, (_, spec) in zip(shown, outputs, strict=True))
        yield (
            f"Bring labels for every output, in this order: {names}",
            f"not tried: the data has labels for {len(labels)} of {len(outputs)} outputs, and labels cannot be made up",
        )
        yield (
            "Or train with the outputs that have labels: make a model that ends in them, and compile that one",
            "not tried: which of the outputs are wanted is not known here",
        )


def _inputs(evidence: Evidence) -> Ideas:
    declared, given = evidence.declared or [], evidence.x
    if len(given) < len(declared):
        names = ", ".join(f"{evidence.doors[path].word} {show_shape(spec.shape)}" for path, spec in declared)
        yield f"Bring an array for every input, in this order: {names}", "not tried: data cannot be made up"
    elif declared and len(given) > len(declared):
        yield (
            f"Leave out what the model does not take: it has {len(declared)} input{'s' * (len(declared) > 1)}, the data brings {len(given)}",
            "not tried: which arrays are meant is not known here",
        )


def _rows(evidence: Evidence) -> Ideas:
    declared = [spec for _, spec in evidence.declared or [] if spec.shape is not None]
    whole = [leaf for _, leaf in (evidence.sample.leaves("x") if evidence.sample is not None else ())]
    ranks = [len(leaf.shape) for leaf in whole if leaf.shape is not None]
    if (
        declared
        and ranks
        and len(ranks) == len(declared)
        and all(a == len(b.shape or ()) - 1 for a, b in zip(ranks, declared, strict=True))
    ):
        yield (
            "Keep the batch axis where the data is made: x[:1] in place of x[0], or x[None]",
            "not tried: x is one sample, and there are labels for more, so the other samples are missing",
        )
    else:
        yield "Make every array from the same rows, one row a sample", "not tried: which rows belong together is not known here"


def _own_loss(evidence: Evidence) -> Ideas:
    """The loss function's own operation, where labels and predictions are not what it stumbles over."""
    node = evidence.failed
    ends = [spec.shape for _, spec in (*evidence.y, *evidence.outputs)]
    if node is None or node.kind != "op" or len(ends) != 2 or not ends[0] or not ends[1] or ends[0] not in (ends[1], ends[1][:-1]):
        return
    shapes = [edge.spec.shape for edge in evidence.failed_inputs()]
    ranks = {len(shape) for shape in shapes if shape is not None}
    if len(shapes) == len(ranks) == 2:
        where = f" at {node.called}" if node.called is not None else ""
        yield (
            f"Bring the two sides of {node.op}{where} to one number of axes: they are {show_shape(shapes[0])} and {show_shape(shapes[1])}",
            "not tried: which axis of a function of your own was meant is not known here",
        )


def _same_count(evidence: Evidence) -> Ideas:
    """One shape for both sides of a function of the user's own, where they hold the same number of values."""
    if len(evidence.y) != 1 or len(evidence.outputs) != 1:
        return
    y, p = evidence.y[0][1].shape, evidence.outputs[0][1].shape
    if y is None or p is None or y == p or elements(y) is None or elements(y) != elements(p):
        return
    yield (
        (
            f"Give the labels the predictions' shape in your own function: y_true = {spelled()}.reshape(y_true, {spelled()}.shape(y_pred)), "
            f"{show_shape(y)} to {show_shape(p)}"
        ),
        "not tried: that the values stand in the same order is not known here",
    )


def _class_weights(fact: ClassesAsWeights) -> Ideas:
    """The weight of its class for each label."""
    yield (
        f"Weigh each label by its class: {fact.each} in place of weights",
        "not tried: which of the classes each number is for is not known here",
    )


def _metric(evidence: Evidence) -> Ideas:
    """Labels and predictions of one shape in a metric, where they differ."""
    y = {spec.shape for _, spec in evidence.y}
    if y and not y & {spec.shape for _, spec in evidence.outputs}:
        yield (
            "Compare labels and predictions of one shape in the metric, or leave it out",
            "not tried: what it was to measure is not known here",
        )


def _own_labels(evidence: Evidence, fact: NoLabels) -> Ideas:
    """The inputs themselves as labels, where the outputs have their shape."""
    if fact.alike:
        how = "ds.map(lambda x: (x, x))" if evidence.sample is not None and evidence.sample.kind == "dataset" else "yield x, x"
        yield f"Give each batch as its own label: {how}", "not tried: that the model is to give back its inputs is not known here"


_BY_PROGRAM: dict[str, tuple[Callable[[Evidence], Ideas], ...]] = {
    "label-rank": (_labels,),
    "loss-raises": (_labels, _own_loss, _same_count),
    "batch-broadcast": (_same_count,),
    "metric-raises": (_metric,),
    "output-names": (_labels,),
    "loss-broadcast": (_labels,),
    "input-structure": (_inputs,),
    "data-misfit": (_rows,),
}
_KERNEL = (
    "Move it into the pipeline: ds.map(lambda x, y: (f(x), y)), which runs on the host",
    "not tried: the code stands inside the model, and what it needs of it is not known here",
)
_TEXT = (
    "Turn the text into numbers in the pipeline: a TextVectorization or StringLookup, adapted to the data, in ds.map",
    "not tried: which words are to be known is not known here",
)
_STEP = "not tried: the text of a step is not changed here; trace it again afterwards"


def _average(evidence: Evidence, finding: Finding) -> Ideas:
    """How the loss of a step is divided by the whole batch."""
    batch = evidence.split.batch if evidence.split is not None else None
    size = f"global_batch_size={batch}" if batch else "global_batch_size=..."
    fact = finding.fact
    if not isinstance(fact, GradientScale):
        return
    if fact.times < 1:
        yield "Divide once: leave out one of the two divisions by the number of replicas", _STEP
    elif fact.by == "mask":
        yield (
            "Divide by the mask's sum over all replicas: tf.distribute.get_replica_context().all_reduce('sum', tf.reduce_sum(mask))",
            _STEP,
        )
    else:
        yield f"Keep one loss a row and average over the whole batch: tf.nn.compute_average_loss(losses, {size})", _STEP
        if evidence.framework == "keras":
            yield (
                "Or call a Keras 3 loss object, keras.losses.MeanSquaredError()(y, prediction), which divides by the replicas itself",
                _STEP,
            )


_BY_RULE = {
    "regularization-scale": ("Wrap it: tf.nn.scale_regularization_loss(the loss of the weights)", _STEP),
    "tpu-kernel": _KERNEL,
    "tpu-kernel-dtype": _KERNEL,
    "endless-loop-gradient": ("Give the loop maximum_iterations=N", "not tried: how many turns are enough is not known here"),
    "shape-from-data": (
        "Take the size from a shape ({ops}.shape(x), x.shape), or write the largest one down and mask the rest",
        "not tried: how large it can become is not known here",
    ),
    "string-input": _TEXT,
    "input-dtype": _TEXT,
    "colour-masks": (
        "Replace each color by its class number: (masks[..., None, :] == colors).all(-1).argmax(-1), with one row of colors a class",
        "not tried: which of the colors of a mask is which class is not known here",
    ),
}


def ideas(evidence: Evidence, finding: Finding) -> list[tuple[str, str]]:
    """``(title, why it is not verified)`` for a finding without a verified fix."""
    if finding.rule == "gradient-scale":
        return list(_average(evidence, finding))
    if isinstance(finding.fact, ClassesAsWeights):
        return list(_class_weights(finding.fact))
    if isinstance(finding.fact, NoLabels):
        return list(_own_labels(evidence, finding.fact))
    if finding.rule == "data-misfit" and not getattr(finding.fact, "counts", ()):
        return []  # what rows belong together is no question where the numbers of rows agree
    found = [idea for make in _BY_PROGRAM.get(finding.rule, ()) for idea in make(evidence)]
    if found or finding.rule not in _BY_RULE:
        return found
    title, reason = _BY_RULE[finding.rule]
    return [(title.replace("{ops}", spelled()), reason)]
