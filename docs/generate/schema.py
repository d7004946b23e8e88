"""Generate the entries of operators, inputs and parameters in cases/schema.json from the table of operators.

`python -m docs.generate.schema` updates the file. Everything else in it is written by hand. A generated entry is a
reference to a definition whose name starts with one of the words in GROUPS, or to `sweptArray`; an object that has one
such entry gets one for each parameter or input. A property of the same name that is written by hand has priority.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from conformance.cases.operators import FORWARD_OPERATORS, INPUTS, OPERATORS, PARAMETERS, Parameter, ParameterKind
from conformance.cases.schema import catalogue_folder

Schema = dict[str, Any]

SCHEMA_FILE = catalogue_folder() / "schema.json"
KIND_REFERENCES = {
    ParameterKind.SIZES: "perAxis",
    ParameterKind.SCALES: "scales",
    ParameterKind.CHANNEL_NUMBERS: "channelNumbers",
    ParameterKind.CHANNEL_COUNTS: "channelCounts",
    ParameterKind.PADDING: "padding",
    ParameterKind.PAIRS: "pairs",
}
LEVEL_REFERENCES = {
    ParameterKind.SIZES: "perAxis",
    ParameterKind.SCALES: "scales",
    ParameterKind.CHANNEL_NUMBERS: "channelNumbers",
    ParameterKind.CHANNEL_COUNTS: "channelCounts",
    ParameterKind.PADDING: "paddingLevel",
    ParameterKind.PAIRS: "padsLevel",
}
SWEPT_ARRAY = {"$ref": "#/$defs/sweptArray"}
MAX_LINE_LENGTH = 120
MAX_LEVELS = 30
"""Maximum number of levels of a factor."""


def _reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _parameter_schema(parameter: Parameter) -> Schema:
    """Return the schema of a parameter in a case."""
    return {**_value_schema(parameter), "description": parameter.help}


def _value_schema(parameter: Parameter) -> Schema:
    kind = parameter.kind
    if kind in KIND_REFERENCES:
        return _reference(KIND_REFERENCES[kind])
    if kind is ParameterKind.CHOICE:
        *words, last = parameter.choices
        return {"title": f"{', '.join(words)} or {last}", "enum": [*parameter.choices]}
    if kind is ParameterKind.OUTPUT:
        return {"title": "the name of an output", "type": "string"}
    if kind is ParameterKind.FLAG:
        return {"title": "true or false", "type": "boolean"}
    number = {"title": "a whole number", "type": "integer"} if kind is ParameterKind.COUNT else dict(ANY_NUMBER)
    if parameter.limits is None:
        return number
    least, most = parameter.limits
    return {**number, "title": f"{number['title']} from {least} to {most}", "minimum": least, "maximum": most}


ANY_NUMBER = {"title": "a number", "type": "number"}


def _violation_schema(parameter: Parameter) -> Schema:
    """Return the schema of a parameter in a violation: the limits of a number do not apply."""
    if parameter.kind is ParameterKind.COUNT:
        return {**_reference("size"), "description": f"{parameter.help} Here it may be any whole number."}
    if parameter.kind is ParameterKind.NUMBER and parameter.limits:
        return {**ANY_NUMBER, "description": f"{parameter.help} Here it may be any number."}
    return {**_reference(f"p_{parameter.name}"), "description": parameter.help}


def _level_schema(parameter: Parameter) -> Schema:
    """Return the schema of the levels of a parameter in a sweep."""
    level = _reference(f"p_{parameter.name}")
    if parameter.kind in LEVEL_REFERENCES:
        level = _reference(LEVEL_REFERENCES[parameter.kind])
    elif parameter.kind is ParameterKind.NUMBER and not parameter.limits:
        level = _reference("number")  # a fraction would make the id of a row ambiguous
    elif parameter.default is None and not parameter.always_in_id:
        level = {"title": "null, or a level", "anyOf": [{"type": "null"}, level]}
    levels = {"type": "array", "title": "a list of levels", "minItems": 1, "maxItems": MAX_LEVELS, "items": level}
    return {**levels, "description": parameter.help}


def _groups() -> Mapping[str, Mapping[str, Schema]]:
    """Return the generated definitions: by the first word of their names, the schema of each parameter or input."""
    return {
        "p_": {name: _parameter_schema(parameter) for name, parameter in PARAMETERS.items()},
        "violation_": {name: _violation_schema(parameter) for name, parameter in PARAMETERS.items()},
        "levels_": {name: _level_schema(parameter) for name, parameter in PARAMETERS.items()},
        "input_": {name: {**_reference("array"), "description": one.help} for name, one in INPUTS.items()},
    }


def _group_of(entry: Any) -> str:
    """Return the first word of the definition that an entry refers to, "" for an entry that is written by hand."""
    if entry == SWEPT_ARRAY:
        return SWEPT_ARRAY["$ref"]
    name = entry.get("$ref", "").removeprefix("#/$defs/") if isinstance(entry, dict) and len(entry) == 1 else ""
    return next((group for group in _groups() if name.startswith(group)), "")


def _update_properties(node: Any) -> None:
    """Replace the generated entries of all `properties` in a part of the schema."""
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        _update_properties(part)
    properties = node.get("properties") if isinstance(node, dict) else None
    if not properties:
        return
    groups = dict.fromkeys(filter(None, map(_group_of, properties.values())))
    written = {name: entry for name, entry in properties.items() if not _group_of(entry)}
    properties.clear()
    properties |= written
    for group in groups:
        names = INPUTS if group == SWEPT_ARRAY["$ref"] else _groups()[group]
        entries = {name: SWEPT_ARRAY if names is INPUTS else _reference(group + name) for name in names}
        properties |= {name: entry for name, entry in entries.items() if name not in written}


def schema_text() -> str:
    """Return the text of the schema file with all generated entries updated."""
    schema: Schema = json.loads(SCHEMA_FILE.read_text("utf-8"))
    definitions = {name: one for name, one in schema["$defs"].items() if not name.startswith(tuple(_groups()))}
    names = ", ".join(FORWARD_OPERATORS)
    definitions["operator"] |= {
        "title": f"an operator: {names}, or the gradient of one, <operator>_grad",
        "enum": [*OPERATORS],
    }
    for group, entries in _groups().items():
        definitions |= {group + name: entry for name, entry in entries.items()}
    schema["$defs"] = definitions
    _update_properties(schema)
    return _json_text(schema) + "\n"


def _json_text(node: Any, indent: int = 0) -> str:
    """Return JSON in which every object or list that fits into a line is one line."""
    line = json.dumps(node, ensure_ascii=False)
    if indent + len(line) < MAX_LINE_LENGTH or not node or not isinstance(node, (dict, list)):
        return line
    named = isinstance(node, dict)
    labels = [f"{json.dumps(key)}: " for key in node] if named else [""] * len(node)
    parts = zip(labels, node.values() if named else node, strict=True)
    lines = [" " * (indent + 2) + label + _json_text(part, indent + 2) for label, part in parts]
    opening, closing = "{}" if named else "[]"
    return "\n".join([opening, ",\n".join(lines), " " * indent + closing])


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), "utf-8")
