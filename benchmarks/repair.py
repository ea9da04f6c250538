"""How long a diagnosis with tried fixes takes, against letting ``fit`` run into the error.

    python benchmarks/repair.py [--keras keras|tf_keras] [--each 4] [--seed 1]

Two sets of faulty programs: mutants of the tests' small programs that raise, and the failing examples of the
rules that raise without a target. Imports are not counted. Both sides build the model and make the data;
the order of the two alternates from program to program, so that neither profits from warm caches.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "tests")]

Make = Callable[[], tuple[Any, Any]]


def mutated(keras: Any, seed: int, each: int) -> Iterator[tuple[str, Make]]:
    """Mutants, as functions that give fresh ``(build, data)`` of a file."""
    from mutants.mutations import mutants, program

    with tempfile.TemporaryDirectory() as folder:
        for number, mutant in enumerate(mutants(seed, each)):
            path = Path(folder) / f"mutant_{number}.py"
            mutant.write(path)
            yield mutant.id, lambda path=path, mutant=mutant: program(path, mutant.architecture, keras)


def examples(keras: Any) -> Iterator[tuple[str, Make]]:
    """The rules' failing examples that need no target."""
    from programs import example

    import jupyter_tpushape as tpushape

    def make(rule: Any) -> tuple[Any, Any]:
        scope = example(rule.fails, keras.__name__)
        return scope["build"], scope["data"]

    for rule in tpushape.rules():
        if rule.severity == "error" and not rule.tpu and keras.__name__ in rule.frameworks and "def data" in rule.fails:
            yield rule.id, lambda rule=rule: make(rule)


def run_into(build: Any, data: Any) -> bool:
    """Builds, and trains until it raises; whether it did."""
    try:
        model = build()
        given = data()
        if isinstance(given, tuple) and len(given) > 1 and given[1] is None:
            model.predict(given[0], verbose=0)
        else:
            model.fit(*(given if isinstance(given, tuple) else (given,)), verbose=0)
    except Exception:
        return True
    return False


def measure(keras: Any, programs: Iterator[tuple[str, Make]]) -> list[dict[str, Any]]:
    """One row for every program that raises: seconds of both ways, and whether the first fix was verified."""
    import jupyter_tpushape as tpushape

    rows = []
    for number, (name, make) in enumerate(programs):
        row: dict[str, Any] = {"name": name, "raised": False}

        def ask(make: Make = make, row: dict[str, Any] = row) -> None:
            build, data = make()
            start = time.perf_counter()
            report = tpushape.trace(build, data, tpu=None)
            row["diagnosis"] = time.perf_counter() - start
            fixes = [fix for finding in report.findings if finding.serious for fix in finding.fixes]
            row["fixed"] = bool(fixes) and fixes[0].verified

        def let(make: Make = make, row: dict[str, Any] = row) -> None:
            build, data = make()
            start = time.perf_counter()
            row["raised"] = run_into(build, data)
            row["fit"] = time.perf_counter() - start

        for way in (ask, let) if number % 2 else (let, ask):
            keras.backend.clear_session()
            way()
        if row["raised"]:
            rows.append(row)
    return rows


def at(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def table(name: str, rows: list[dict[str, Any]]) -> str:
    """One line: medians and 95th percentiles of both, and how often the first fix was verified."""
    cells = [f"{at([row[way] for row in rows], share):.2f} s" for way in ("diagnosis", "fit") for share in (0.5, 0.95)]
    return f"| {name} | {len(rows)} | {' | '.join(cells)} | {sum(row['fixed'] for row in rows) / len(rows):.0%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keras", choices=["keras", "tf_keras"], default="keras")
    parser.add_argument("--each", type=int, default=4, help="mutants drawn of each program")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    keras = importlib.import_module(options.keras)
    warnings.simplefilter("ignore")
    measure(keras, iter(list(examples(keras))[:2]))
    print(f"{options.keras} {keras.__version__}, {os.cpu_count()} cores")
    print("| programs that raise | number | diagnosis with fixes: median | 95 % | `fit` until it raises: median | 95 % | first fix verified |")
    print("|---|---|---|---|---|---|---|")
    print(table("mutants", measure(keras, mutated(keras, options.seed, options.each))))
    print(table("rules' examples", measure(keras, examples(keras))), flush=True)


if __name__ == "__main__":
    main()
