import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from conformance import CatalogueError
from conformance.cases.schema import catalogue_folder
from conformance.cases.schema_predicate import compile_definition
from conformance.cases.yaml_reader import read_yaml, read_yaml_with_errors
from tests.support.mutated_documents import changed, dumped

SCHEMA = json.loads((catalogue_folder() / "schema.json").read_text("utf-8"))
DEFINITIONS = {"cases": "case", "questions": "question", "rejects": "rejects", "sweeps": "sweep"}
FILES = sorted(catalogue_folder().glob("*/*.yaml"))
DATA = {path: read_yaml(path).data for path in FILES}
MAX_ITEMS = 10


def predicate(definition):
    return compile_definition({"$defs": {"a": definition}}, "#/$defs/a")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_item_of_the_catalogue_is_accepted(path):
    for key, name in DEFINITIONS.items():
        is_valid = compile_definition(SCHEMA, f"#/$defs/{name}")
        assert [item for item in DATA[path].get(key, ()) if not is_valid(item)] == []


DOCUMENTS = [
    {key: json.loads(json.dumps(data[key][:MAX_ITEMS], default=float))}
    for data in DATA.values()
    for key in DEFINITIONS
    if key in data
]


@settings(max_examples=300, deadline=None)
@given(document=changed(DOCUMENTS, most=2))
def test_accepted_item_has_no_schema_errors(tmp_path_factory, document):
    path = tmp_path_factory.mktemp("changed") / "file.yaml"
    path.write_bytes(dumped(document))
    try:
        data = read_yaml_with_errors(path).data
    except CatalogueError:  # not a YAML document
        return
    for key, name in DEFINITIONS.items():
        is_valid = compile_definition(SCHEMA, f"#/$defs/{name}")
        items = data.get(key) if isinstance(data, dict) else None
        for item in items if isinstance(items, list) else ():
            if is_valid(item):
                checker = Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]})
                assert [error.message for error in checker.iter_errors(item)] == []


@pytest.mark.parametrize(
    ("definition", "valid", "invalid"),
    [
        ({"type": "integer"}, [1, -(10**30)], [True, Decimal("1.0"), "1", None]),
        ({"type": "number"}, [1, Decimal("0.5")], [True, "1"]),
        ({"type": "integer", "minimum": 1, "maximum": 3}, [1, 3], [0, 4]),
        ({"type": "number", "minimum": 0}, [Decimal(1)], [Decimal("nan"), Decimal(-1)]),
        ({"enum": [1, 2, "a"]}, [1, "a"], [True, 3, "b", ["a"], None]),
        ({"const": "same"}, ["same"], ["other", 1]),
        ({"type": "string", "maxLength": 3}, ["abc", "ab\n"], ["abcd"]),
        ({"type": "string", "pattern": "^a$"}, ["a"], ["a\n", "b"]),
        ({"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "null"}}, [[None]], [[], [None] * 3, [1]]),
        ({"type": "array", "uniqueItems": True}, [["a", "b"]], [["a", "a"]]),
        ({"type": "object", "required": ["a"]}, [{"a": 1}], [{}]),
        ({"type": "object", "minProperties": 1}, [{"a": 1}], [{}]),
        ({"type": "object", "propertyNames": {"pattern": "^a"}}, [{"ab": 1}], [{"b": 1}]),
        ({"type": "object", "additionalProperties": False, "properties": {"a": {}}}, [{"a": 1}, {}], [{"b": 1}]),
        ({"type": "object", "additionalProperties": {"type": "null"}}, [{"a": None}], [{"a": 1}]),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, [None, 1], ["a"]),
        ({"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#/$defs/a"}}]}, [[[None]]], [[[1]]]),
    ],
)
def test_keyword_accepts_valid_data_only(definition, valid, invalid):
    is_valid = predicate(definition)
    assert [value for value in valid if not is_valid(value)] == []
    assert [value for value in invalid if is_valid(value)] == []


def test_nothing_is_accepted_for_an_unknown_keyword():
    assert not predicate({"type": "integer", "multipleOf": 2})(2)
    assert not predicate({"anyOf": [{"not": {}}]})(2)
