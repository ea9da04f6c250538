"""What a front end may ask for: each message is checked against these types, and limited in size, before anything is done with it."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import msgspec

from ..flow.decoding import decoded

# Names of variables and a target; a request of more than this is no request of ours.
MOST_BYTES = 16_384
_Text = Annotated[str, msgspec.Meta(max_length=4096)]


class Request(msgspec.Struct, forbid_unknown_fields=True):
    """One message of the sidebar. ``model`` and ``data`` are names of variables, never expressions."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    op: Literal["list", "trace", "explain", "port", "cancel", "make-way"]
    model: _Text = ""
    data: _Text | None = None
    tpu: Annotated[str, msgspec.Meta(max_length=64)] | None = None
    compile: Literal["", "xla", "tpu"] | None = None
    effort: Literal["", "quick", "full"] | None = None
    #: Of ``port``: a Python file, as the kernel sees it.
    path: _Text = ""
    #: Of ``explain``: the number of the cell that failed; 0 for the last.
    execution: Annotated[int, msgspec.Meta(ge=0)] = 0
    #: Of ``trace``: none that was asked for by hand, so no fixes are tried.
    watched: bool = False
    batches: Annotated[int, msgspec.Meta(ge=0, le=1000)] | None = None


class BadRequest(ValueError):
    """A message that is not understood; ``id`` is its own where it has one."""

    def __init__(self, message: str, id: str = "") -> None:
        super().__init__(message)
        self.id = id


def parse(message: Any) -> Request:
    """The request that a message (a dict, or JSON) makes.

    Raises:
        BadRequest: in one sentence, where it is not one of ours.
    """
    try:
        text = message if isinstance(message, str) else json.dumps(message)
    except (TypeError, ValueError, RecursionError):
        raise BadRequest("jupyter_tpushape in the kernel received a message that is not JSON.") from None
    if len(text) > MOST_BYTES:
        raise BadRequest(f"jupyter_tpushape in the kernel received a message of {len(text)} characters; the limit is {MOST_BYTES}.")
    try:
        return decoded(text, Request)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise BadRequest(
            f"jupyter_tpushape in the kernel does not understand the request ({error}). The sidebar and the kernel may have different versions: restart both.",
            _id_of(text),
        ) from None


class _Named(msgspec.Struct):
    id: str = ""


def _id_of(text: str) -> str:
    try:
        return decoded(text, _Named).id[:128]
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return ""
