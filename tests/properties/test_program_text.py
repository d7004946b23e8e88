"""Programs contain only names of the framework, their own names, numbers and words of the suite.

Each surface translates a part of the cases, and all cases of level smoke. `conformance check`
translates all cases and compiles their programs. HYPOTHESIS_PROFILE=nightly takes all cases and parses all programs.
"""

import re
from types import SimpleNamespace

import pytest

from conformance.adapters.api import Program
from conformance.adapters.api.axes import MAX_SLICES
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.lowering import translate
from tests.support.catalogue_parts import cases_of_part
from tests.support.nightly import NIGHTLY
from tests.support.program_text import SURFACES, unexpected_parts

DIGITS = re.compile(r"\d+")
MAX_LENGTH = 2_600
"""Maximum length in characters of a program without a constant kernel. The longest ones build an ONNX model, with about
2,300 characters."""
FURTHER_LENGTH = {"iree": 1_100}
"""Length of the lines that import and compile the model, for a surface with more of them."""
LENGTH_OF_A_BIN = 360
"""Maximum length of the lines for one bin of adaptive pooling, which some surfaces write as slices."""
SLICED = frozenset({"adaptive_avg_pool", "adaptive_max_pool"})
IMAGE = (1, 2, 224, 224)
STRIDED = {"window": 3, "stride": 2, "padding": 1}
DILATED = {"window": 3, "stride": 1, "padding": 2, "dilation": 2}
PARTIAL_WINDOWS = {"window": 3, "stride": 2, "rounding": "ceil"}
LARGE = {
    "count-no-padding": ("avg_pool", {**STRIDED, "count_include_pad": False}),
    "count-padding": ("avg_pool", {**STRIDED, "count_include_pad": True}),
    "count-padding-without-overhang": (
        "avg_pool",
        {**PARTIAL_WINDOWS, "padding": [[1, 0], [1, 0]], "count_include_pad": True},
    ),
    "dilated-average": ("avg_pool", {**DILATED, "count_include_pad": False}),
    "average-of-a-partial-window": ("avg_pool", {**PARTIAL_WINDOWS, "count_include_pad": False}),
    "average-with-divisor": ("avg_pool", {**STRIDED, "divisor": 7}),
    "maximum": ("max_pool", {**PARTIAL_WINDOWS, "padding": 1}),
    "indices": ("max_pool_with_indices", {**STRIDED, "output": "indices"}),
    "norm": ("lp_pool", {**STRIDED, "p": 3}),
    "softmax": ("softmax_pool", STRIDED),
    "maxima-of-equal-bins": ("adaptive_max_pool", {"output_size": 112}),
    "maxima-of-unequal-bins": ("adaptive_max_pool", {"output_size": 100}),
    "averages-of-unequal-bins": ("adaptive_avg_pool", {"output_size": 100}),
    "draws": ("stochastic_pool", STRIDED),
    "probabilities": ("stochastic_pool_probabilities", STRIDED),
    **{f"pad-{mode}": ("pad", {"pads": [[120, 130], [-1, 2]], "mode": mode}) for mode in ("edge", "reflect", "wrap")},
    "pad-symmetric": ("pad", {"pads": [[300, 130], [2, 2]], "mode": "symmetric"}),
    "pad-value": ("pad", {"pads": [[120, 130], [2, 2]], "mode": "constant", "value": 7}),
}
DISALLOWED = {
    "def run(x):\n    return eval('x')\n": "the name eval",
    "def run(x):\n    return open('x')\n": "the name open",
    "def run(x):\n    import os\n    return x\n": "an import",
    "def run(x):\n    return x\nos.abort()\n": "more than the function run",
    "import os\ndef run(x):\n    return x\n": "more than the function run",
    "def run(x, y):\n    return x\n": "other arguments",
    "def run(x, y=os.abort()):\n    return x\n": "other arguments",
    "def run(x):\n    return x.__class__\n": "the private attribute __class__",
    "def run(x):\n    return x.zyx\n": "the words 'zyx'",
    "def run(x):\n    return torch.load(x, 'zyx')\n": "the words 'zyx'",
    "def run(x):\n    global torch\n    return x\n": "a name of the module",
}


@pytest.mark.parametrize("text", DISALLOWED)
def test_check_reports_disallowed_parts(text):
    backend = next(backend for backend, surface in SURFACES if surface.name == "torch.nn")
    parts = unexpected_parts(backend, SimpleNamespace(inputs={"x": None}), text)
    assert any(DISALLOWED[text] in part for part in parts)


@pytest.mark.parametrize("number", range(len(SURFACES)), ids=lambda number: SURFACES[number][1].name)
def test_program_contains_only_numbers_and_known_words(catalogue, number):
    backend, surface = SURFACES[number]
    seen = set()
    for case in cases_of_part(catalogue.cases, number):
        program = translate(case, surface)
        if not isinstance(program, Program):
            continue
        # Compositions of convolutions contain their kernels as constants.
        sizes = case.parameters.get("output_size", ()) if case.operator in SLICED else ()
        bins = sum(size for size in sizes if size and size > 0)
        limit = MAX_LENGTH + FURTHER_LENGTH.get(surface.name, 0) + LENGTH_OF_A_BIN * min(bins, MAX_SLICES)
        assert len(program.text) <= limit or case.via, f"{case.id}: {program.text}"
        # Of programs that differ in their numbers alone, one is parsed.
        different = program.text if NIGHTLY else DIGITS.sub("0", program.text), *case.inputs
        if different not in seen:
            seen.add(different)
            assert [*unexpected_parts(backend, case, program.text)] == [], f"{case.id}: {program.text}"
    assert seen


@pytest.mark.parametrize("name", LARGE)
def test_length_of_a_program_does_not_depend_on_the_image_size(name):
    operator, given = LARGE[name]
    variants = [("float32", None), ("float16", None), *[("float32", "x")] * ("output" not in given)]
    variants += [("int32", None)] * operator.endswith(("max_pool", "avg_pool", "pad"))
    for dtype, gradient in variants:
        case = CaseRequest(operator, given, shape=IMAGE, dtype=dtype, gradient=gradient).case()
        for _, surface in SURFACES:
            program = translate(case, surface)
            limit = MAX_LENGTH + FURTHER_LENGTH.get(surface.name, 0)
            assert not isinstance(program, Program) or len(program.text) <= limit, f"{surface.name}: {program.text}"
