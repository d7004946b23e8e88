"""The export: files that describe every case completely, and give the same verdicts when read back."""

import hashlib
import json
import sys
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

from conformance import CatalogueError, ConformanceError, cli
from conformance.adapters import registry
from conformance.cases import selectors
from conformance.cases.arrays import NUMPY_DTYPES, ArraySpec
from conformance.cases.features.case_features import SELECTOR_FEATURES, CaseFeatures
from conformance.catalogue import check, export, export_reader, loading as catalogues
from conformance.execution.options import RunOptions
from conformance.execution.run import Run
from conformance.execution.selection import Selection
from conformance.judging import ledger
from conformance.judging.expected import compute_expected
from reports.results import reader
from tests.support.fake_backends import family, load
from tests.support.nightly import only_nightly

X = "x: {values: arange, shape: [1, 1, 4, 4]}"
PLAIN = f"id: a, {X}, window: 2, expect: [[[[5, 7], [13, 15]]]]"
AVERAGE = "id: a, x: {values: [[[1, 1, 2]]]}, window: 3, expect: [1.33333325], inexact: summed in float32"
QUESTION = (
    f"id: q, about: a, {X}, window: 2, answers: {{window: {{stride: [2, 2]}}, one: {{stride: [1, 1]}}, "
    "none: {rejected: StrideIsZero}}"
)


@pytest.fixture(scope="module")
def smoke(catalogue, tmp_path_factory):
    """Return the built-in catalogue, exported at level smoke."""
    folder = tmp_path_factory.mktemp("export") / "smoke"
    export.write_export(catalogue, catalogue.select("smoke"), folder)
    return folder


def small(tmp_path, *cases, **keywords):
    whole = load(tmp_path, *cases or [PLAIN], **keywords)
    export.write_export(whole, whole.cases, tmp_path / "out")
    return tmp_path / "out"


def document(folder):
    return json.loads((folder / "catalogue.json").read_text("utf-8"))


def verdicts(cases, path):
    backend = registry.get_backend("numpy")
    Run(backend, cases, ledger.load_ledger(), RunOptions(Selection("smoke")), python=sys.executable).execute(path)
    keys = ("case", "surface", "status", "verdict", "kind", "budget_used", "digest", "program")
    records = map(json.loads, path.read_text("utf-8").splitlines())
    return [tuple(record[key] for key in keys) for record in records if record["record"] == "result"]


def test_exported_catalogue_gives_the_same_verdicts(catalogue, smoke, tmp_path):
    own = verdicts(catalogue, tmp_path / "own.jsonl")
    back = verdicts(catalogues.load_catalogue([smoke]), tmp_path / "back.jsonl")
    assert own == back
    assert {status for _, _, status, *_ in own} >= {"pass", "unsupported"}


def test_exported_catalogue_is_as_its_own_schema_says(smoke):
    schema = json.loads((smoke / "schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    whole = document(smoke)
    validator.validate(whole)
    for key in ("inputs", "expect", "digest"):
        cases = [{name: value for name, value in whole["cases"][0].items() if name != key}]
        assert not validator.is_valid({**whole, "cases": cases})


def test_kernel_of_a_following_convolution_comes_back(catalogue, tmp_path):
    (case,) = [case for case in catalogue.cases if case.id == "conv/then-conv"]
    export.write_export(catalogue, [case], tmp_path / "out")
    jsonschema.validate(document(tmp_path / "out"), json.loads((tmp_path / "out/schema.json").read_text("utf-8")))
    (back,) = catalogues.load_catalogue([tmp_path / "out"]).cases
    assert back.then[0].parameters == case.then[0].parameters
    assert np.array_equal(back.then[0].inputs["kernel"].make(), case.then[0].inputs["kernel"].make())
    assert compute_expected(back).digest == compute_expected(case).digest


def test_export_has_the_version_of_its_catalogue(catalogue, smoke):
    assert catalogues.load_catalogue([smoke]).version == catalogue.version == catalogues.catalogue_version()
    assert document(smoke)["catalogue"] == {
        "version": catalogue.version, "digest": catalogue.digest, "cases": len(catalogue.select("smoke"))
    }  # fmt: skip


def test_every_case_comes_back_as_it_was(catalogue, smoke):
    own, back = catalogue.select("smoke"), catalogues.load_catalogue([smoke]).cases
    assert [case.id for case in own] == [case.id for case in back]
    for one, other in zip(own, back, strict=True):
        for name in ("operator", "parameters", "via", "then", "omitted_parameters", "level", "about", "source"):
            assert getattr(one, name) == getattr(other, name), one.id
        assert {name: spec.make().tobytes() for name, spec in one.inputs.items()} == {
            name: spec.make().tobytes() for name, spec in other.inputs.items()
        }
        assert list(one.inputs) == list(other.inputs)
        assert getattr(one.expect, "printed", 0) == getattr(other.expect, "printed", 0)
        assert compute_expected(one).digest == compute_expected(other).digest


@only_nightly
def test_a_case_of_every_operator_and_special_value_comes_back(catalogue, tmp_path):
    of_each = {
        (case.operator, case.parameters.get("output"), word): case
        for case in catalogue.cases
        for word in SELECTOR_FEATURES["values"](case)
    }
    known = {case.id: case for case in of_each.values()}
    export.write_export(catalogue, list(known.values()), tmp_path / "out")
    back = catalogues.load_catalogue([tmp_path / "out"])
    assert {case.operator for case in back.cases} == {case.operator for case in catalogue.cases}
    for one in known.values():
        other = back.by_id[one.id]
        assert list(other.inputs) == list(one.inputs)
        facts = (CaseFeatures(one), CaseFeatures(other))
        assert all(facts[0][key] == facts[1][key] for key in selectors.selector_keys()), one.id
        assert (other.parameters, compute_expected(other).digest) == (one.parameters, compute_expected(one).digest)
    schema = json.loads((tmp_path / "out" / "schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document(tmp_path / "out"))
    assert list(check.check_problems(back)) == []


def test_reader_without_the_suite_finds_inputs_outputs_and_bounds(tmp_path):
    folder = small(tmp_path, AVERAGE, operator="avg_pool")
    (case,) = document(folder)["cases"]
    arrays = {name: np.load(folder / item["file"]) for name, item in {**case["inputs"], **case["expect"]}.items()}
    assert arrays["x"].tolist() == [[[1, 1, 2]]]
    assert arrays["value"].dtype == np.float32
    assert abs(arrays["high"].item() + arrays["low"].item() - 4 / 3) < 1e-15
    assert 0 < arrays["bound"].item() < 1e-5
    assert case["printed"] == [{"shape": [1], "numbers": ["1.33333325"]}]
    assert case["parameters"]["window"] == [3]


def test_selection_has_no_bound_and_a_refusal_no_value(tmp_path):
    refused = f"id: b, {X}, window: 2, stride: 0, expect: {{rejected: StrideIsZero}}"
    plain, rejected = document(small(tmp_path, PLAIN, refused))["cases"]
    assert list(plain["expect"]) == ["value"]
    assert plain["printed"][0]["numbers"] == [5, 7, 13, 15]
    assert rejected["expect"] == {"rejected": "StrideIsZero"}


def test_answers_of_a_question_come_back(tmp_path):
    asked = load(tmp_path, QUESTION.replace("none: {rejected: StrideIsZero}", "own: {values: [[[[1]]]]}"),
                 section="questions")  # fmt: skip
    export.write_export(asked, asked.cases, tmp_path / "out")
    (one,), (other,) = asked.cases, catalogues.load_catalogue([tmp_path / "out"]).cases
    assert list(other.expect.named) == ["window", "one", "own"]
    assert other.expect.named["one"] == {"stride": (1, 1)}
    assert other.omitted_parameters == ("stride",)
    assert compute_expected(one).digest == compute_expected(other).digest
    assert list(check.check_problems(catalogues.load_catalogue([tmp_path / "out"]))) == []


@pytest.mark.parametrize("dtype", sorted(NUMPY_DTYPES))
def test_every_dtype_comes_back_bit_by_bit(tmp_path, dtype):
    numbers = "[[[0, 1, 1, 0]]]" if dtype in {"bool", "uint8"} else "[[[0, 1, 2, 3]]]"
    whole = load(tmp_path, f"id: a, x: {{values: {numbers}, dtype: {dtype}}}, window: 2")
    export.write_export(whole, whole.cases, tmp_path / "out")
    (item,) = (case["inputs"]["x"] for case in document(tmp_path / "out")["cases"])
    assert item["dtype"] == dtype
    (spec,) = (case.inputs["x"] for case in catalogues.load_catalogue([tmp_path / "out"]).cases)
    back, one = spec.make(), whole.cases[0].inputs["x"].make()
    assert (back.dtype, back.tobytes()) == (one.dtype, one.tobytes())


def test_words_for_numbers_that_json_has_not_come_back_as_numbers(tmp_path):
    folder = small(tmp_path, f"id: a, {X}, pads: [[0, 1], [0, 0]], value: -.inf", operator="pad")
    assert document(folder)["cases"][0]["parameters"]["value"] == "-inf"
    assert catalogues.load_catalogue([folder]).cases[0].parameters["value"] == float("-inf")


def test_equal_arrays_are_stored_once_and_files_are_named_for_their_content(smoke):
    files = json.loads((smoke / "manifest.json").read_text("utf-8"))["files"]
    assert files.keys() == {str(path.relative_to(smoke)) for path in smoke.rglob("*") if path.is_file()} - {
        "manifest.json"
    }
    for name, digest in files.items():
        assert hashlib.sha256((smoke / name).read_bytes()).hexdigest() == digest
        assert name.startswith(f"arrays/{digest[:32]}") or not name.startswith("arrays/")
    assert len(files) == len(set(files.values()))


def test_same_catalogue_gives_the_same_export(tmp_path):
    first, second = small(tmp_path, PLAIN, f"{PLAIN}, about: b".replace("id: a", "id: b")), tmp_path / "again"
    whole = catalogues.load_catalogue([tmp_path / "file.yaml"])
    export.write_export(whole, whole.cases, second)
    assert (first / "manifest.json").read_bytes() == (second / "manifest.json").read_bytes()


def test_export_of_an_export_is_the_same_but_for_the_catalogue_it_names(tmp_path):
    first = small(tmp_path)
    back = catalogues.load_catalogue([first])
    export.write_export(back, back.cases, tmp_path / "again")
    assert document(first)["cases"] == document(tmp_path / "again")["cases"]


def test_later_export_replaces_an_earlier_one_wholly(tmp_path):
    folder = small(tmp_path)
    before = {path.name for path in (folder / "arrays").iterdir()}
    small(tmp_path, "id: a, x: {values: [[[1, 2]]]}, window: 2")
    assert not before & {path.name for path in (folder / "arrays").iterdir()}
    assert list(export_reader.damaged_files(folder)) == []


def test_export_that_was_not_finished_is_said_to_be_and_can_be_made_anew(tmp_path):
    faulty = replace(load(tmp_path, PLAIN), cases=(*load(tmp_path, PLAIN).cases,) * 2)
    broken = replace(faulty.cases[0], inputs={"x": ArraySpec("arange", (1, 1, 1, 1), "float32")})
    with pytest.raises(CatalogueError):
        export.write_export(faulty, [faulty.cases[0], broken], tmp_path / "out")
    with pytest.raises(CatalogueError, match=r"manifest\.json: the export was not finished"):
        catalogues.load_catalogue([tmp_path / "out"])
    assert len(catalogues.load_catalogue([small(tmp_path)]).cases) == 1


@pytest.mark.parametrize("content", ["", "{}", '{"name": "my app", "files": []}'])
def test_folder_of_someone_else_is_left_alone(tmp_path, content):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text(content, "utf-8")
    with pytest.raises(ConformanceError, match="not empty and not an exported catalogue"):
        small(tmp_path)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["manifest.json"]


def refused(folder):
    with pytest.raises(CatalogueError) as error:
        catalogues.load_catalogue([folder])
    assert "\n" not in str(error.value)
    return str(error.value)


def test_file_that_was_changed_or_lost_is_one_line(tmp_path):
    folder = small(tmp_path)
    path = folder / document(folder)["cases"][0]["inputs"]["x"]["file"]
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"\1")
    assert refused(folder) == f"{path}: the file was changed: its SHA-256 is not the one in manifest.json"
    path.unlink()
    assert refused(folder) == f"{path}: No such file or directory"
    path.write_bytes(content)
    text = (folder / "catalogue.json").read_text("utf-8")
    (folder / "catalogue.json").write_text(text.replace("max_pool/a", "max_pool/b"), "utf-8")
    assert refused(folder).startswith(f"{folder / 'catalogue.json'}: the file was changed")
    (folder / "manifest.json").write_text("{", "utf-8")
    assert refused(folder).startswith(f"{folder / 'manifest.json'}: ")


def rewritten(folder, change):
    """Change the exported catalogue and update its digests."""
    whole = document(folder)
    change(whole["cases"][0])
    content = json.dumps(whole).encode()
    (folder / "catalogue.json").write_bytes(content)
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest["files"]["catalogue.json"] = hashlib.sha256(content).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda case: case.update(operator="nope"), "KeyError 'nope'"),
        (
            lambda case: case.update(level="nope"),
            "case max_pool/a: does not match its schema: ValueError 'nope' is not a valid Level",
        ),
        (lambda case: case.pop("expect"), "KeyError 'expect'"),
        (lambda case: case["inputs"]["x"].update(file="../secret.npy"), "is not a file of the export"),
        (lambda case: case["inputs"]["x"].update(file="arrays/" + "0" * 32 + ".npy"), "is not a file of the export"),
        (lambda case: case["inputs"]["x"].update(shape=[1, 1, 2, 8]), "not float32 [1, 1, 2, 8]"),
        (lambda case: case["inputs"]["x"].update(shape=[4, 4]), "has 2 entries: expected 0"),
        (lambda case: case["inputs"]["x"].update(dtype="bfloat16"), "not bfloat16"),
        (lambda case: case["printed"][0].update(numbers=["nope"]), "ConversionSyntax"),
    ],
)
def test_catalogue_that_is_none_is_one_line(tmp_path, change, says):
    assert says in refused(rewritten(small(tmp_path), change))


def swapped(case):
    case["expect"]["value"] = case["inputs"]["x"]


def doubled(case):
    case["expect"]["bound"] = case["expect"]["high"]


def shifted(case):
    case["expect"]["high"] = case["expect"]["bound"]


def dropped(case):
    case["expect"] = {"value": case["expect"]["value"]}


@pytest.mark.parametrize(
    ("change", "what"), [(swapped, "output"), (doubled, "bound"), (shifted, "exact result"), (dropped, "bound")]
)
def test_check_tells_what_of_an_export_the_reference_does_not_give(tmp_path, change, what):
    folder = small(tmp_path, AVERAGE, operator="avg_pool")
    assert list(check.check_problems(catalogues.load_catalogue([folder]))) == []
    (line,) = check.check_problems(catalogues.load_catalogue([rewritten(folder, change)]))
    place = folder / "catalogue.json"
    assert line == f"{place}: case avg_pool/a: its exported {what} differs from that of the reference"


def test_disk_that_refuses_is_one_line(tmp_path):
    (tmp_path / "file").write_text("", "utf-8")
    whole = load(tmp_path, PLAIN)
    with pytest.raises(ConformanceError, match=r"file.*: (Not a directory|File exists)$"):
        export.write_export(whole, whole.cases, tmp_path / "file" / "out")
    with pytest.raises(ConformanceError, match=r"file.*: (Not a directory|File exists)$"):
        export.write_export(whole, whole.cases, tmp_path / "file")


def test_commands_read_an_export(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = family(tmp_path, PLAIN, f"id: b, {X}, window: 3, level: standard")

    def command(*arguments):
        with pytest.raises(SystemExit) as left:
            cli.main([str(argument) for argument in arguments])
        out, error = capsys.readouterr()
        return left.value.code or 0, out.splitlines(), error.splitlines()

    assert command("export", "out", "--cases", path)[:2] == (0, ["1 case exported: out"])
    assert command("export", "out", "--cases", path, "--level", "standard")[1] == ["2 cases exported: out"]
    assert command("export", "out", "--cases", path, "--case", "nope")[::2] == (3, ["conformance: no case is selected"])
    assert command("list", "--cases", "out") == (0, ["max_pool/a", "max_pool/b"], [])
    assert command("check", "out", "--no-cache") == (0, ["2 cases are valid"], [])
    assert "[[[[ 5.,  7.]," in command("show", "max_pool/a", "--cases", "out")[1]
    assert command("translate", "max_pool/a", "--cases", "out")[1] == command(
        "translate", "max_pool/a", "--cases", path
    )[1]  # fmt: skip
    assert command("run", "--backend", "numpy", "--cases", "out")[0] == 0
    assert len(reader.load_report([tmp_path / "build/conformance/results/numpy.jsonl"]).backends[0].results) > 0
    value = tmp_path / "out" / document(tmp_path / "out")["cases"][0]["expect"]["value"]["file"]
    value.write_bytes(b"")
    status, _, error = command("check", "out", "--no-cache")
    assert (status, error) == (2, [f"conformance: out/{value.relative_to(tmp_path / 'out')}: the file was changed: its "
                                   "SHA-256 is not the one in manifest.json"])  # fmt: skip
