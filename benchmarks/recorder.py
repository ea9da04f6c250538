"""What the recorder costs when it is loaded and idle: building EfficientNetB7 with the hooks and without, by turns.

``python benchmarks/recorder.py [--pairs N]`` prints the median times and the median of the pairs' ratios.
Both builds of a pair run in the same process, in alternating order, so that a change of the machine's speed meets both.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import statistics
import time
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

from jupyter_tpushape.trace import frameworks, hooks


def build(keras: Any, hooked: bool) -> float:
    """Processor seconds of one build: what else the machine does is not counted."""
    if hooked:
        frameworks.loaded()
        hooks.listen("benchmark", lambda *_args, **_kwargs: None)
    else:
        hooks.listen("benchmark", None)
        frameworks.uninstall()
    keras.backend.clear_session()
    gc.collect()
    gc.disable()
    start = time.process_time()
    keras.applications.EfficientNetB7(weights=None)
    spent = time.process_time() - start
    gc.enable()
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=15)
    options = parser.parse_args()
    print("| framework | without | loaded and idle | median of ratios |")
    print("|---|---|---|---|")
    for framework in ("keras", "tf_keras"):
        keras = importlib.import_module(framework)
        build(keras, False)
        build(keras, True)
        plain, hooked = [], []
        for pair in range(options.pairs):
            for on in (False, True) if pair % 2 else (True, False):
                (hooked if on else plain).append(build(keras, on))
        ratio = statistics.median(b / a for a, b in zip(plain, hooked, strict=True))
        print(f"| {framework} | {statistics.median(plain):.3f} s | {statistics.median(hooked):.3f} s | {100 * (ratio - 1):+.1f} % |", flush=True)


if __name__ == "__main__":
    main()
