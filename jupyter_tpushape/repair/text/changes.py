"""Edits of source text with libcst: formatting and comments stay, only what must change changes."""

from __future__ import annotations

from typing import Any

from libcst.metadata import ParentNodeProvider, PositionProvider

from ...flow import Edit
from .data import compile_argument, exchange_loss, literal_in, recounted
from .handed import change_data
from .host import hosted
from .layers import call_at, configured, exchanged, inserted, replaced, with_shape
from .scope import fresh_optimizer, in_scope
from .words import (
    NoPlace,
    parsed,
    swap,
)


def change(source: str, edit: Edit, line: int, places: Any) -> str:
    """The source with one edit made at ``line`` (0: wherever it fits once).

    Raises:
        NoPlace: where the source does not show one place for it.
    """
    if edit.kind == "replace-op":
        return literal_in(source, edit, line)
    if edit.kind == "loss":
        return exchange_loss(source, edit)
    if edit.kind == "strategy":
        if edit.detail["op"] == "scope":
            return in_scope(source, places.lines_in_file())
        return fresh_optimizer(source) if edit.detail["op"] == "fresh-optimizer" else compile_argument(source, edit)
    if edit.kind in ("data-transform", "label-transform", "batching"):
        if edit.detail.get("op") == "source":
            return recounted(source, edit, line)
        if edit.detail.get("op") == "host-layer":
            return hosted(source, edit, line, places.form, places.made, places.gives(edit.target))
        return change_data(source, edit, line, places.form)
    wrapper = parsed(source)
    positions, parents = wrapper.resolve(PositionProvider), wrapper.resolve(ParentNodeProvider)
    name = places.name(edit)
    cls = places.classes[name]
    call = call_at(wrapper.module, positions, line, "Input" if cls == "InputLayer" else cls, places.ordinals[name])
    if edit.kind == "input-shape":
        new: Any = with_shape(call, edit.detail["shape"])
        return swap(wrapper.module, call, new).code
    if edit.kind == "layer-config":
        return swap(wrapper.module, call, configured(call, edit.detail["config"])).code
    if edit.detail.get("exchange"):
        other = edit.detail["exchange"]
        line, cls, ordinal = places.beside(other, name)
        return exchanged(wrapper.module, call, call_at(wrapper.module, positions, line, cls, ordinal))
    if edit.kind == "replace-layer":
        return swap(wrapper.module, call, replaced(call, edit.detail)).code
    if edit.detail.get("readers"):
        raise NoPlace
    nth = edit.detail.get("nth")
    return inserted(wrapper.module, call, parents, edit, positions, (places.nth_call(edit), int(nth or 0)) if nth else None)
