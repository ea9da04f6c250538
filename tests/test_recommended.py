"""Examples that many copy, with one line that is wrong: the cause, and a fix that keeps what each part means. The JAX tests run the same programs."""

from __future__ import annotations

import pytest
from recommended import CODEBOOK, FRAMES, MASKS, MEANT, OF_ALL, PAIRS, SQUEEZED, endpoint, findings, problems, recommender


@pytest.mark.parametrize("score", OF_ALL)
def test_one_number_of_all_samples_that_is_added_to_each_is_reported(tmp_path, score):
    (finding,) = problems(tmp_path, recommender(score))
    assert finding.rule == "samples-summed"
    assert "ops.sum(one * other, axis=-1, keepdims=True)" in finding.fixes[0].patch


@pytest.mark.parametrize("score", MEANT)
def test_a_score_of_each_sample_and_a_statistic_of_the_batch_are_not(tmp_path, score):
    assert not problems(tmp_path, recommender(score))


def test_a_sum_without_its_axis_that_crosses_samples_is_told_as_that(tmp_path):
    (finding,) = problems(tmp_path, recommender("ops.sum(one * other, axis=-1)"))
    assert (finding.rule, finding.fact.left, finding.fact.right) == ("batch-broadcast", (32,), (32, 1))
    assert finding.fixes[0].verified


def test_columns_that_have_the_ids_of_each_others_tables_are_exchanged_and_get_no_more_rows(tmp_path):
    findings = problems(tmp_path, recommender(columns="movie, user"))
    assert {finding.rule for finding in findings} == {"embedding-range"}
    fact = findings[0].fact
    assert (fact.size, fact.column, fact.highest, fact.other, fact.fitting) == (30, 0, 49, 1, 29)
    (fix,) = findings[0].fixes
    assert fix.verified
    assert "self.movies(inputs[:, 0])" in fix.patch
    assert "Embedding(50, 1)" not in fix.patch


def test_a_column_with_ids_beyond_its_table_alone_gets_more_rows(tmp_path):
    text = recommender().replace("layers.Embedding(50, 12)", "layers.Embedding(40, 12)")
    (finding,) = problems(tmp_path, text)
    assert (finding.rule, finding.fact.column, finding.fact.highest) == ("embedding-range", 1, 49)
    assert "layers.Embedding(50, 12)" in finding.fixes[0].patch


def test_a_reduced_axis_that_is_removed_is_kept(tmp_path):
    (finding,) = problems(tmp_path, CODEBOOK.format(keep=""))
    assert finding.rule == "op-shapes"
    assert finding.fact.reason.other == (24,)
    assert "axis=1, keepdims=True" in finding.fixes[0].patch
    assert not problems(tmp_path, CODEBOOK.format(keep=", keepdims=True"))


def test_a_squeeze_takes_the_axis_of_size_1(tmp_path):
    (finding,) = problems(tmp_path, SQUEEZED.format(axis=2))
    assert "axis=1" in finding.fixes[0].patch
    assert finding.fixes[0].verified
    assert not problems(tmp_path, SQUEEZED.format(axis=1))


def test_both_inputs_of_a_product_that_sums_nothing_become_vectors(tmp_path):
    (finding,) = problems(tmp_path, PAIRS.format(axes=1, one="one", other="other"))
    assert finding.rule == "missing-flatten"
    assert "[layers.Flatten()(one), layers.Flatten()(other)]" in finding.fixes[0].patch
    assert not any("Dense" in fix.patch for fix in finding.fixes)
    flat = PAIRS.format(axes=1, one="layers.Flatten()(one)", other="layers.Flatten()(other)")
    assert not problems(tmp_path, flat)


def test_an_own_loss_over_several_outputs_needs_no_labels_for_each(tmp_path):
    (finding,) = problems(tmp_path, MASKS.format(shape=(6, 8, 8)))
    assert finding.rule == "loss-raises"
    assert finding.fixes[0].verified
    assert not problems(tmp_path, MASKS.format(shape=(6, 8, 8, 1)))


def test_pictures_with_their_channels_first_are_not_padded_until_the_window_fits(tmp_path):
    (finding,) = problems(tmp_path, FRAMES.format(first=""))
    assert finding.rule == "window-too-large"
    assert not any('padding="same"' in fix.patch for fix in finding.fixes)
    assert any("layers.Permute((2, 3, 1))" in fix.patch and fix.verified for fix in finding.fixes)
    assert not problems(tmp_path, FRAMES.format(first="layers.Permute((2, 3, 1)), "))


def test_a_loss_in_a_layer_gets_its_arguments_in_order(tmp_path):
    (finding,) = problems(tmp_path, endpoint("logits, targets"))
    assert finding.rule == "loss-arguments"
    assert "self.loss_fn(targets, logits, sample_weight)" in finding.fixes[0].patch
    assert not problems(tmp_path, endpoint())


@pytest.mark.parametrize(("key", "fixes"), [("target", 1), ("labels", 0)])
def test_a_key_that_the_data_lacks_is_named_beside_those_that_it_has(tmp_path, key, fixes):
    (finding,) = problems(tmp_path, endpoint(key=key))
    assert (finding.fact.key, set(finding.fact.keys)) == (key, {"inputs", "targets", "sample_weight"})
    verified = [fix for fix in finding.fixes if fix.verified]
    assert len(verified) == fixes
    assert all('targets=inputs["targets"]' in fix.patch for fix in verified)


@pytest.mark.parametrize(("axes", "noted"), [("from_logits=True", False), ("", True)])
def test_a_product_without_an_activation_is_no_probability(tmp_path, axes, noted):
    text = PAIRS.format(axes=1, one="layers.Flatten()(one)", other="layers.Flatten()(other)").replace("from_logits=True", axes)
    assert ("logits-missing" in {finding.rule for finding in findings(tmp_path, text)}) == noted
