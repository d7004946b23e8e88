"""The generated entries of cases/schema.json."""

import json

import pytest

from conformance.cases.operators import INPUTS, OPERATORS, PARAMETERS
from docs.generate import schema


def test_the_committed_schema_is_up_to_date():
    assert schema.SCHEMA_FILE.read_text("utf-8") == schema.schema_text()


def test_entries_that_are_missing_or_left_over_are_corrected(tmp_path, monkeypatch):
    damaged = json.loads(schema.SCHEMA_FILE.read_text("utf-8"))
    damaged["$defs"]["operator"]["enum"].remove("conv")
    del damaged["$defs"]["p_rounding"]
    damaged["$defs"]["case"]["properties"] |= {"gone": {"$ref": "#/$defs/p_gone"}}
    del damaged["$defs"]["sweep"]["properties"]["factors"]["properties"]["stride"]
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(damaged), "utf-8")
    complete = json.loads(schema.SCHEMA_FILE.read_text("utf-8"))
    monkeypatch.setattr(schema, "SCHEMA_FILE", path)
    assert json.loads(schema.schema_text()) == complete


@pytest.mark.parametrize("name", ["case", "fault", "question", "rejects"])
def test_every_kind_of_case_has_all_parameters_and_inputs(name):
    properties = json.loads(schema.schema_text())["$defs"][name]["properties"]
    assert {*PARAMETERS, *INPUTS} <= properties.keys()


def test_the_padding_of_a_convention_case_also_has_the_word_same():
    padding = json.loads(schema.schema_text())["$defs"]["question"]["properties"]["padding"]
    assert {"const": "same"} in padding["anyOf"]
    assert [*OPERATORS] == json.loads(schema.schema_text())["$defs"]["operator"]["enum"]
