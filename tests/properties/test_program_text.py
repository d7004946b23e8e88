"""Programs as text: nothing in them but the framework's names, their own, numbers and the suite's words.

A third of the cases of the standard level is translated for each surface, another third for the next one, chosen by
digests of their ids: the same on every run. tests/test_adapters.py parses them all.
"""

import hashlib
from types import SimpleNamespace

import pytest

from conformance.adapters.api.surface import Program
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.lowering import translate
from tests.support.program_text import SURFACES, strangers

PARTS = 3
LONGEST = 2_500
"""Characters of a program that holds no kernel: the longest write an ONNX model out, in some 2,300."""
IMAGE = (1, 2, 224, 224)
WALK = {"window": 3, "stride": 2, "padding": 1}
HOLES = {"window": 3, "stride": 1, "padding": 2, "dilation": 2}
PARTIAL = {"window": 3, "stride": 2, "rounding": "ceil"}
LARGE = {
    "count-no-padding": ("avg_pool", {**WALK, "count_include_pad": False}),
    "count-padding": ("avg_pool", {**WALK, "count_include_pad": True}),
    "count-padding-but-not-beyond": ("avg_pool", {**PARTIAL, "padding": [[1, 0], [1, 0]], "count_include_pad": True}),
    "average-with-holes": ("avg_pool", {**HOLES, "count_include_pad": False}),
    "average-of-a-partial-window": ("avg_pool", {**PARTIAL, "count_include_pad": False}),
    "average-by-a-number": ("avg_pool", {**WALK, "divisor": 7}),
    "largest": ("max_pool", {**PARTIAL, "padding": 1}),
    "indices": ("max_pool_with_indices", {**WALK, "output": "indices"}),
    "norm": ("lp_pool", {**WALK, "p": 3}),
    "softmax": ("softmax_pool", WALK),
    "largest-of-even-bins": ("adaptive_max_pool", {"output_size": 112}),
    "averages-of-uneven-bins": ("adaptive_avg_pool", {"output_size": 100}),
    "draws": ("stochastic_pool", WALK),
    "shares": ("stochastic_pool_probabilities", WALK),
    **{f"pad-{mode}": ("pad", {"pads": [[120, 130], [-1, 2]], "mode": mode}) for mode in ("edge", "reflect", "wrap")},
    "pad-symmetric": ("pad", {"pads": [[300, 130], [2, 2]], "mode": "symmetric"}),
    "pad-value": ("pad", {"pads": [[120, 130], [2, 2]], "mode": "constant", "value": 7}),
}
HOSTILE = {
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


def share(case):
    """Return which part a case belongs to."""
    return hashlib.blake2b(case.id.encode(), digest_size=4).digest()[0] % PARTS


@pytest.mark.parametrize("text", HOSTILE)
def test_check_finds_what_does_not_belong(text):
    backend = next(backend for backend, surface in SURFACES if surface.name == "torch.nn")
    assert any(HOSTILE[text] in found for found in strangers(backend, SimpleNamespace(inputs={"x": None}), text))


@pytest.mark.parametrize("number", range(len(SURFACES)), ids=lambda number: SURFACES[number][1].name)
def test_program_holds_numbers_and_known_words_alone(catalogue, number):
    backend, surface = SURFACES[number]
    seen = set()
    for case in catalogue.cases:
        program = translate(case, surface) if share(case) == number % PARTS or case.level == "smoke" else None
        if isinstance(program, Program) and program.text not in seen:
            seen.add(program.text)
            assert [*strangers(backend, case, program.text)] == [], f"{case.id}: {program.text}"
            # A composition of convolutions writes its kernels out.
            assert len(program.text) <= LONGEST or case.via, f"{case.id}: {program.text}"
    assert seen


@pytest.mark.parametrize("name", LARGE)
def test_program_for_a_large_image_is_as_short_as_for_a_small_one(name):
    operator, given = LARGE[name]
    asked = [("float32", None), ("float16", None), *[("float32", "x")] * ("output" not in given)]
    asked += [("int32", None)] * operator.endswith(("max_pool", "avg_pool", "pad"))
    for dtype, gradient in asked:
        case = CaseRequest(operator, given, shape=IMAGE, dtype=dtype, gradient=gradient).case()
        for _, surface in SURFACES:
            program = translate(case, surface)
            assert not isinstance(program, Program) or len(program.text) <= LONGEST, f"{surface.name}: {program.text}"
