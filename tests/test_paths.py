"""Key paths over random nests: to flatten, to get, to replace, to map and to show agree with each other."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jupyter_tpushape.flow.paths import flatten, get, map_leaves, map_paths, replace, show, subscript, to_wire


class Pair(NamedTuple):
    left: object
    right: object


# A busy machine draws slowly.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
KEYS = st.one_of(st.text(max_size=6), st.integers(-3, 3))
LEAVES = st.integers(0, 99).map(lambda n: f"leaf {n}")
NESTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3),
        st.lists(inner, min_size=1, max_size=3).map(tuple),
        st.tuples(inner, inner).map(lambda two: Pair(*two)),
        st.dictionaries(st.text(max_size=6), inner, min_size=1, max_size=3),
        st.dictionaries(KEYS, inner, min_size=1, max_size=3).map(OrderedDict),
    ),
    max_leaves=12,
)


@UNHURRIED
@given(NESTS)
def test_each_path_leads_to_its_leaf_and_to_no_other(tree):
    found = list(flatten(tree, "x"))
    assert len({path for path, _ in found}) == len(found)
    assert all(path[0] == "x" and get(tree, path[1:]) is leaf for path, leaf in found)


@UNHURRIED
@given(NESTS, st.data())
def test_what_is_replaced_is_one_leaf_of_a_copy(tree, data):
    path, old = data.draw(st.sampled_from(list(flatten(tree))))
    changed = replace(tree, path, "new")
    assert get(changed, path) == "new"
    assert [(at, leaf) for at, leaf in flatten(changed) if at != path] == [(at, leaf) for at, leaf in flatten(tree) if at != path]
    assert replace(changed, path, old) == tree
    assert type(changed) in (type(tree), str)


@UNHURRIED
@given(NESTS)
def test_a_map_keeps_the_nest_and_its_order(tree):
    assert map_leaves(lambda leaf: leaf, tree) == tree
    by_path = map_paths(lambda path, leaf: (show(path), leaf), tree, "x")
    seen = {path: (show(path), leaf) for path, leaf in flatten(tree, "x")}
    assert all(get(by_path, path[1:]) == pair for path, pair in seen.items())
    both = map_leaves(lambda leaf, other: leaf + other, tree, tree)
    assert [leaf for _, leaf in flatten(both)] == [leaf * 2 for _, leaf in flatten(tree)]


@UNHURRIED
@given(NESTS)
def test_what_is_shown_is_python_that_finds_the_leaf(tree):
    for path, leaf in flatten(tree, "x"):
        assert eval(show(path), {"x": tree}) is leaf


@UNHURRIED
@given(NESTS)
def test_the_wire_form_is_json_and_tells_leaves_apart(tree):
    wired = [to_wire(path) for path, _ in flatten(tree, "x")]
    assert json.loads(json.dumps(wired)) == [list(path) for path in wired]
    assert len(set(wired)) == len(wired)


@UNHURRIED
@given(st.dictionaries(st.text(max_size=6), LEAVES, min_size=1, max_size=5))
def test_a_dict_is_flattened_in_the_order_of_both_kerases(tree):
    ours = [leaf for _, leaf in flatten(tree)]
    assert ours == list(keras.tree.flatten(tree)) == list(tf.nest.flatten(tree))


def test_paths_are_shown_as_a_user_writes_them():
    assert show(("x",)) == "x"
    assert show(("x", "image", 0)) == 'x["image"][0]'
    assert show(("weight", 1)) == "sample_weight[1]"
    assert show(("y", 'a"b')) == "y['a\"b']"
    assert subscript(()) == ""


def test_keys_that_do_not_compare_keep_their_order_and_none_is_no_leaf():
    tree = {"b": 1, 2: None, "a": 3}
    assert list(flatten(tree, "x")) == [(("x", "b"), 1), (("x", "a"), 3)]
    assert map_leaves(str, tree) == {"b": "1", 2: None, "a": "3"}


def test_an_array_is_a_leaf_and_a_place_that_is_not_there_is_said():
    tree = {"a": [np.zeros((2, 3))]}
    assert [path for path, _ in flatten(tree, "x")] == [("x", "a", 0)]
    for keys in (("b",), ("a", 1), ("a", 0, 0)):
        with pytest.raises(LookupError):
            get(tree, keys)
    with pytest.raises(LookupError):
        replace(tree, ("b",), 0)
