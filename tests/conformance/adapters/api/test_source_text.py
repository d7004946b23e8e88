"""Source text of numbers, arrays, calls and padding in programs."""

import math
from fractions import Fraction
from itertools import product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hn

import reference
from conformance.adapters.api import function_lines, padded_indices_text, source_text
from conformance.cases.arrays import NUMPY_DTYPES

KINDS = [name for name in NUMPY_DTYPES if name != "bfloat16"]


@given(
    st.sampled_from(KINDS).flatmap(lambda name: hn.arrays(name, hn.array_shapes(min_dims=2, min_side=0, max_side=3)))
)
def test_text_of_an_array_evaluates_to_the_same_array(array):
    made = eval(source_text.array_text(array), {"np": np})  # noqa: S307 - program text is made to be evaluated
    assert made.dtype == array.dtype
    assert made.shape == array.shape
    nan = np.isnan(array)
    assert np.array_equal(nan, np.isnan(made))
    assert made[~nan].tobytes() == array[~nan].tobytes()


@given(st.floats() | st.integers())
def test_text_of_a_number_evaluates_to_the_number(value):
    made = eval(source_text.number(value), {"np": np})  # noqa: S307
    assert made == value or math.isnan(made)
    assert math.copysign(1, made) == math.copysign(1, value) or math.isnan(value)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", ml_dtypes.bfloat16])
def test_numpy_scalars_are_written_as_python_numbers(dtype):
    assert float(source_text.number(np.array([3], dtype)[0])) == 3


@pytest.mark.parametrize(
    ("values", "text"), [((2, 2), "2"), ((2, 3), "(2, 3)"), ((2,), "2"), (None, None), ((np.int64(1), 2), "(1, 2)")]
)
def test_equal_axes_are_written_once(values, text):
    assert source_text.per_axis(values) == text


def test_call_leaves_out_arguments_that_are_none():
    assert source_text.call("f", "x", None, a=None, b="2") == "f(x, b=2)"


@pytest.mark.parametrize(
    ("default", "value", "text"),
    [(0, 0, None), (0, 2, "2"), ("floor", "ceil", "'ceil'"), (None, None, None), (1, 0, "0")],
)
def test_default_is_not_written(default, value, text):
    assert source_text.text_unless_default(default, value) == text


def test_required_imports_are_those_whose_names_the_text_uses():
    setup = "import numpy as np\nimport os.path\nfrom a import b as c, d\n"
    assert source_text.required_setup(setup, "np.zeros(os.sep)") == ["import numpy as np", "import os.path"]
    assert source_text.required_setup(setup, "c(1)") == ["from a import b as c, d"]
    assert source_text.required_setup(setup, "'np'") == []


def test_modes_of_a_setup_are_required_with_the_imports_they_use():
    setup = "import jack\nimport numpy as np\n\njack.use(64)\n"
    assert source_text.required_setup(setup, "run(1)") == ["import jack", "", "jack.use(64)"]


@pytest.mark.parametrize(
    ("text", "required"),
    [
        ("run(1)", ["import jack", "", "jack.use(64)"]),
        ("run(core)", ["import jack", "", "core = jack.Core()", "core.threads = 1", "core.fast(True)", "jack.use(64)"]),
        (
            "run(other)",
            [
                "import jack",
                "",
                "core = jack.Core()",
                "core.threads = 1",
                "core.fast(True)",
                "other = core.copy()",
                "jack.use(64)",
            ],
        ),
    ],
    ids=["none", "one", "one that needs another"],
)
def test_names_of_a_setup_are_required_if_they_are_used(text, required):
    setup = (
        "import jack\nimport jill\ncore = jack.Core()\ncore.threads = 1\ncore.fast(True)\nother = core.copy()\n"
        "jill.__version__ = jill.version.VERSION\njack.use(64)\n"
    )
    assert source_text.required_setup(setup, text) == required


def test_numpy_is_imported_although_the_setup_does_not():
    required = ["import numpy as np", "import jack"]
    assert source_text.required_setup("import jack\n", "jack.run(np.zeros(1))") == required
    assert source_text.required_setup("import jack\n", "jack.run(1)") == ["import jack"]


def test_mode_before_an_import_stays_before_it():
    setup = 'import os\n\nos.environ["JACK"] = "1"\nimport jack\nimport numpy as np\n'
    required = ["import os", "", "os.environ['JACK'] = '1'", "", "import jack"]
    assert source_text.required_setup(setup, "jack.run(1)") == required
    assert source_text.required_imports(setup, "jack.run(1)") == ["import jack"]


def test_empty_lines_are_around_a_class():
    setup = "import jack\njack.mode = 1\nclass Net:\n    depth = 2\njack.mode = 3\n"
    required = ["import jack", "", "jack.mode = 1", "", "class Net:\n    depth = 2", "", "jack.mode = 3"]
    assert source_text.required_setup(setup, "jack.run(1)") == required


@pytest.mark.parametrize("word", ['edge"', "edge\n", "", "a b", "x.y", "__import__('os')", "é"])
def test_only_words_are_quoted(word):
    assert source_text.quoted("REFLECT") == '"REFLECT"'
    with pytest.raises(ValueError, match="is not a word"):
        source_text.quoted(word)


@given(size=st.integers(1, 40), count=st.integers(1, 40))
def test_bins_reach_from_the_floor_of_the_start_to_the_ceiling_of_the_end(size, count):
    expected = [(o * size // count, math.ceil(Fraction((o + 1) * size, count))) for o in range(count)]
    assert eval(source_text.bins_text(size, count)) == expected  # noqa: S307 - program text


def test_sums_are_divided_by_the_same_sums_of_ones():
    lines = ["x = pad(x)", "kernel = np.ones(2)", "conv = Conv(2)", "conv.weight = kernel", "x = conv(x)"]
    assert source_text.divide_by_ones(lines, "ones_like(x)") == (
        *lines[1:4],
        "def total(x):",
        "    x = pad(x)",
        "    return conv(x)",
        "x = total(x) / total(ones_like(x))",
    )


def test_function_of_lines_that_end_with_a_block_returns_x():
    assert source_text.divide_by_ones(["for part in x:", "    x = part"], "1", "mean")[:4] == (
        "def mean(x):",
        "    for part in x:",
        "        x = part",
        "    return x",
    )


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_indices_of_a_padded_axis_agree_with_the_reference(mode):
    for size, before, after in product((1, 2, 3, 5), (-1, 0, 1, 4, 11), (-1, 0, 2, 9)):
        if size + min(before, 0) + min(after, 0) > 0:
            expected = reference.pad(np.arange(size)[None, None], [(before, after)], mode=mode)
            indices = eval(padded_indices_text(mode, size, before, after))  # noqa: S307 - program text
            assert indices == np.asarray(expected).ravel().tolist()


def test_lines_are_a_decorated_function_that_is_called_with_its_inputs():
    assert function_lines("@compiled", "forward", ["y = x + kernel", "x = y"], ["x", "kernel"]) == (
        "@compiled",
        "def forward(x, kernel):",
        "    y = x + kernel",
        "    x = y",
        "    return x",
        "x = forward(x, kernel)",
    )
