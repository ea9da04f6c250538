"""Sizes and structure that are written wrongly: the first fix changes what is written, and the program then trains."""

from __future__ import annotations

import linecache

import pytest
from broken import HEAD, fit, load
from written_apart import APART
from written_arrays import ARRAYS
from written_axes import AXES
from written_blocks import BLOCKS
from written_calls import CALLS
from written_contracts import CONTRACTS
from written_counted import COUNTED
from written_created import CREATED
from written_data import DATA
from written_entries import ENTRIES
from written_folded import FOLDED
from written_forms import FORMS
from written_kept import KEPT
from written_levels import LEVELS
from written_mapped import MAPPED
from written_meant import MEANT
from written_older import OLDER
from written_operations import OPERATIONS
from written_outputs import OUTPUTS
from written_own import OWN_CODE
from written_pairs import PAIRS
from written_parts import PARTS
from written_ported import PORTED
from written_posted import POSTED
from written_programs import WRITTEN
from written_published import PUBLISHED
from written_reported import REPORTED
from written_restored import RESTORED
from written_returns import RETURNS
from written_roles import ROLES
from written_rows import ROWS
from written_samples import SAMPLES
from written_scores import SCORES
from written_seen import SEEN
from written_shaped import SHAPED
from written_sizes import SIZES
from written_solved import SOLVED
from written_started import STARTED
from written_steps import STEPS
from written_strangers import STRANGERS
from written_tables import TABLES
from written_trained import TRAINED
from written_unread import UNREAD
from written_unused import UNUSED
from written_vectors import VECTORS
from written_widths import WIDTHS

import jupyter_tpushape as tpushape

PROGRAMS = {
    **WRITTEN,
    **BLOCKS,
    **ROLES,
    **OLDER,
    **SAMPLES,
    **OPERATIONS,
    **CALLS,
    **CREATED,
    **DATA,
    **OUTPUTS,
    **WIDTHS,
    **SHAPED,
    **SCORES,
    **SIZES,
    **PAIRS,
    **FOLDED,
    **MAPPED,
    **MEANT,
    **SOLVED,
    **PORTED,
    **POSTED,
    **STARTED,
    **PARTS,
    **UNREAD,
    **PUBLISHED,
    **ROWS,
    **ARRAYS,
    **REPORTED,
    **APART,
    **UNUSED,
    **RESTORED,
    **ENTRIES,
    **TRAINED,
    **STRANGERS,
    **COUNTED,
    **CONTRACTS,
    **TABLES,
    **OWN_CODE,
    **LEVELS,
    **STEPS,
    **VECTORS,
    **FORMS,
    **KEPT,
    **RETURNS,
    **SEEN,
    **AXES,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_first_fix_changes_what_is_written(name, tmp_path):
    rule, own = PROGRAMS[name]
    path = tmp_path / f"written_{'_'.join(name.replace(chr(39), '').split())}.py"
    path.write_text(HEAD.format(framework="keras") + own.source.lstrip("\n"))
    before = path.read_text().splitlines()
    module = load(path)
    finding = next(finding for finding in tpushape.trace(module.build, module.data, tpu=None).findings if finding.serious)
    fix = finding.fixes[0]
    assert (finding.rule, fix.verified, fix.proof) == (rule, True, "source"), fix.title
    tpushape.apply(fix, path)
    after = path.read_text().splitlines()
    for old, new in own.lines:
        assert old in before and new in after, "\n".join(line for line in after if line not in before)
    linecache.checkcache(str(path))
    again = load(path)
    assert tpushape.trace(again.build, again.data, tpu=None, fixes=False).ok
    fit(again.build(), again.data(), eagerly=True)
