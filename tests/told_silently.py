"""Programs that train and learn something else: what is said of them, and of their twins that are right."""

from __future__ import annotations

from broken import load

import jupyter_tpushape as tpushape


def found(path):
    module = load(path)
    return [one for one in tpushape.trace(module.build, module.data, tpu=None).findings if one.serious]


def told(path, rule, mended):
    """Asserts that the one finding is of ``rule``, and that its first fix, if there is to be one, leaves none."""
    seen = found(path)
    assert [(one.rule, one.severity) for one in seen] == [(rule, "silent")]
    assert bool(seen[0].fixes and seen[0].fixes[0].proof == "source") == mended
    if mended:
        tpushape.apply(seen[0].fixes[0], path)
        assert found(path) == []
