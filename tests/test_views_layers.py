"""The layer table and the user's own numbers over the picture."""

from __future__ import annotations

from types import ModuleType

import keras
import numpy as np
import pytest
import tf_keras

from jupyter_tpushape import Report, trace
from jupyter_tpushape.views.layers import COLUMNS, bytes_of, rows


def traced(library: ModuleType = keras, batch: int = 64) -> Report:
    model = library.Sequential(
        [
            library.layers.Input((28, 28, 1)),
            library.layers.Conv2D(8, 3, name="conv"),
            library.layers.Flatten(name="flat"),
            library.layers.Dense(10, name="head"),
        ],
        name="digits",
    )
    model.compile(loss=library.losses.SparseCategoricalCrossentropy(from_logits=True))
    return trace(model, (np.zeros((128, 28, 28, 1), "float32"), np.zeros((128,), "int32")), batch_size=batch, tpu="v5e-8")


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_a_row_says_what_a_layer_takes_gives_and_holds(library: ModuleType) -> None:
    table = {row["name"]: row for row in rows(traced(library))}
    conv = table["conv"]
    assert list(conv) == list(COLUMNS)
    assert (conv["type"], conv["status"], conv["parameters"]) == ("Conv2D", "ok", 80)
    assert "(8, 28, 28, 1)" in conv["takes"]
    assert "(8, 26, 26, 8)" in conv["gives"]
    assert conv["placement"] == "8 × (8, 26, 26, 8)"
    assert conv["weight_bytes"] == 80 * 4
    assert conv["output_bytes"] == 8 * 26 * 26 * 8 * 4
    assert conv["compiled_bytes"] is None
    assert sum(row["parameters"] for row in table.values()) == 80 + 26 * 26 * 8 * 10 + 10


@pytest.mark.parametrize(
    ("shape", "dtype", "size"),
    [((2, 3), "float32", 24), ((2, 3), "bfloat16", 12), ((5,), "bool", 5), ((3,), "int4", 2), ((None, 3), "float32", None), ((3,), "string", None)],
)
def test_bytes_of_a_tensor(shape: tuple[int | None, ...], dtype: str, size: int | None) -> None:
    assert bytes_of(shape, dtype) == size


def test_the_table_as_pandas_keeps_whole_numbers() -> None:
    pytest.importorskip("pandas")
    frame = traced().to_dataframe()
    assert list(frame.columns) == list(COLUMNS)
    assert frame.set_index("name").loc["head", "parameters"] == 26 * 26 * 8 * 10 + 10
    assert frame["compiled_bytes"].isna().all()
    assert {str(kind) for kind in frame[["parameters", "weight_bytes", "output_bytes"]].dtypes} == {"Int64"}


def test_the_table_is_in_the_markdown() -> None:
    from jupyter_tpushape.views import render

    text = render(traced(), ".md")
    assert "## Layers" in text
    line = next(line for line in text.splitlines() if line.startswith("| conv |"))
    assert "| Conv2D |" in line
    assert "| 80 |" in line
    assert line.endswith(f"| {8 * 26 * 26 * 8 * 4:,} |")


def test_numbers_of_the_users_own_travel_with_the_report() -> None:
    report = traced()
    assert report.overlay({"conv": 1.5, "head": 3}, "measured", "ms") is report
    report.overlay({"conv": 2}, "measured", "ms")
    report.overlay({"flat": 1}, "other")
    again = Report.from_json(report.to_json())
    ids = {node.name: node.id for node in report.flow.nodes}
    assert [(one.name, one.values, one.unit) for one in again.overlays] == [("measured", {ids["conv"]: 2.0}, "ms"), ("other", {ids["flat"]: 1.0}, "")]


@pytest.mark.parametrize(("values", "words"), [({"cnv": 1.0}, "'cnv'.*'conv'"), ({"conv": float("nan")}, "'conv' is nan")])
def test_a_layer_that_is_not_there_or_no_number_is_refused(values: dict[str, float], words: str) -> None:
    report = traced()
    with pytest.raises(ValueError, match=words):
        report.overlay(values, "mine")
    assert report.overlays == ()
