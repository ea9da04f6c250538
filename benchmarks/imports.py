"""What importing and loading cost over bare Python and bare IPython, by turns, each in a process of its own.

``python benchmarks/imports.py [--repeat N]``
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys

CLOCK = "import time; start = time.perf_counter(); {work}; print(time.perf_counter() - start)"
SHELL = "from IPython.core.interactiveshell import InteractiveShell; shell = InteractiveShell.instance(); "
WAYS = {
    "import jupyter_tpushape": CLOCK.format(work="import jupyter_tpushape"),
    "%load_ext jupyter_tpushape": SHELL + CLOCK.format(work="shell.run_line_magic('load_ext', 'jupyter_tpushape')"),
    "%load_ext autoreload, for comparison": SHELL + CLOCK.format(work="shell.run_line_magic('load_ext', 'autoreload')"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=11)
    options = parser.parse_args()
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(options.repeat):
        for way, program in WAYS.items():
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
            found[way].append(float(done.stdout.split()[-1]))
    print("| what | median | fastest |")
    print("|---|---|---|")
    for way, times in found.items():
        print(f"| `{way}` | {1000 * statistics.median(times):.0f} ms | {1000 * min(times):.0f} ms |")


if __name__ == "__main__":
    main()
