"""Reproduction scripts run without the project and compare as a run does."""

import ast
import subprocess
import sys
from dataclasses import replace

import pytest

from conformance.adapters import registry
from conformance.judging.expected import compute_expected
from conformance.translation.lowering import translate
from conformance.translation.repro import repro_script
from tests.support.fake_backends import one, program

LOOPS = registry.get_backend("numpy")
SAMPLE = [
    "max_pool/book-loops",
    "max_pool/2d-int32",
    "max_pool/3d-stride-2-padding-1",
    "avg_pool/book-1d",
    "avg_pool/2d-padding-1",
    "avg_pool/book-as-convolution-3x3",
    "softmax_pool/2d-padding-1",
    "pad/2d-value",
    "conv/book-edge-detector",
    "max_pool/padding-equal-to-window",
]
X = "x: {values: arange, shape: [1, 1, 4, 4]}"


def run_with_numpy_only(text, folder):
    """Run a script in an interpreter that cannot import the project or ml_dtypes."""
    path = folder / "script.py"
    path.write_text(text, "utf-8")
    block_imports = "import runpy, sys; sys.modules.update(conformance=None, reference=None, ml_dtypes=None)"
    command = f"{block_imports}; runpy.run_path(sys.argv[1], run_name='__main__')"
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", command, str(path)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in process.stderr
    return process


def script_of(case, program=None):
    program = program or translate(case, LOOPS.surfaces[0])
    return repro_script(case, compute_expected(case), LOOPS, program)


@pytest.mark.parametrize("name", SAMPLE)
def test_script_runs_with_numpy_alone_and_agrees(catalogue, tmp_path, name):
    process = run_with_numpy_only(script_of(catalogue.by_id[name]), tmp_path)
    assert process.returncode == 0, process.stderr


@pytest.mark.parametrize("name", SAMPLE[:-1])
def test_script_of_a_wrong_program_reports_a_difference(catalogue, tmp_path, name):
    case = catalogue.by_id[name]
    text = script_of(case)
    last = "    return x\n"
    assert text.count(last) == 1
    process = run_with_numpy_only(text.replace(last, "    x = x.copy()\n    x.flat[-1] += 1\n    return x\n"), tmp_path)
    assert process.returncode == 1
    assert "differs" in process.stderr


@pytest.mark.parametrize("change", ["x.astype(np.float64)", "x[:, :, :1]", "x * np.nan"])
def test_script_detects_another_dtype_shape_and_nan(catalogue, tmp_path, change):
    text = script_of(catalogue.by_id["max_pool/book-loops"]).replace("return x\n", f"return {change}\n")
    assert run_with_numpy_only(text, tmp_path).returncode == 1


def test_script_compares_integers_above_2_to_53_exactly(tmp_path):
    case = one(tmp_path, f"id: a, x: {{values: [[[{2**60}, {2**60 + 1}]]], dtype: int64}}, window: 2")
    assert run_with_numpy_only(script_of(case), tmp_path).returncode == 0
    assert run_with_numpy_only(script_of(case, program("x = x[:, :, :1]")), tmp_path).returncode == 1


def test_script_of_a_convention_prints_the_answer(catalogue, tmp_path):
    case = catalogue.by_id["max_pool/stride-when-none-is-given"]
    process = run_with_numpy_only(script_of(case, program("x = x[:, :, 2:3, 2:3]")), tmp_path)
    assert [line.split() for line in process.stdout.splitlines()[-2:]] == [["yes", "window"], ["no", "one"]]


@pytest.mark.parametrize(("body", "status"), [("raise ValueError('no')", 0), ("pass", 1)])
def test_script_of_an_invalid_case_requires_a_rejection(tmp_path, body, status):
    case = one(tmp_path, f"id: a, {X}, window: 2, stride: 0, expect: {{rejected: StrideIsZero}}")
    assert run_with_numpy_only(script_of(case, program(body)), tmp_path).returncode == status


@pytest.mark.parametrize(
    "about",
    [
        r"\"\"\"\nimport os\nos.abort()\n\"\"\"",
        r"ends with a backslash \\",
        r"ends with quotes \"\"",
        r"\\x and \\N{nothing}",
        r"C:\\users",
        "é \\u2028",
    ],
)
def test_description_of_a_case_cannot_leave_the_docstring(tmp_path, about):
    case = one(tmp_path, f'id: a, {X}, window: 2, about: "{about}"')
    process = run_with_numpy_only(script_of(case), tmp_path)
    assert process.returncode == 0, process.stderr
    assert "os.abort" not in ast.unparse(ast.parse(script_of(case)).body[1:])


def test_large_inputs_are_written(tmp_path):
    case = one(tmp_path, "id: a, x: {values: integers, shape: [1, 2, 50, 50]}, window: 25")
    assert run_with_numpy_only(script_of(case), tmp_path).returncode == 0


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint64"])
def test_inputs_of_every_dtype_are_written(tmp_path, dtype):
    case = one(tmp_path, f"id: a, x: {{values: [[[0, 1, 1]]], dtype: {dtype}}}, window: 2")
    assert run_with_numpy_only(script_of(case), tmp_path).returncode == 0


@pytest.mark.parametrize("values", ["[[[-0.0, -0.0]]]", "[[[.nan, 1]]]", "[[[.inf, -.inf]]]", "[[[.nan, .nan]]]"])
def test_special_inputs_are_written(tmp_path, values):
    case = one(tmp_path, f"id: a, x: {{values: {values}}}, window: 1")
    assert run_with_numpy_only(script_of(case), tmp_path).returncode == 0


@pytest.mark.parametrize(("error", "status"), [(0, 0), (1, 1)])
def test_bfloat16_is_compared_by_value(tmp_path, error, status):
    case = one(tmp_path, "id: a, x: {values: [[[0, 1, 2]]], dtype: bfloat16}, window: 3")
    returned = f"np.array([[[{0x4000 + error}]]], np.uint16).view([('bfloat16', np.uint16)])"
    assert run_with_numpy_only(script_of(case, program(f"return {returned}")), tmp_path).returncode == status


def test_script_of_a_convention_confirms_the_declared_answer(catalogue, tmp_path):
    for name in ("max_pool/nan-in-window", "max_pool/zeros-of-both-signs"):
        case = catalogue.by_id[name]
        declared = LOOPS.surfaces[0].declarations[case.convention_id].answer
        lines = run_with_numpy_only(script_of(case), tmp_path).stdout.splitlines()
        assert [line.split()[1] for line in lines if line.startswith("yes")] == [declared], name


@pytest.mark.parametrize("name", ["bfloat16", "float32"])
def test_answers_with_the_same_numbers_differ_in_their_dtype(catalogue, tmp_path, name):
    case = catalogue.by_id["avg_pool/mixed-bfloat16-of-bfloat16"]
    words = "np.array([[[0x40E0]]], np.uint16).view([('bfloat16', np.uint16)])"
    returned = {"bfloat16": words, "float32": "np.array([[[7]]], np.float32)"}[name]
    lines = run_with_numpy_only(script_of(case, program(f"return {returned}")), tmp_path).stdout.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("yes")] == [name]


def test_script_sets_the_mode_of_its_program_after_the_imports(catalogue):
    case = catalogue.by_id["max_pool/2d-int32"]
    in_mode = replace(translate(case, LOOPS.surfaces[0]), mode='np.seterr(all="warn")\n')
    text = script_of(case, in_mode)
    assert text.index("import numpy as np") < text.index("np.seterr(all='warn')") < text.index("def run(x)")
