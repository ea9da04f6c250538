"""The exchange between devices, read from a compiled program's text."""

from __future__ import annotations

from jupyter_tpushape.compilers.collectives import collectives, sent

TEXT = """HloModule jit_train_step, is_scheduled=true

%body.1 (p: (s32[], f32[128,10])) -> (s32[], f32[128,10]) {
  %gather.5 = bf16[64,8]{1,0:T(8,128)(2,1)} all-gather(%p.2), channel_id=4, replica_groups=[2,4]<=[8], dimensions={0}, metadata={op_name="jit(train_step)/while/body/lstm/dot_general"}
}

%cond.1 (p: (s32[], f32[128,10])) -> pred[] {
  ROOT %less = pred[] compare(%a, %b), direction=LT
}

ENTRY %main.9 (param.1: f32[128,1024]) -> f32[] {
  %all-reduce = f32[128,1024]{1,0:T(8,128)} all-reduce(%fusion.2), channel_id=1, replica_groups=[2,4]<=[8], to_apply=%add, metadata={op_name="jit(train_step)/jvp(down)/dot_general" stack_frame_id=116}
  %all-reduce.8 = (f32[]{:T(128)}, f32[1024,10]{0,1:T(8,128)}) all-reduce(%a, %b), channel_id=2, replica_groups=mesh['axis_0'=2,'axis_1'=4] {'axis_0'}, to_apply=%add
  %get-tuple-element.1 = f32[]{:T(128)} get-tuple-element(%all-reduce.8), index=0, metadata={op_name="jit(train_step)/loss"}
  %get-tuple-element.2 = f32[1024,10]{0,1:T(8,128)} get-tuple-element(%all-reduce.8), index=1, metadata={op_name="jit(train_step)/transpose(jvp(head))/dot_general"}
  %scatter = f32[16,8]{1,0} reduce-scatter(%x), channel_id=5, replica_groups={{0,1,2,3},{4,5,6,7}}, dimensions={0}, to_apply=%add, metadata={op_name="s"}
  %start = (f32[4,8]{1,0}, f32[16,8]{1,0}) all-gather-start(%y), channel_id=6, replica_groups={{0,1,2,3},{4,5,6,7}}, dimensions={0}, metadata={op_name="g"}
  %done = f32[16,8]{1,0} all-gather-done(%start), metadata={op_name="g"}
  %alone = f32[4]{0} all-reduce(%z), channel_id=7, replica_groups=[8,1]<=[8], to_apply=%add, metadata={op_name="alone"}
  %while.3 = (s32[], f32[128,10]) while(%t), condition=%cond.1, body=%body.1, backend_config={"known_trip_count":{"n":"12"}}
}
"""


def test_each_exchange_is_told_with_its_operation_its_group_and_how_often_it_runs():
    assert collectives(TEXT, 8) == [
        ["all-gather", "jit(train_step)/while/body/lstm/dot_general", 64 * 8 * 2, 4, 12, True],
        ["all-reduce", "jit(train_step)/jvp(down)/dot_general", 128 * 1024 * 4, 4, 1, True],
        ["all-reduce", "jit(train_step)/loss", 4, 2, 1, True],
        ["all-reduce", "jit(train_step)/transpose(jvp(head))/dot_general", 1024 * 10 * 4, 2, 1, True],
        ["reduce-scatter", "s", 16 * 8 * 4 * 4, 4, 1, True],
        ["all-gather", "g", 16 * 8 * 4, 4, 1, True],
    ]


def test_a_loop_of_unknown_length_counts_once_and_says_so():
    told = collectives(TEXT.replace('{"known_trip_count":{"n":"12"}}', "{}"), 8)
    assert told[0][4:] == [1, False]


def test_what_one_device_sends_in_a_ring():
    assert sent("all-reduce", 800, 8) == 1400
    assert sent("all-gather", 800, 8) == 700
    assert sent("collective-permute", 800, 8) == 800
