"""How the time of a trace and the size of its report grow with a model's depth and width.

    python benchmarks/growth.py [--repeat 3]

Depth: blocks of 50 layers, one behind the other. Width: branches of one layer that meet in an Add. The exponent is the
slope of log(seconds) over log(nodes) through the three largest: 1 is linear. Times are the best of the repetitions.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import time
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np

import jupyter_tpushape as tpushape

DEPTHS = (50, 200, 800, 3200)
WIDTHS = (8, 32, 128, 512)


def deep(keras: Any, layers: int) -> Any:
    first = x = keras.Input((8,))
    for _ in range(layers // 50):
        inner = y = keras.Input((8,))
        for _ in range(50):
            y = keras.layers.Dense(8)(y)
        x = keras.Model(inner, y)(x)
    return keras.Model(first, keras.layers.Dense(3)(x))


def wide(keras: Any, branches: int) -> Any:
    first = keras.Input((8,))
    return keras.Model(first, keras.layers.Dense(3)(keras.layers.Add()([keras.layers.Dense(8)(first) for _ in range(branches)])))


def slope(nodes: list[int], seconds: list[float]) -> float:
    """Of log(seconds) over log(nodes), least squares."""
    x, y = [math.log(n) for n in nodes], [math.log(s) for s in seconds]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True)) / sum((a - mx) ** 2 for a in x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    data = (np.zeros((64, 8), "float32"), np.zeros(64, "int64"))
    print("| what grows | framework | nodes | seconds | bytes of JSON a node | exponent |")
    print("|---|---|---|---|---|---|")
    for framework in ("keras", "tf_keras"):
        keras = importlib.import_module(framework)
        for what, make, sizes in (("depth", deep, DEPTHS), ("width", wide, WIDTHS)):
            nodes, seconds, size = [], [], []
            for number in sizes:
                keras.backend.clear_session()
                model = make(keras, number)
                model.compile("sgd", "sparse_categorical_crossentropy")
                times = []
                for _ in range(options.repeat):
                    start = time.perf_counter()
                    report = tpushape.trace(model, data, tpu="v5e-8")
                    times.append(time.perf_counter() - start)
                nodes.append(len(report.flow.nodes))
                seconds.append(min(times))
                size.append(len(report.to_json()) / nodes[-1])
            print(
                f"| {what} | {framework} | {', '.join(f'{n:,}' for n in nodes)} | {', '.join(f'{s:.2f}' for s in seconds)} "
                f"| {', '.join(f'{b:.0f}' for b in size)} | {slope(nodes[-3:], seconds[-3:]):.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
