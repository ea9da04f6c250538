"""What a flow, a finding, a fix and a report are: pure values and their wire form."""

from .facts import Fact, Side, Sides, Who
from .findings import DATA_EDITS, SERIOUS, SEVERITIES, After, AfterEdge, CannotRebuild, Edit, EditKind, Effect, Finding, Fix, Patch, Severity
from .graph import Edge, Failure, Family, Flow, Location, MeshAxis, Node, NodeKind, Status, Target, Weight
from .paths import KeyPath
from .spec import Replica, Shape, Spec, elements, show_shape
from .wire import MIME, VERSION, Buffer, Collective, LayerMemory, Tried, Verdict, WireReport, pack, schema, unpack

__all__ = [
    "DATA_EDITS",
    "MIME",
    "SERIOUS",
    "SEVERITIES",
    "VERSION",
    "After",
    "AfterEdge",
    "Buffer",
    "CannotRebuild",
    "Collective",
    "Edge",
    "Edit",
    "EditKind",
    "Effect",
    "Fact",
    "Failure",
    "Family",
    "Finding",
    "Fix",
    "Flow",
    "KeyPath",
    "LayerMemory",
    "Location",
    "MeshAxis",
    "Node",
    "NodeKind",
    "Patch",
    "Replica",
    "Severity",
    "Shape",
    "Side",
    "Sides",
    "Spec",
    "Status",
    "Target",
    "Tried",
    "Verdict",
    "Weight",
    "Who",
    "WireReport",
    "elements",
    "pack",
    "schema",
    "show_shape",
    "unpack",
]
