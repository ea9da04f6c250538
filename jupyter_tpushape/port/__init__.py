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
        text: the new program. data: its bytes, encoded as the old one's. patch: a unified diff of the old one, ``""`` where nothing changes.
        left: what cannot be ported by rewriting, line by line, each with what to do.
        proof: what came of running both; its ``holds`` is ``None`` where that could not be seen.
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

    The set-up of the TPU becomes a ``DataParallel`` over all devices, ``tf.keras`` and ``tf_keras`` become Keras 3, plain operations in
    layers become ``keras.ops``; the ``tf.data`` pipeline stays. The file is not changed.

    Args:
        path: a Python file that trains with ``fit``.
        python: a Python with ``jax`` that runs the port; this one, where it has jax, or the one that ``TPUSHAPE_JAX_PYTHON`` names.
        proof: whether both programs are run up to ``fit``, each in a process of its own, and compared on one batch with the same weights:
            shapes and dtypes layer by layer, outputs and loss to 1e-4. A program that leaves something to do by hand is not run.

    Raises:
        ValueError: where the file is no program of Python's, or uses no strategy; one line that says so.
        OSError: where it cannot be read.
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
