"""Charts of the TPU compiler's results, drawn with Plotly, which is imported for the first chart (extra ``plot``)."""

from __future__ import annotations

from typing import Any

from ..flow import Verdict
from ..report import Report
from ..rules.words import size

MOST = 20
INSTALL = 'Charts need Plotly: run pip install "jupyter_tpushape[plot]"'
# Told apart by those who do not see red or green, and in grey.
_USED, _OWN, _LOST, _LINE, _NONE = "#0072b2", "#56b4e9", "#d55e00", "#000000", "#8c959f"
MIB = 2**20


def charts(report: Report) -> list[Any]:
    """For each compiled program, memory by layer and its padding; memory by batch size if several were compiled.

    Raises:
        ValueError: if the TPU compiler did not run, no program compiled, or Plotly is missing; the message says what to do.
    """
    if not report.verdicts:
        raise ValueError('There is nothing to plot: run the TPU compiler first, with compiler="tpu" or --compile tpu.')
    asked = [verdict for verdict in report.verdicts if charted(verdict)]
    if not asked:
        raise ValueError("There is nothing to plot: no program compiled for the TPU.")
    graph = _plotly()
    made = []
    for verdict in asked:
        if verdict.ok:
            made += [_memory(graph, verdict), _padding(graph, verdict)]
        if len(verdict.tried) > 1:
            made.append(batches(verdict))
    return made


def charted(verdict: Verdict) -> bool:
    """Whether a verdict has data to plot."""
    return verdict.compiler == "tpu" and (verdict.ok or len(verdict.tried) > 1)


def batches(of: Any) -> Any:
    """Memory of one core by rows on it, one point per compiled batch size.

    Args:
        of: a verdict, or the result of ``fit_batch``.

    Raises:
        ValueError: if Plotly is missing.
    """
    graph = _plotly()
    tried = sorted(of.tried, key=lambda one: one.rows)
    figure = graph.Figure()
    # Both efforts in one line would bend where nothing but the effort changes.
    for effort, dash in (("quick", "solid"), ("full", "dot"), ("", "solid")):
        fitting = [one for one in tried if one.fits and one.effort == effort]
        if fitting:
            figure.add_scatter(
                x=[one.rows for one in fitting], y=[one.bytes / MIB for one in fitting], mode="lines+markers",
                name=f"compiles with {effort} effort" if effort else "compiles", line={"color": _USED, "dash": dash},
            )  # fmt: skip
    running = [one for one in tried if one.fits and one.run]
    if running:
        figure.add_scatter(
            x=[one.rows for one in running], y=[one.run / MIB for one in running], mode="lines+markers",
            name="in a run (an estimate)", line={"color": _OWN, "dash": "dashdot"},
        )  # fmt: skip
    refused = [one.rows for one in tried if not one.fits]
    if refused:
        # How much they would take the compiler says of some only: they stand on the limit.
        figure.add_scatter(
            x=refused, y=[of.hbm_bytes / MIB] * len(refused), mode="markers", name="does not fit",
            marker={"color": _LOST, "symbol": "x", "size": 9},
        )  # fmt: skip
    limit = f"memory of one {of.target} core: {size(of.hbm_bytes)}"
    if refused or of.hbm_bytes < 4 * max(max(one.bytes, one.run) for one in tried):
        figure.add_hline(y=of.hbm_bytes / MIB, line={"color": _LINE, "dash": "dash"}, annotation_text=limit, annotation_position="top left")
    else:
        # A line so far above would press the points to the floor.
        figure.add_annotation(text=f"{limit}, far above the plotted range", xref="paper", yref="paper", x=1, y=1, showarrow=False)
    figure.update_layout(height=420, xaxis={"rangemode": "tozero"}, yaxis={"rangemode": "tozero"}, showlegend=True)
    return _titled(figure, f"Memory by batch size: {of.program} on {of.target}", "rows on one core", "MiB on one core")


def _memory(graph: Any, verdict: Verdict) -> Any:
    layers, small = verdict.layers[:MOST], verdict.layers[MOST:]
    figure = graph.Figure()
    names = _names(layers)
    held = [(layer.bytes - layer.temporaries) / MIB for layer in layers]
    own = [layer.temporaries / MIB for layer in layers]
    if small:
        names.append("smaller layers")
        held.append(sum(layer.bytes - layer.temporaries for layer in small) / MIB)
        own.append(sum(layer.temporaries for layer in small) / MIB)
    figure.add_bar(y=names, x=held, orientation="h", name="data, weights, optimizer", marker={"color": _USED})
    figure.add_bar(y=names, x=own, orientation="h", name="temporaries", marker={"color": _OWN})
    if verdict.unmapped:
        figure.add_bar(y=["not in a layer"], x=[verdict.unmapped / MIB], orientation="h", name="not in a layer", marker={"color": _NONE})
    return _bars(figure, f"Memory by layer: {verdict.program} on {verdict.target}, {verdict.effort} effort")


def _padding(graph: Any, verdict: Verdict) -> Any:
    layers = sorted(verdict.layers, key=lambda layer: layer.logical - layer.bytes)[:MOST]
    figure = graph.Figure()
    names = _names(layers)
    figure.add_bar(y=names, x=[min(layer.logical, layer.bytes) / MIB for layer in layers], orientation="h", name="by shape", marker={"color": _USED})
    figure.add_bar(
        y=names, x=[max(0, layer.bytes - layer.logical) / MIB for layer in layers], orientation="h", name="padding",
        marker={"color": _LOST, "pattern": {"shape": "/"}},
    )  # fmt: skip
    return _bars(figure, f"Padding by layer: {verdict.program} on {verdict.target}, {verdict.effort} effort")


def _names(layers: Any) -> list[str]:
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
