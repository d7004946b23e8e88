import ast
import subprocess
import sys

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


def bare(text, folder):
    """Run a script in an interpreter that finds NumPy and nothing of the project."""
    path = folder / "script.py"
    path.write_text(text, "utf-8")
    guard = "import runpy, sys; sys.modules.update(conformance=None, reference=None, ml_dtypes=None)"
    command = f"{guard}; runpy.run_path(sys.argv[1], run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", command, str(path)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


def written(case, chosen=None):
    chosen = chosen or translate(case, LOOPS.surfaces[0])
    return repro_script(case, compute_expected(case), LOOPS, chosen)


@pytest.mark.parametrize("name", SAMPLE)
def test_script_runs_with_numpy_alone_and_agrees(catalogue, tmp_path, name):
    done = bare(written(catalogue.by_id[name]), tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", SAMPLE[:-1])
def test_script_of_a_wrong_program_says_that_it_differs(catalogue, tmp_path, name):
    case = catalogue.by_id[name]
    text = written(case)
    last = "    return x\n"
    assert text.count(last) == 1
    done = bare(text.replace(last, "    x = x.copy()\n    x.flat[-1] += 1\n    return x\n"), tmp_path)
    assert done.returncode == 1
    assert "differs" in done.stderr


@pytest.mark.parametrize("change", ["x.astype(np.float64)", "x[:, :, :1]", "x * np.nan"])
def test_script_tells_another_dtype_shape_and_nan(catalogue, tmp_path, change):
    text = written(catalogue.by_id["max_pool/book-loops"]).replace("return x\n", f"return {change}\n")
    assert bare(text, tmp_path).returncode == 1


def test_script_tells_integers_beyond_2_to_53_apart(tmp_path):
    case = one(tmp_path, f"id: a, x: {{values: [[[{2**60}, {2**60 + 1}]]], dtype: int64}}, window: 2")
    assert bare(written(case), tmp_path).returncode == 0
    assert bare(written(case, program("x = x[:, :, :1]")), tmp_path).returncode == 1


def test_script_of_a_question_names_the_answer(catalogue, tmp_path):
    case = catalogue.by_id["max_pool/stride-when-none-is-given"]
    done = bare(written(case, program("x = x[:, :, 2:3, 2:3]")), tmp_path)
    assert [line.split() for line in done.stdout.splitlines()[-2:]] == [["yes", "window"], ["no", "one"]]


@pytest.mark.parametrize(("body", "status"), [("raise ValueError('no')", 0), ("pass", 1)])
def test_script_of_a_fault_wants_a_refusal(tmp_path, body, status):
    case = one(tmp_path, f"id: a, {X}, window: 2, stride: 0, expect: {{rejected: StrideIsZero}}")
    assert bare(written(case, program(body)), tmp_path).returncode == status


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
def test_whatever_a_case_says_of_itself_stays_in_the_docstring(tmp_path, about):
    case = one(tmp_path, f'id: a, {X}, window: 2, about: "{about}"')
    done = bare(written(case), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "os.abort" not in ast.unparse(ast.parse(written(case)).body[1:])


def test_long_inputs_are_written_too(tmp_path):
    case = one(tmp_path, "id: a, x: {values: integers, shape: [1, 2, 50, 50]}, window: 25")
    assert bare(written(case), tmp_path).returncode == 0


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint64"])
def test_inputs_of_every_dtype_are_written(tmp_path, dtype):
    case = one(tmp_path, f"id: a, x: {{values: [[[0, 1, 1]]], dtype: {dtype}}}, window: 2")
    assert bare(written(case), tmp_path).returncode == 0


@pytest.mark.parametrize("values", ["[[[-0.0, -0.0]]]", "[[[.nan, 1]]]", "[[[.inf, -.inf]]]", "[[[.nan, .nan]]]"])
def test_special_inputs_are_written(tmp_path, values):
    case = one(tmp_path, f"id: a, x: {{values: {values}}}, window: 1")
    assert bare(written(case), tmp_path).returncode == 0


@pytest.mark.parametrize(("worst", "status"), [(0, 0), (1, 1)])
def test_bfloat16_is_compared_as_the_numbers_that_its_words_stand_for(tmp_path, worst, status):
    case = one(tmp_path, "id: a, x: {values: [[[0, 1, 2]]], dtype: bfloat16}, window: 3")
    returned = f"np.array([[[{0x4000 + worst}]]], np.uint16).view([('bfloat16', np.uint16)])"
    assert bare(written(case, program(f"return {returned}")), tmp_path).returncode == status


def test_script_of_a_question_says_yes_to_the_answer_that_the_run_takes(catalogue, tmp_path):
    for name in ("max_pool/nan-in-window", "max_pool/zeros-of-both-signs"):
        case = catalogue.by_id[name]
        chosen = translate(case, LOOPS.surfaces[0])
        declared = LOOPS.surfaces[0].declarations[case.question].answer
        lines = bare(written(case, chosen), tmp_path).stdout.splitlines()
        assert [line.split()[1] for line in lines if line.startswith("yes")] == [declared], name
