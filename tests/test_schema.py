"""The wire document's schema and TypeScript types follow from the Python types; settings and document hold their schema."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest

from jupyter_tpushape.flow import Edge, Finding, Fix, Flow, Node, Replica, Spec, Target
from jupyter_tpushape.report import Report

ROOT = Path(__file__).parents[1]


@pytest.fixture
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wire_types", ROOT / "scripts" / "wire_types.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_schema_and_types_have_not_drifted(generator: ModuleType) -> None:
    assert generator.drifted() == [], "run `make types`"


def test_a_changed_type_is_seen(generator: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = generator.schema()
    changed["$defs"]["WireNode"]["properties"]["colour"] = {"type": "string", "default": ""}
    monkeypatch.setattr(generator, "schema", lambda: changed)
    assert {path.name for path in generator.drifted()} == {"report.schema.json", "wire.ts"}
    assert "  colour?: string;" in generator.texts()[generator.TYPES]


def test_a_report_holds_its_schema() -> None:
    schema = json.loads((ROOT / "schema" / "report.schema.json").read_text())
    spec = Spec((16, None, 3), "float32")
    replicas = (Replica(0, "TPU:0", (8, None, 3)), Replica(1, "TPU:1", (8, None, 3)))
    flow = Flow([Node("a", "a", "input", "InputLayer"), Node("b", "b", "layer", "Dense")], [Edge("e", "a", "b", spec, replicas=replicas)])
    found = Finding("rule", "error", "words", fixes=[Fix("a fix", verified=True)])
    document = json.loads(Report(flow, [found], target=Target("v5e-8", 8)).to_json())
    jsonschema.validate(document, schema)
    document["flow"]["nodes"][0]["kind"] = "unknown"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


def test_settings_have_titles_and_their_defaults_hold() -> None:
    settings = json.loads((ROOT / "schema" / "lab" / "plugin.json").read_text())
    jsonschema.Draft202012Validator.check_schema(settings)
    for name, part in settings["properties"].items():
        assert part["title"], name
        assert part["description"], name
        jsonschema.validate(part["default"], part)
