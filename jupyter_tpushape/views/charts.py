"""Charts of what the TPU compiler said, drawn with plotly, which is imported when the first is asked for (extra ``plot``)."""

from __future__ import annotations

from typing import Any

from ..flow import Report, Verdict

MOST = 20
INSTALL = 'Charts need plotly: pip install "jupyter_tpushape[plot]"'
# Told apart by those who do not see red or green, and in grey.
_USED, _OWN, _LOST, _LINE = "#0072b2", "#56b4e9", "#d55e00", "#000000"
MIB = 2**20


def charts(report: Report) -> list[Any]:
    """Two figures for each program that compiled: memory by layer, and what of it is padding.

    Raises:
        ValueError: where no TPU compiler was asked, none compiled, or plotly is missing; one line that says what to do.
    """
    compiled = [verdict for verdict in report.verdicts if verdict.compiler == "tpu" and verdict.ok]
    if not report.verdicts:
        raise ValueError('There is nothing to chart: ask the TPU compiler first, with compiler="tpu" or --compile tpu.')
    if not compiled:
        raise ValueError("There is nothing to chart: no program compiled for the TPU.")
    graph = _plotly()
    return [figure for verdict in compiled for figure in (_memory(graph, verdict), _padding(graph, verdict))]


def batches(fit: Any) -> Any:
    """Memory of one core against the rows on it, one point for each batch that was compiled.

    Raises:
        ValueError: where plotly is missing.
    """
    graph = _plotly()
    fitting = sorted((step.rows, step.bytes) for step in fit.tried if step.fits)
    refused = sorted(step.rows for step in fit.tried if not step.fits)
    figure = graph.Figure()
    figure.add_scatter(
        x=[rows for rows, _ in fitting],
        y=[taken / MIB for _, taken in fitting],
        mode="lines+markers",
        name="compiles",
        line={"color": _USED},
    )
    if refused:
        # How much they would take the compiler says of some only: they stand on the limit.
        figure.add_scatter(
            x=refused, y=[fit.hbm_bytes / MIB] * len(refused), mode="markers", name="does not fit",
            marker={"color": _LOST, "symbol": "x", "size": 9},
        )  # fmt: skip
    figure.add_hline(y=fit.hbm_bytes / MIB, line={"color": _LINE, "dash": "dash"}, annotation_text=f"memory of one {fit.target} core")
    figure.update_layout(height=420, yaxis={"rangemode": "tozero"})
    return _titled(figure, f"Memory against batch: {fit.program} on {fit.target}", "rows on one core", "MiB on one core")


def _memory(graph: Any, verdict: Verdict) -> Any:
    layers = verdict.layers[:MOST]
    rest = sum(layer.bytes for layer in verdict.layers[MOST:])
    figure = graph.Figure()
    names = [*_names(layers), *(["smaller layers"] if rest else []), *(["no layer's"] if verdict.unmapped else [])]
    last = [*([rest] if rest else []), *([verdict.unmapped] if verdict.unmapped else [])]
    held = [*((layer.bytes - layer.temporaries) / MIB for layer in layers), *(number / MIB for number in last)]
    figure.add_bar(y=names, x=held, orientation="h", name="data, weights, optimizer", marker={"color": _USED})
    figure.add_bar(
        y=names, x=[*(layer.temporaries / MIB for layer in layers), *(0 for _ in last)], orientation="h", name="temporaries",
        marker={"color": _OWN},
    )  # fmt: skip
    return _bars(figure, f"Memory by layer: {verdict.program} on {verdict.target}, {verdict.effort} effort")


def _padding(graph: Any, verdict: Verdict) -> Any:
    layers = sorted(verdict.layers, key=lambda layer: layer.logical - layer.bytes)[:MOST]
    figure = graph.Figure()
    names = _names(layers)
    figure.add_bar(
        y=names, x=[min(layer.logical, layer.bytes) / MIB for layer in layers], orientation="h", name="by shape", marker={"color": _USED}
    )
    figure.add_bar(
        y=names, x=[max(0, layer.bytes - layer.logical) / MIB for layer in layers], orientation="h", name="padding",
        marker={"color": _LOST, "pattern": {"shape": "/"}},
    )  # fmt: skip
    return _bars(figure, f"Padding by layer: {verdict.program} on {verdict.target}, {verdict.effort} effort")


def _names(layers: Any) -> list[str]:
    """The bars' labels; where a name comes twice its node keeps them apart. Markup in a user's name is shown as it is written."""
    names = [layer.name for layer in layers]
    return [_plain(f"{layer.name} ({layer.node})" if names.count(layer.name) > 1 else layer.name) for layer in layers]


def _plain(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _bars(figure: Any, title: str) -> Any:
    figure.update_layout(barmode="stack", yaxis={"autorange": "reversed", "automargin": True}, height=190 + 24 * len(figure.data[0].y))
    return _titled(figure, title, "MiB on one core", "")


def _titled(figure: Any, title: str, across: str, up: str) -> Any:
    figure.update_layout(
        title=_plain(title),
        xaxis_title=across,
        yaxis_title=up,
        template="plotly_white",
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "traceorder": "normal"},
        margin={"t": 90},
    )
    return figure


def _plotly() -> Any:
    try:
        from plotly import graph_objects
    except ImportError:
        raise ValueError(INSTALL) from None
    return graph_objects
