import json

import pytest

from conformance import CatalogueError
from conformance.cases.schema import catalogue_folder
from conformance.catalogue import loading
from tests.support.fake_backends import family

SOUND = "id: a, x: {values: arange, shape: [1, 1, 4, 4]}, window: [2, 2]"


def refusals(path):
    """Return the error messages without the file name."""
    with pytest.raises(CatalogueError) as refused:
        loading.load_catalogue([path])
    lines = str(refused.value).splitlines()
    assert all(line.startswith(f"{path}:") for line in lines)
    return [line.removeprefix(f"{path}:") for line in lines]


def test_unknown_key_is_named_with_its_line_its_case_and_the_nearest_known_one(tmp_path):
    path = family(tmp_path, SOUND, SOUND.replace("id: a", "id: b").replace("window", "windw"))
    assert refusals(path) == ["5: case b: key 'windw': unknown key, did you mean 'window'?"]


def test_unknown_key_that_resembles_none_gets_the_list_of_known_ones(tmp_path):
    said = refusals(family(tmp_path, f"{SOUND}, zzz: 1"))[0]
    assert said.startswith("4: case a: key 'zzz': unknown key; known keys: about, also, arrays, dilation,")
    assert "window" in said
    assert "divisor" not in said  # a parameter of another operator


def test_unknown_key_inside_an_array_is_named_by_its_path(tmp_path):
    path = family(tmp_path, "id: a, x: {valeus: [1]}, window: 2")
    assert "4: case a: key 'x.valeus': unknown key, did you mean 'values'?" in refusals(path)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("stride: '1'", "stride"),
        ("stride: 1.0", "stride"),
        ("stride: .nan", "stride"),
        ("stride: [.nan, 1]", "stride"),
        ("stride: .inf", "stride"),
        ("stride: null", "stride"),
        ("stride: true", "stride"),
        (f"stride: {10**30}", "stride"),
        ("padding: same", "padding"),
        ("padding: [[1, 1, 1], [1, 1]]", "padding"),
        ("rounding: up", "rounding"),
        ("level: all", "level"),
        ("about: 3", "about"),
        ("about: .nan", "about"),
        ("divisor: 0", "divisor"),
        ("divisor: .nan", "divisor"),
        ("expect: [one]", "expect"),
        ("expect: {refused: A}", "expect"),
        ("then: [{operator: pool}]", "then.0.operator"),
        ("via: conv", "via"),
    ],
)
def test_value_of_the_wrong_type_is_named_with_line_case_and_key(tmp_path, text, key):
    said = refusals(family(tmp_path, f"{SOUND}, {text}"))
    assert len(said) == 1
    assert said[0].startswith(f"4: case a: key {key!r}: ")
    assert " is not " in said[0]


def test_every_error_of_a_file_is_reported_in_the_order_of_lines(tmp_path):
    path = family(tmp_path, f"{SOUND}, stride: x", "id: b", "id: c, x: {values: [1]}, windw: 1")
    assert [line.split(":")[0] for line in refusals(path)] == ["4", "5", "6", "6"]
    assert refusals(path)[1] == "5: case b: needs the key 'x'"


def test_every_unknown_key_of_a_case_is_reported(tmp_path):
    said = refusals(family(tmp_path, f"{SOUND}, strid: 1, padding_: 2, about: 3"))
    assert [line.split(": ")[2] for line in said] == ["key 'about'", "key 'padding_'", "key 'strid'"]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("rounding: flor", "did you mean 'floor'?"),
        ("padding: same_uper", "did you mean 'same_upper'?"),
        ("level: standart", "did you mean 'standard'?"),
        ("then: [{operator: avgpool}]", "did you mean 'avg_pool'?"),
        ("stride: 9223372036854775809", "at most 9223372036854775808"),
        ("stride: [-9223372036854775809]", "at least -9223372036854775808"),
        ("padding: 1000001", "at most 1000000"),
        ("stride: [1, 1, 1, 1, 1, 1, 1]", "at most 6 entries"),
        ("stride: []", "at least 1 entries"),
        (f"about: {'x' * 2001}", "at most 2000 characters"),
        ("divisor: 1000001", "a whole number from 1 to 1000000"),
    ],
)
def test_hint_is_the_nearest_word_or_the_limit(tmp_path, text, hint):
    assert refusals(family(tmp_path, f"{SOUND}, {text}"))[0].endswith(hint)


def test_word_that_resembles_none_gets_no_hint(tmp_path):
    assert "did you mean" not in refusals(family(tmp_path, f"{SOUND}, padding: 'y'"))[0]


def test_case_without_an_id_goes_by_its_number(tmp_path):
    assert "4: case number 1: needs the key 'id'" in refusals(family(tmp_path, "x: {values: [1]}"))


def test_unreadable_value_is_reported_once_with_the_errors_of_the_schema(tmp_path):
    path = family(tmp_path, f"{SOUND}, stride: 0x1f, stride: 2, about: 3", "id: b, x: {values: [2020-01-01]}, windw: 1")
    assert [line.split(": ", 2)[1:] for line in refusals(path)] == [
        ["case a", "duplicate key 'stride'"],
        ["case a", "key 'about': 3 is not a sentence"],
        ["case a", "key 'stride': '0x1f' cannot be read as a number"],
        ["case b", "key 'windw': unknown key, did you mean 'window'?"],
        ["case b", "key 'x.values.0': values of type tag:yaml.org,2002:timestamp are not allowed"],
    ]


@pytest.mark.parametrize("name", ['"a\\nb"', '"ab\\n"', "A", "a/../b", "/a", '""', '"\\e[31m"'])
def test_id_that_is_not_plain_is_rejected_in_one_line(tmp_path, name):
    said = refusals(family(tmp_path, SOUND.replace("id: a", f"id: {name}")))
    assert len(said) == 1
    assert said[0].startswith("4: case ")
    assert "key 'id'" in said[0]
    assert said[0].isprintable()


@pytest.mark.parametrize("text", ["", "word", "[1]", "3", "operator: pool\nsource: s\n", "source: s\n"])
def test_file_that_is_no_catalogue_is_rejected(tmp_path, text):
    path = tmp_path / "file.yaml"
    path.write_text(text, "utf-8")
    assert refusals(path)[0].startswith("1: ")


def test_long_values_are_cut_short_in_messages(tmp_path):
    said = refusals(family(tmp_path, f"{SOUND}, level: {'x' * 5000}"))
    assert len(said[0]) < 200


# Alternatives of a value. Their descriptions would replace the more useful description of the key.
BLOCKS = {
    "number",
    "numbers",
    "size",
    "pad",
    "perAxis",
    "pads",
    "pairs",
    "scales",
    "padsLevel",
    "channelNumbers",
    "channelCounts",
}
SCHEMAS = [catalogue_folder() / name for name in ("schema.json", "ledger.schema.json")]


def parts(schema, path=""):
    """Yield the path and the schema of every property and definition."""
    if isinstance(schema, list):
        for item in schema:
            yield from parts(item, path)
    elif isinstance(schema, dict):
        for key in ("properties", "$defs"):
            yield from ((f"{path}/{name}", part) for name, part in schema.get(key, {}).items())
            for name, part in schema.get(key, {}).items():
                yield from parts(part, f"{path}/{name}")
        for key in ("items", "additionalProperties", "anyOf"):
            yield from parts(schema.get(key), path)


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_editor_can_explain_every_key(path):
    schema = json.loads(path.read_text("utf-8"))
    found = list(parts(schema))
    assert len(found) > 8
    own = schema["$defs"]
    for name, part in found:
        described = {**own.get(part.get("$ref", "").rsplit("/", 1)[-1], {}), **part}
        assert ("description" in described) != (name.removeprefix("/") in BLOCKS), name


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_descriptions_are_sentences(path):
    for name, part in parts(json.loads(path.read_text("utf-8"))):
        assert part.get("description", ".").endswith((".", "…")), name


def test_every_file_of_the_catalogue_names_its_schema_to_editors():
    files = dict.fromkeys(catalogue_folder().glob("*/*.yaml"), "../schema.json")
    files[catalogue_folder() / "ledger.yaml"] = "ledger.schema.json"
    assert len(files) > 5
    for path, schema in files.items():
        assert path.read_text("utf-8").startswith(f"# yaml-language-server: $schema={schema}\n"), path
        assert (path.parent / schema).exists()
