"""Renders a report: text, standalone page, picture, MIME bundle, and widget."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..report import Report


def render(report: Report, suffix: str) -> str:
    """The report as the text of a file with this suffix.

    Raises:
        ValueError: for a suffix other than ``.html``, ``.json``, ``.svg`` or ``.md``.
    """
    match suffix.lower():
        case ".html" | ".htm":
            from .html import to_html

            return to_html(report)
        case ".json":
            return report.to_json()
        case ".svg":
            from .svg import to_svg

            return to_svg(report)
        case ".md":
            from .markdown import to_markdown

            return to_markdown(report)
        case _:
            raise ValueError(f"Cannot save a report as {suffix or 'a file without a suffix'!r}: use .html, .json, .svg or .md.")


__all__ = ["render"]
