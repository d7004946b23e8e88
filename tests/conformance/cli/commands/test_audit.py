import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.adapters.api import ModelReader
from conformance.cli import cli
from conformance.cli.commands import audit
from reports.results.audits import read_audit

SCRIPT = """\
import json

def read_model(source, model):
    with open(source) as file:
        for layer in json.load(file):
            model.add(**layer)
"""
POOL = {
    "name": "pool", "operator": "max_pool", "shape": [1, 2, 8, 8], "dtype": "float32", "source": "Pool",
    "parameters": {
        "window": [3, 3], "stride": [2, 2], "padding": [[1, 1], [1, 1]], "dilation": [1, 1], "rounding": "floor",
    },
}  # fmt: skip


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A model file of a fake format, with one pooling."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, "utf-8")
    readers = {"fake": ModelReader(script, "numpy.loops", (".fake",), ())}
    monkeypatch.setattr(registry, "model_readers", lambda: readers)
    path = tmp_path / "model.fake"
    path.write_text(json.dumps([POOL]), "utf-8")
    return path


def run(*arguments):
    return CliRunner().invoke(cli, ["audit", *map(str, arguments)])


def test_an_audit_prints_a_table_and_ends_with_status_0(model):
    result = run(model, "--target", "numpy.loops")
    assert result.exit_code == 0, result.output
    assert "numpy.loops (numpy " in result.output
    assert ": 1 same" in result.output


def test_a_framework_stands_for_its_surface(model):
    assert "numpy.loops" in run(model, "--target", "numpy").output


def test_control_characters_in_names_are_escaped(model):
    model.write_text(json.dumps([{**POOL, "name": "po\x1b[1m\u202eol"}]), "utf-8")
    output = run(model, "--target", "numpy.loops").output
    assert r"po\x1b[1m\u202eol" in output
    assert all(line.isprintable() for line in output.splitlines())
    record = json.loads(run(model, "--target", "numpy.loops", "--format", "json").output)
    assert json.dumps("po\x1b[1m\u202eol")[1:-1] in json.dumps(record)


def test_a_layer_that_no_case_describes_ends_with_status_1(model):
    layer = {**POOL, "shape": [1, 2, 1, 1], "parameters": {**POOL["parameters"], "padding": [[0, 0], [0, 0]]}}
    model.write_text(json.dumps([layer]), "utf-8")
    result = run(model, "--target", "numpy.loops")
    assert result.exit_code == 1
    assert "not checked" in result.output


NORM = {
    "name": "norm", "operator": "lp_pool", "shape": [1, 2, 8, 8], "dtype": "float32", "source": "LPPool2d",
    "parameters": {"p": 2, "window": [3, 3], "stride": [2, 2], "padding": [[0, 0], [0, 0]], "rounding": "ceil"},
}  # fmt: skip


@pytest.mark.parametrize(("is_run", "verdict"), [(True, "1 known"), (False, "1 same")])
def test_a_layer_that_the_models_framework_computes_otherwise_is_known(model, monkeypatch, is_run, verdict):
    (reader,) = registry.model_readers().values()
    reader = replace(reader, surface="torch.nn.functional", is_run=is_run)
    monkeypatch.setattr(registry, "model_readers", lambda: {"fake": reader})
    model.write_text(json.dumps([NORM]), "utf-8")
    result = run(model, "--target", "numpy.loops")
    assert result.exit_code == 0, result.output
    assert verdict in result.output
    assert ("F.lp_pool1d" in result.output) is is_run


def test_an_audit_is_written_as_markdown(model, tmp_path):
    path = tmp_path / "new" / "audit.md"
    result = run(model, "--target", "numpy", "--format", "markdown", "--output", path)
    assert result.exit_code == 0
    assert result.output == ""
    assert path.read_text("utf-8").startswith("# Audit of ")


def test_fix_prints_the_program_of_a_rewrite(model):
    result = run(model, "--target", "numpy", "--fix")
    assert result.exit_code == 0
    assert "def run" not in result.output  # the layer is one call


@pytest.mark.parametrize("shape", ["x", "1x", "1x0x3", "-1x3", "=3x3x", "1" * 9, "x".join("1" * 9)])
def test_a_wrong_input_shape_is_an_error(model, shape):
    result = run(model, "--target", "numpy", "--input", shape)
    assert isinstance(result.exception, ConformanceError)
    assert "such as 1x3x224x224" in str(result.exception)


def test_a_target_is_given_once(model):
    result = run(model, "--target", "numpy", "--target", "numpy.loops")
    assert "--target numpy.loops: given twice" in str(result.exception)


def test_a_broken_file_is_one_line(model):
    model.write_text("{", "utf-8")
    result = run(model, "--target", "numpy")
    assert isinstance(result.exception, ConformanceError)
    assert str(result.exception).startswith(f"{model}: JSONDecodeError")


def test_surfaces_of_one_backend_and_interpreter_share_a_process():
    targets = [audit.parse_target(text) for text in ("torch.nn", "torch.nn.functional", "torch.nn.functional=/p")]
    assert [len(surfaces) for surfaces in audit._by_backend(targets).values()] == [2, 1]


def test_an_audit_as_json_is_a_page_of_the_report(model, tmp_path):
    path, results, page = tmp_path / "audit.json", tmp_path / "results", tmp_path / "report.html"
    assert run(model, "--target", "numpy", "--format", "json", "--output", path).exit_code == 0
    assert read_audit(path).layers[0].names == ("pool",)
    arguments = ["run", "--backend", "numpy", "--case", "max_pool/book-*", "--out", results]
    CliRunner().invoke(cli, list(map(str, arguments)))
    result = CliRunner().invoke(cli, list(map(str, ["report", results, "--audit", path, "--out", page])))
    assert result.exit_code == 0, result.output
    assert "Audit of " in page.read_text("utf-8")
    refused = CliRunner().invoke(cli, ["report", str(results), "--audit", str(path), "--format", "terminal"])
    assert refused.exit_code == 2
    assert "--audit needs --format html" in refused.output


@pytest.mark.parametrize("output_format", ["terminal", "html", "markdown", "json"])
def test_fix_writes_programs_in_every_format(model, output_format, monkeypatch):
    monkeypatch.setattr(audit, "rewrite_programs", lambda *_, **__: {(0, "numpy.loops"): "x = written(x)"})
    result = run(model, "--target", "numpy", "--fix", "--format", output_format)
    assert result.exit_code == 0
    assert "x = written(x)" in result.output


def test_full_programs_belong_to_fix(model):
    result = run(model, "--target", "numpy", "--full-programs")
    assert str(result.exception) == "--full-programs: needs --fix"


def test_progress_is_not_written_without_a_terminal(model):
    assert run(model, "--target", "numpy").stderr == ""


def test_the_time_limit_of_the_search_is_in_the_help():
    assert "--shrink-seconds" in run("--help").output
    assert "[default: 30" in run("--help").output


def test_audit_and_compare_models_name_functions_in_the_same_way():
    names = "BACKEND:FILE.py:FACTORY or BACKEND:MODULE:FACTORY, where FACTORY is a function that returns the model"
    for command in ("audit", "compare-models"):
        assert names in " ".join(CliRunner().invoke(cli, [command, "--help"]).output.split())
