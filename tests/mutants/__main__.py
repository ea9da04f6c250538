"""The table of mutants: what is found, mended, and computed after the first fix.

python -m mutants [keras|tf_keras] [seed] [each]    (in the folder tests)
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import warnings
from pathlib import Path

from .harder import harder
from .mutations import mutants
from .outcomes import DIFFERS, HARMLESS, judge, table

library, seed, each = (*sys.argv[1:], *("keras", "1", "9")[len(sys.argv) - 1 :])
warnings.simplefilter("ignore")
keras = importlib.import_module(library)
with tempfile.TemporaryDirectory() as folder:
    drawn = [*mutants(int(seed), int(each)), *harder(int(seed), int(each))]
    outcomes = [judge(mutant, keras, Path(folder) / f"mutant_{i}.py", fixes=True) for i, mutant in enumerate(drawn)]
print(table(outcomes))
for outcome in outcomes:
    if outcome.kept == DIFFERS or outcome.repaired.count(":"):
        print(f"- {outcome.mutant.id}: {outcome.kept} {outcome.repaired} [{outcome.title}]")
for outcome in outcomes:
    if (outcome.kind != HARMLESS) != outcome.found:
        print(f"- {outcome}")
