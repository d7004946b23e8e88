"""Hostile catalogues: only numbers and allowed words enter the text of a program.

The inputs are YAML files of the catalogue and JSON files of an exported one. Each input gives either one clear line for
each error, or programs in which tests/support/program_text.py finds no unexpected parts.
"""

import ast
import hashlib
import json
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from conformance import CatalogueError, ConformanceError
from conformance.adapters.api import Program
from conformance.cases.operators import PARAMETERS
from conformance.cases.schema import catalogue_folder
from conformance.catalogue import allowlist, export, loading as catalogues
from conformance.judging.expected import compute_expected
from conformance.translation.lowering import translate
from conformance.translation.repro import repro_script
from tests.support.program_text import SURFACES, unexpected_parts

MARK = "zqx"
PLANE = {"values": "integers", "shape": [1, 1, 5, 5]}
BASES = {
    "max_pool": {"x": PLANE, "window": 2, "stride": 1, "padding": 1, "dilation": 1, "rounding": "ceil"},
    "avg_pool": {"x": PLANE, "window": [2, 2], "count_include_pad": True, "divisor": 3, "padding": [[0, 1], [1, 0]]},
    "lp_pool": {"x": PLANE, "window": 2, "p": 3},
    "softmax_pool": {"x": PLANE, "window": 2},
    "max_pool_with_indices": {"x": PLANE, "window": 2, "output": "indices"},
    "max_unpool": {
        "x": PLANE,
        "indices": {"values": "integers", "low": 0, "high": 8, "shape": [1, 1, 5, 5]},
        "output_size": [10, 10],
    },
    "adaptive_avg_pool": {"x": PLANE, "output_size": 2},
    "pad": {"x": PLANE, "pads": [[1, 2], [3, 4]], "mode": "constant", "value": 7},
    "conv": {"x": PLANE, "kernel": {"values": [[[[1, 2], [3, 4]]]]}, "bias": {"values": [1]}, "groups": 1, "stride": 1},
    "conv_transpose": {"x": PLANE, "kernel": {"values": [[[[1, 2], [3, 4]]]]}, "output_padding": 0, "stride": 2},
    "max_pool_grad": {"x": PLANE, "grad": {"values": "arange"}, "window": 2, "ties": "first"},
    "conv_grad": {
        "x": PLANE,
        "kernel": {"values": [[[[1, 2], [3, 4]]]]},
        "grad": {"values": "integers"},
        "output": "kernel",
    },
}
CODE = f"__import__('os').system('{MARK}')"
TEXTS = (
    CODE,
    f"constant'); {CODE} #",
    f'edge"), {CODE}, ("',
    f"floor\n    {CODE}",
    f'"""\n{CODE}\n"""',
    "{x.__class__}",
    "{0.__class__}",
    "%s%n",
    f"torch.{MARK}",
    f"same_upper\\'{MARK}",
    f"x={CODE}",
    f"\u2028{MARK}",
    "constant\n",
    "nan",
    "float32 ",
    "",
)
TOKENS = (
    *map(json.dumps, TEXTS),
    "1.0e+999", "-1.0e+999", "1e999", ".inf", "-.inf", ".nan", "!!float sNaN", "!!float NaN123", "!!float infinity",
    "1.0e+99999999", "1.0e-99999999", "0.1", "1.5", "-1", "0", "-0.0", "1_000", "0x7fffffff", "0b11", "017",
    "12:30:45",
    "9" * 30, "9" * 300, "-" + "9" * 300, "9" * 500, "4294967296", "9223372036854775808", "100", "!!int '５'",
    "!!int '1; import os'", "!!str 5", "!!bool yes", "!!null ~", "2001-01-01", "!!binary aGk=", "!!set {a}",
    "&a [*a]",
    f"!!python/object/apply:os.system [{MARK}]", f"!!python/name:os.{MARK}", "!<tag:yaml.org,2002:python/none> 1",
    "null", "true", "[]", "{}", "[[]]", "[[1, 2], [3]]", "[1, [2, [3]]]",
    "[" * 30 + "1" + "]" * 30, "[1, 2, 3, 4, 5, 6, 7]",
    "[null, null]", "[[null, 1], [1, null]]",
    f"[{MARK}]", f"[[{MARK}, 1], [1, 1]]", "{<<: {window: 2}}", f"{{{MARK}: 1}}",
    "[[1, 1.0e+999], [0, 0]]", "[true, false]", f"{{values: [[[{MARK}]]]}}", f"{{values: {MARK}, shape: [1, 1, 2]}}",
    f"{{values: [[[1]]], dtype: {MARK}}}", "{values: [[[1.0e+99999999]]]}", "{values: [[[!!float sNaN]]]}",
    "{values: integers, shape: [1000000, 1000000, 1000000]}", "{values: [[[1]]], shape: [1, 1, !!float sNaN]}",
    f"{{values: [[[1]]], ? {json.dumps(CODE)} : 1}}", "{values: arange, shape: [1, 1, 5, 5], start: 1.0e+999}",
)  # fmt: skip
OPERATORS = sorted(BASES)


def places(raw, path=()):
    """Return the path of each part of a case."""
    found = [path] if path else []
    for key, part in raw.items() if isinstance(raw, dict) else enumerate(raw) if isinstance(raw, list) else ():
        found += places(part, (*path, key))
    return found


def keys(raw):
    """Return the paths for hostile tokens: each part of a case, and each key that a case can have."""
    others = (
        "id",
        "about",
        "source",
        "level",
        "tags",
        "via",
        "then",
        "expect",
        "also",
        "question",
        "mode",
        "output",
        MARK,
    )
    others += ("padding", "defaults", "flat_pads", "kernel", "answers", "inexact", CODE)
    return [*places(raw), *((other,) for other in others), ("x", "dtype"), ("x", "mark"), ("x", MARK)]


def text_with(operator, raw, path, token):
    """Return a catalogue file with a token at a path of its case."""
    hole = "@hole@"
    changed = json.loads(json.dumps({"id": "a", "about": "b", **raw}))
    part = changed
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = hole
    case = json.dumps(changed, ensure_ascii=False).replace(json.dumps(hole), token)
    return f"operator: {operator}\nsource: a test\ncases:\n  - {case}\n"


def put(folder, text):
    """Return the cases and errors of a file. Check that each error is one line with the path."""
    path = folder / "file.yaml"
    path.write_text(text, "utf-8")
    found, errors = catalogues.load_with_errors([path])
    for line in errors:
        assert len(line.splitlines()) == 1, line
        assert line.startswith(f"{path}"), line
        assert len(line) < 600, line
    return found.cases, errors


def check_programs(case):
    """Translate a case for all surfaces. Check that the programs have no unexpected parts."""
    for backend, surface in SURFACES:
        program = translate(case, surface)
        if isinstance(program, Program):
            assert [*unexpected_parts(backend, case, program.text)] == [], program.text
            assert MARK not in program.text
        else:
            assert "\n" not in program.reason


@pytest.mark.parametrize("number", range(len(OPERATORS)), ids=OPERATORS.__getitem__)
def test_tokens_in_the_parameters_of_a_case(tmp_path, number):
    """Check every third token for each operator, with another offset for the next operator."""
    operator = OPERATORS[number]
    raw = BASES[operator]
    assert put(tmp_path, text_with(operator, raw, ("about",), "b"))[0]
    for path in [(key,) for key in raw] + [("x", "dtype"), ("x", "shape"), ("x", "values")]:
        for token in TOKENS[number % 3 :: 3]:
            cases, errors = put(tmp_path, text_with(operator, raw, path, token))
            assert bool(cases) is not bool(errors), (path, token)
            for case in cases:
                check_programs(case)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(data=st.data())
def test_any_text_is_an_error_or_gives_a_harmless_program(tmp_path, data):
    operator = data.draw(st.sampled_from(OPERATORS))
    path = data.draw(st.sampled_from(keys(BASES[operator])))
    words_of = st.text(st.characters(min_codepoint=32, blacklist_categories=("Cs",)), max_size=20).map(json.dumps)
    numbers = st.one_of(st.integers(), st.floats()).map(str)
    lists = partial(st.lists, max_size=3)
    nested = st.recursive(words_of | numbers, lambda part: lists(part).map(lambda parts: f"[{', '.join(parts)}]"))
    token = data.draw(st.one_of(st.sampled_from(TOKENS), words_of, numbers, nested))
    cases, errors = put(tmp_path, text_with(operator, BASES[operator], path, token))
    assert cases or errors
    for case in cases:
        check_programs(case)


@pytest.mark.parametrize("text", TEXTS[:-1])
@pytest.mark.parametrize("key", ["about", "source"])
def test_description_of_a_case_enters_no_statement(tmp_path, text, key):
    cases, _ = put(tmp_path, text_with("max_pool", BASES["max_pool"], (key,), json.dumps(text)))
    for case in cases:
        for backend, surface in SURFACES:
            program = translate(case, surface)
            if isinstance(program, Program):
                tree = ast.parse(repro_script(case, compute_expected(case), backend, program))
                assert MARK not in ast.unparse(tree.body[1:])


def forged(folder, operator, change):
    """Export a case, change its record, and update the manifest to match; return the cases that are read."""
    raw = text_with(operator, BASES[operator], ("about",), '"b"')
    (folder / "file.yaml").write_text(raw, "utf-8")
    loaded = catalogues.load_catalogue([folder / "file.yaml"])
    export.write_export(loaded, loaded.cases, folder / "out")
    path, manifest = folder / "out" / "catalogue.json", folder / "out" / "manifest.json"
    document, known = json.loads(path.read_text("utf-8")), json.loads(manifest.read_text("utf-8"))
    change(document["cases"][0])
    path.write_text(json.dumps(document), "utf-8")
    known["files"]["catalogue.json"] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(known), "utf-8")
    return catalogues.load_catalogue([folder / "out"]).cases


def test_unchanged_exported_case_is_read(tmp_path):
    for operator in OPERATORS:
        (tmp_path / operator).mkdir()
        for case in forged(tmp_path / operator, operator, lambda _record: None):
            check_programs(case)


@pytest.mark.parametrize("text", [text for text in TEXTS if text != "nan"])
@pytest.mark.parametrize("key", ["mode", "output", "rounding", "padding", "value", "stride", "groups", "ties", CODE])
def test_forged_parameter_of_an_exported_case_is_rejected(tmp_path, key, text):
    operator = "pad" if key in {"mode", "value"} else "max_pool_grad" if key in {"rounding", "ties"} else "conv_grad"
    with pytest.raises(CatalogueError) as caught:
        forged(tmp_path, operator, lambda record: record["parameters"].update({key: text}))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("value", [[["zqx"]], {"zqx": 1}, [[{}]], 10**30, [[1, 10**9]]])
def test_forged_pads_of_an_exported_case_are_rejected(tmp_path, value):
    with pytest.raises(CatalogueError, match="is not a valid value of the parameter 'pads'"):
        forged(tmp_path, "pad", lambda record: record["parameters"].update(pads=value))


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.update(id=f'a/b"""\n{CODE}\n"""'),
        lambda record: record.update(inputs={f"x, y={CODE}": next(iter(record["inputs"].values()))}),
        lambda record: record.update(inputs={**record["inputs"], f"y={CODE}": record["inputs"]["x"]}),
        lambda record: record.update(inputs=dict(reversed(record["inputs"].items()))),
        lambda record: record.update(operator=CODE),
        lambda record: record.update(then=[{"operator": "max_pool", "parameters": {"rounding": CODE}}]),
        lambda record: record.update(then=[{"operator": CODE, "parameters": {}}]),
        lambda record: record.update(expect={"rejected": f'Fault"); {CODE}'}),
        lambda record: record.update(expect={"answers": {"a": {"rejected": CODE}, "b": {"rejected": "B"}}}),
        lambda record: record["inputs"]["x"].update(dtype=CODE),
        lambda record: record["inputs"]["x"].update(shape=[CODE]),
    ],
)
def test_forged_name_in_an_exported_case_is_rejected(tmp_path, change):
    with pytest.raises(CatalogueError) as caught:
        forged(tmp_path, "conv_grad", change)
    assert len(str(caught.value).splitlines()) == 1


def test_all_words_of_the_catalogue_are_allowed(catalogue):
    for case in catalogue.cases:
        allowlist.check_allowed(case)


def test_allowed_words_are_those_of_the_schema():
    schema = json.loads((catalogue_folder() / "schema.json").read_text("utf-8"))["$defs"]
    for name in ("mode", "rounding", "ties"):
        assert {*PARAMETERS[name].choices} == set(schema[f"p_{name}"]["enum"])
    assert allowlist.CASE_ID.pattern.endswith(schema["id"]["pattern"].lstrip("^").rstrip("$").split("(")[0] + ")+")


def test_unknown_word_is_never_written_into_a_program(tmp_path):
    """Check the second line of defence: adapters look words up in tables and never copy them into the text."""
    cases, _ = put(tmp_path, text_with("pad", BASES["pad"], ("mode",), "edge"))
    hostile = replace(cases[0], parameters={**cases[0].parameters, "mode": CODE})
    for _, surface in SURFACES:
        try:
            program = translate(hostile, surface)
        except ConformanceError:  # the lowering raised an exception
            continue
        assert not isinstance(program, Program) or MARK not in program.text, surface.name
