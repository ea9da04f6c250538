"""What rules look at: the flow and the facts around it. No framework, no live object."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..flow import Edge, Flow, Node, Shape, Spec, Target


@dataclass
class Evidence:
    """Everything that a rule may use.

    ``x``, ``y``, ``weight``: ``(path, spec)`` of one replica's tensors, batch axis first.
    ``declared``: ``(name, spec)`` of the inputs that the model declares, or ``None``.
    ``where``: the phase that raised (``data``, ``build``, ``call``, ``loss``, ``metric``), or ``""``.
    ``sample``: the sampled data (see :mod:`jupyter_tpushape.sources`), or ``None``.
    """

    flow: Flow
    target: Target | None = None
    sample: Any = None
    split: Any = None
    x: list[tuple[str, Spec]] = field(default_factory=list)
    y: list[tuple[str, Spec]] = field(default_factory=list)
    weight: list[tuple[str, Spec]] = field(default_factory=list)
    outputs: list[tuple[str, Spec]] = field(default_factory=list)
    declared: list[tuple[str, Spec]] | None = None
    structure: Any = None
    where: str = ""
    failure: Any = None
    framework: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def failed(self) -> Node | None:
        """The node that raised."""
        return next(iter(self.flow.failed()), None)

    def failed_inputs(self) -> list[Edge]:
        failed = self.failed
        return [] if failed is None else self.flow.into(failed.id)

    def rows(self, index: int = 0) -> Shape | None:
        """The shape of one sample of input ``index``: its spec without the batch axis."""
        if index >= len(self.x) or self.x[index][1].shape is None:
            return None
        return self.x[index][1].shape[1:]  # type: ignore[index]

    @property
    def trains(self) -> bool:
        """Whether gradients flow: the data has labels, or a step takes gradients by itself."""
        step = self.facts.get("step")
        return bool(step.trains) if step is not None else self.sample is not None and self.sample.y is not None

    def losses(self) -> list[Node]:
        return [node for node in self.flow.nodes if node.kind == "loss"]
