"""From ``TPUStrategy`` to Keras 3 on JAX: rewrites a program, lists the lines left to change by hand, and compares the two programs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from ..files import read_text
from ..repair.patch import difference
from ..repair.text.source import NoPlace
from .left import Left
from .prove import Proof, prove, python_with_jax
from .rewrite import Rewriter


@dataclass(frozen=True)
class Ported:
    """A ported program.

    Attributes:
        text: the new program. data: its bytes, in the encoding of the old one. patch: a unified diff, ``""`` if nothing changes.
        left: the lines to change by hand, each with what to do.
        proof: the result of running both; its ``holds`` is ``None`` if that is unknown.
    """

    text: str
    patch: str
    data: bytes
    left: tuple[Left, ...] = ()
    proof: Proof = field(default_factory=lambda: Proof(None, "Not proved: no proof was requested."))

    @property
    def whole(self) -> bool:
        """Whether nothing is left to change by hand, and no difference was found."""
        return not self.left and self.proof.holds is not False

    def __repr__(self) -> str:
        rest = [f"{len(self.left)} to change by hand:", *(f"  {one}" for one in self.left)] if self.left else []
        return "\n".join([self.patch, *rest, self.proof.said]).strip()


def port(path: str | Path, *, python: str | None = None, proof: bool = True) -> Ported:
    """Ports a program from ``tf.distribute.TPUStrategy`` to Keras 3 on JAX with ``keras.distribution``.

    The TPU setup becomes a ``DataParallel`` over all devices, ``tf.keras`` and ``tf_keras`` become Keras 3, and TensorFlow operations in
    layers become ``keras.ops``. The ``tf.data`` pipeline stays. The file itself is not changed.

    Args:
        path: a Python file that trains with ``fit``.
        python: a Python with ``jax`` to run the port; the default is this Python if it has jax, or the one in ``TPUSHAPE_JAX_PYTHON``.
        proof: whether to run both programs up to ``fit``, each in a separate process, and compare them on one batch with the same weights:
            shapes and dtypes of each layer, outputs and loss to 1e-4. A port with lines left to change by hand is not run.

    Returns:
        The ported program, its diff, the lines left to change by hand, and the proof.

    Raises:
        ValueError: if the file is not valid Python, or uses no strategy.
        OSError: if the file cannot be read.

    Example::

        print(tpushape.port("train.py").patch)
    """
    file = Path(path)
    written = read_text(file)
    before = written.text
    try:
        rewriter = Rewriter(before, file.name)
        found = rewriter.setup.found
        after = rewriter.run()
    except NoPlace:
        raise ValueError(f"{file} is not valid Python. Fix its syntax first.") from None
    if not found:
        raise ValueError(f"{file} has no TensorFlow strategy, so there is nothing to port.")
    patch = "\n".join(difference(before, after, file.name))
    seen = Proof(None, "Not proved: no proof was requested.")
    if rewriter.left:
        seen = Proof(None, "Not proved: the port does not run until you make these changes.")
    elif proof:
        seen = prove(file, after, python if python is not None else python_with_jax())
    return Ported(after, patch, replace(written, text=after).data, tuple(dict.fromkeys(rewriter.left)), seen)


__all__ = ["Left", "Ported", "Proof", "port"]
