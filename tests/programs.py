"""Small programs for tests, the same in both frameworks."""

from __future__ import annotations

import functools
import importlib
import linecache
import pkgutil
import textwrap
from typing import Any

import numpy as np
import tensorflow as tf

import jupyter_tpushape as tpushape
from jupyter_tpushape.flow import Fact
from jupyter_tpushape.rules import facts


def example(source: str, framework: str, name: str = "") -> dict[str, Any]:
    """What an example defines: ``build`` or ``step``, and perhaps ``data`` and ``strategy``."""
    keras = importlib.import_module(framework)
    text = textwrap.dedent(source).strip() + "\n"
    name = f"/example/{name or abs(hash((text, framework)))}.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"keras": keras, "L": keras.layers, "np": np, "tf": tf, "tpushape": tpushape, "__name__": "example"}
    exec(compile(text, name, "exec"), scope)
    return scope


def failing(rule: Any, framework: str) -> tpushape.Report:
    """What is reported about a rule's failing example, its fixes included. Layers are numbered and random numbers drawn from the start."""
    keras = importlib.import_module(framework)
    keras.backend.clear_session()
    keras.utils.set_random_seed(0)
    program = example(rule.fails, framework, rule.id)
    return tpushape.trace(program.get("step") or program["build"], program.get("data"), tpu=rule.tpu or None, strategy=program.get("strategy"))


@functools.cache
def reported(id: str) -> tpushape.Report:
    """The same for a rule's first framework, traced once in a process."""
    rule = next(rule for rule in tpushape.rules() if rule.id == id)
    return failing(rule, rule.frameworks[0])


def kinds(base: type[Fact] = Fact) -> list[type[Fact]]:
    """Every class of facts, those that others are made of included."""
    for module in pkgutil.iter_modules(facts.__path__):
        importlib.import_module(f"{facts.__name__}.{module.name}")
    return [found for kind in base.__subclasses__() for found in (kind, *kinds(kind))]
