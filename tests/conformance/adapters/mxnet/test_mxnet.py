"""The MXNet adapter: selected programs, and the results of composed programs with NumPy in place of MXNet."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from conformance.adapters import registry
from conformance.adapters.api.surface import Program, Unsupported
from conformance.adapters.api.transposed import OutputCrop
from conformance.cases.case import Value
from conformance.judging.expected import compute_expected
from conformance.judging.verdict import ProgramOutcome, judge_outcome
from conformance.translation.lowering import translate

GLUON, NPX, ND, BOOK = registry.get_backend("mxnet").surfaces
both = pytest.mark.parametrize("surface", [GLUON, NPX], ids=lambda surface: surface.name)
everywhere = pytest.mark.parametrize("surface", [GLUON, NPX, ND], ids=lambda surface: surface.name)
arrays = pytest.mark.parametrize("surface", [NPX, ND], ids=lambda surface: surface.name)


def body(program):
    """Return the lines of a program without the conversions of inputs and outputs."""
    assert isinstance(program, Program), program
    lines = [line[4:] for line in program.text.splitlines()[1:]]
    return [
        line for line in lines if not re.match(r"(x|grad|kernel|bias|draws|indices) = (?:mnp|mx.nd).array\(\w+, ", line)
    ][:-1]


ROW = "x: {values: [[[1, 2, 3]]]}"
GRAD = "grad: {values: integers}"


@everywhere
def test_gradient_records_the_forward_lines(made, surface):
    case = made("global_max_pool_grad", f"{ROW}, {GRAD}")
    calls = {"mxnet.gluon": "nn.GlobalMaxPool1D()(x)", "mxnet.npx": "npx.pooling(x, global_pool=True)"}
    call = {**calls, "mxnet.nd": "mx.nd.Pooling(x, global_pool=True)"}[surface.name]
    assert body(translate(case, surface)) == [
        "leaf = x",
        "leaf.attach_grad()",
        "with autograd.record():",
        f"    x = {call}",
        "x.backward(grad)",
        "x = leaf.grad",
    ]


def test_weight_gradient_comes_from_the_layer_which_is_built_before_recording(made):
    case = made("conv_grad", f"{ROW}, kernel: {{values: [[[1, 2]]]}}, {GRAD}, output: kernel")
    assert body(translate(case, GLUON)) == [
        "conv = nn.Conv1D(1, 2, strides=1, use_bias=False, in_channels=1)",
        "conv.initialize()",
        "conv.cast(x.dtype)",
        "conv.weight.set_data(kernel)",
        "with autograd.record():",
        "    x = conv(x)",
        "x.backward(grad)",
        "x = conv.weight.grad()",
    ]


def test_kernel_gradient_of_a_call(made):
    case = made("conv_grad", f"{ROW}, kernel: {{values: [[[1, 2]]]}}, {GRAD}, output: kernel")
    lines = body(translate(case, NPX))
    assert (lines[0], lines[-1]) == ("leaf = kernel", "x = leaf.grad")


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric"])
def test_gradient_of_a_padding_mode_indexes_with_padded_flat_indices(made, mode):
    forward = made("pad", f"{ROW}, pads: [[1, 2]], mode: {mode}")
    assert body(translate(forward, NPX)) == [f'x = mnp.pad(x, ((0, 0), (0, 0), (1, 2)), mode="{mode}")']
    backward = body(translate(made("pad_grad", f"{ROW}, {GRAD}, pads: [[1, 2]], mode: {mode}"), NPX))
    indices = f'mnp.pad(mnp.arange(x.size).reshape(x.shape), ((0, 0), (0, 0), (1, 2)), mode="{mode}")'
    assert f"    x = x.reshape(-1).take({indices})" in backward


def test_gradient_of_constant_padding_uses_the_call(made):
    backward = body(translate(made("pad_grad", f"{ROW}, {GRAD}, pads: [[1, 2]]"), NPX))
    assert "    x = mnp.pad(x, ((0, 0), (0, 0), (1, 2)))" in backward


def test_mode_wrap_uses_cyclic_indices(made):
    program = translate(made("pad", f"{ROW}, pads: [[1, 2]], mode: wrap"), NPX)
    assert program.how == "composed"
    assert body(program) == ['x = x.take(mnp.arange(-1, 5), axis=2, mode="wrap")']


@both
def test_only_convention_programs_crop_with_mnp_pad(catalogue, surface):
    programs = (translate(case, surface) for case in catalogue.cases if isinstance(case.expect, Value))
    lines = [line for program in programs if isinstance(program, Program) for line in program.text.splitlines()]
    calls = [line for line in lines if "mnp.pad(" in line]
    assert calls
    assert not [line for line in calls if re.search(r"\((-\d+, -?\d+|\d+, -\d+)\)", line)]


@both
def test_gradient_of_padding_with_minus_infinity(made, surface):
    case = made("max_pool_grad", f"{ROW}, {GRAD}, window: [2], padding: [[1, 0]], stride: [1]")
    pairs = "((0, 0), (0, 0), (1, 0))"
    filled = "mnp.full((1, 1, 4), -np.inf, dtype=x.dtype)"
    padded = f"    x = mnp.where(mnp.pad(mnp.ones_like(x), {pairs}), mnp.pad(x, {pairs}), {filled})"
    assert padded in body(translate(case, surface))


def test_greatest_integer_is_not_converted_to_float(made):
    case = made("min_pool", "x: {values: [[[1, 2, 3]]], dtype: int64}, window: [2], padding: [[1, 0]]")
    text = translate(case, NPX).text
    assert "mnp.array(np.full((1, 1, 4), 9223372036854775807), dtype=x.dtype)" in text


@pytest.mark.parametrize(("p", "inputs"), [(1, "mnp.abs(x)"), (2, "x"), (3, "mnp.abs(x)")])
def test_odd_powers_take_absolute_values(made, p, inputs):
    program = translate(made("lp_pool", f"{ROW}, window: [3], p: {p}"), NPX)
    assert program.how == ("native" if p % 2 == 0 else "composed")
    assert body(program) == [f'x = npx.pooling({inputs}, kernel=(3,), stride=(3,), pool_type="lp", p_value={p})']


@everywhere
@pytest.mark.parametrize("dtype", ["bfloat16", "int16", "uint16", "uint32", "uint64"])
def test_dtypes_without_mxnet_arrays_are_unsupported(made, surface, dtype):
    for operator, more in (("max_pool", "window: [2]"), ("min_pool", "window: [2]"), ("pad", "pads: [[1, 1]]")):
        case = made(operator, f"x: {{values: [[[1, 2, 3]]], dtype: {dtype}}}, {more}")
        assert f"MXNet has no arrays of {dtype}" in translate(case, surface).reason


@everywhere
def test_convolution_in_float16_is_unsupported_with_an_issue(made, surface):
    spec = "{values: [[[1, 2, 3]]], dtype: float16}"
    unsupported = translate(made("conv", f"x: {spec}, kernel: {spec}"), surface)
    assert isinstance(unsupported, Unsupported)
    assert unsupported.issue == "https://github.com/apache/mxnet/issues/12700"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (0, 0, OutputCrop(0, 0, 0, 0)),
        (1, 1, OutputCrop(1, 0, 0, 0)),
        (1, 0, OutputCrop(1, 1, 0, 0)),
        (0, -1, OutputCrop(0, 1, 0, 0)),
        (0, 1, OutputCrop(0, 0, 0, 1)),
        (3, 1, OutputCrop(1, 0, 2, 0)),
        (0, -2, OutputCrop(0, 2, 0, 0)),
    ],
)
def test_output_of_a_transposed_convolution_is_cropped_by_the_call_or_a_slice(before, after, expected):
    crop = OutputCrop.split(before, after, limit=2)
    assert crop == expected
    assert crop.padding + crop.slice_before == before
    assert crop.padding + crop.slice_after - crop.output_padding == after


TRANSPOSED = "kernel: {values: [[[1, 2]]]}, stride: [2]"


def test_transposed_convolution_slices_if_the_call_cannot_crop_enough(made):
    program = translate(made("conv_transpose", f"{ROW}, {TRANSPOSED}, padding: [[0, 1]]"), NPX)
    assert program.how == "composed"
    assert body(program) == ["x = npx.deconvolution(x, kernel, kernel=(2,), stride=(2,), num_filter=1)[:, :, :-1]"]


@everywhere
def test_output_padding_must_be_smaller_than_the_stride(made, surface):
    case = made("conv_transpose", f"{ROW}, kernel: {{values: [[[1, 2]]]}}, dilation: [2], output_padding: [1]")
    assert translate(case, surface).reason == "adj must be smaller than the stride"


@everywhere
@pytest.mark.parametrize(
    ("more", "reason"), [("dilation: [1, 1, 2]", "Dilate"), ("stride: [1, 1, 1]", "Only 1D or 2D")]
)
def test_dilated_or_float64_transposed_convolution_in_3d_is_unsupported(made, surface, more, reason):
    spec = "{values: integers, shape: [1, 1, 2, 2, 2], dtype: float64}"
    assert reason in translate(made("conv_transpose", f"x: {spec}, kernel: {spec}, {more}"), surface).reason


def test_nd_pooling_has_the_same_parameters_under_other_names(made):
    pool = "x: {values: integers, shape: [1, 1, 5, 5]}, window: [3, 3], stride: [2, 2], padding: [[1, 1], [1, 1]]"
    pooled = "x = mx.nd.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1)"
    assert body(translate(made("max_pool", pool), ND)) == [f"{pooled})"]
    counted = "count_include_pad: false"
    average = body(translate(made("avg_pool", f"{pool}, {counted}"), ND))
    assert average == [f'{pooled}, pool_type="avg", count_include_pad=False)']
    norm = body(translate(made("lp_pool", f"{pool}, p: 2"), ND))
    assert norm == [f'{pooled}, pool_type="lp", p_value=2)']
    full = body(translate(made("max_pool", f"{ROW}, window: [2], stride: [2], rounding: full"), ND))
    assert full == ['x = mx.nd.Pooling(x, kernel=(2,), stride=(2,), pooling_convention="full")']


def test_nd_convolution_and_deconvolution(made):
    kernel = "kernel: {values: [[[1, 2]]]}"
    forward, transposed = (
        body(translate(made(operator, f"{ROW}, {kernel}"), ND)) for operator in ("conv", "conv_transpose")
    )
    assert forward == ["x = mx.nd.Convolution(x, kernel, kernel=(2,), stride=(1,), num_filter=1, no_bias=True)"]
    assert transposed == ["x = mx.nd.Deconvolution(x, kernel, kernel=(2,), stride=(1,), num_filter=1)"]


PLANE = "x: {values: integers, shape: [1, 1, 3, 4]}"


@pytest.mark.parametrize(
    ("more", "arguments"),
    [
        ("value: 7", 'mode="constant", pad_width=(0, 0, 0, 0, 1, 0, 0, 2), constant_value=7'),
        ("mode: edge", 'mode="edge", pad_width=(0, 0, 0, 0, 1, 0, 0, 2)'),
        ("mode: reflect", 'mode="reflect", pad_width=(0, 0, 0, 0, 1, 0, 0, 2)'),
    ],
)
def test_nd_pads_2d_data_with_one_call(made, more, arguments):
    program = translate(made("pad", f"{PLANE}, pads: [[1, 0], [0, 2]], {more}"), ND)
    assert (program.how, body(program)) == ("native", [f"x = mx.nd.pad(x, {arguments})"])


@pytest.mark.parametrize(
    ("x", "more", "lines"),
    [
        (
            ROW,
            "value: 7",
            [
                'x = mx.nd.pad(x.expand_dims(2), mode="constant", pad_width=(0, 0, 0, 0, 0, 0, 1, 0), '
                "constant_value=7).squeeze(2)"
            ],
        ),
        (ROW, "mode: edge", ["x = x.take(mx.nd.array([min(max(i, 0), 2) for i in range(-1, 3)]), axis=2)"]),
        (
            "x: {values: [[[1, 2, 3]]], dtype: int64}",
            "value: 7",
            ["y = mx.nd.full((1, 1, 4), 7, dtype=x.dtype)", "y[:, :, 1:4] = x", "x = y"],
        ),
    ],
)
def test_nd_composes_padding_that_the_call_does_not_support(made, x, more, lines):
    program = translate(made("pad", f"{x}, pads: [[1, 0]], {more}"), ND)
    assert (program.how, body(program)) == ("composed", lines)


def test_nd_reflection_by_the_input_size_uses_indexing(made):
    near, far = (
        body(translate(made("pad", f"{PLANE}, pads: [[{before}, 0], [0, 0]], mode: reflect"), ND)) for before in (2, 3)
    )
    assert near[0].startswith("x = mx.nd.pad(x, ")
    assert far == ["x = x.take(mx.nd.array([min(i % 4, 4 - i % 4) for i in range(-3, 3)]), axis=2)"]


def test_nd_padding_never_crops(catalogue):
    programs = (translate(case, ND) for case in catalogue.cases if isinstance(case.expect, Value))
    texts = [program.text for program in programs if isinstance(program, Program) and "mx.nd.pad(" in program.text]
    assert texts
    assert not [text for text in texts if re.search(r"pad_width=\([^)]*-", text)]


def test_adaptive_average_is_native_in_2d_and_composed_in_1d(made):
    plane = translate(made("adaptive_avg_pool", f"{PLANE}, output_size: [2, 2]"), ND)
    lines = ["x = mx.nd.contrib.AdaptiveAvgPooling2D(x, output_size=(2, 2))"]
    assert (plane.how, body(plane)) == ("native", lines)
    row = translate(made("adaptive_avg_pool", f"{ROW}, output_size: [2]"), ND)
    assert row.how == "composed"
    newer = body(translate(made("adaptive_avg_pool", f"{PLANE}, output_size: [2, 2]"), NPX))
    assert newer == [f"{lines[0].replace('(x,', '(x.as_nd_ndarray(),')}.as_np_ndarray()"]


def test_nd_does_not_support_empty_arrays(made):
    unsupported = translate(made("max_pool", "x: {values: integers, shape: [0, 1, 3]}, window: [2]"), ND)
    assert unsupported.issue == "https://github.com/apache/mxnet/issues/19684"


# NumPy replaces MXNet below. The calls of these programs have the same meaning in both, except for the following.
class Npx:
    """Functions of mxnet.npx that the compositions use and NumPy does not have."""

    @staticmethod
    def softmax(values, axis):
        """Return the softmax along an axis."""
        weights = np.exp(values - values.max(axis, keepdims=True))
        return weights / weights.sum(axis, keepdims=True)

    @staticmethod
    def pick(values, indices, axis):
        """Return the element of each row with the given index."""
        return np.take_along_axis(values, np.expand_dims(indices, axis), axis).squeeze(axis)


class Nd(Npx):
    """Functions of mxnet.nd that the compositions use."""

    array, full, arange, abs, sqrt = np.array, np.full, np.arange, np.abs, np.sqrt
    where, cumsum, broadcast_to = np.where, np.cumsum, np.broadcast_to

    @staticmethod
    def stack(*arrays, axis=0):
        """Return the arrays stacked along a new axis."""
        return np.stack(arrays, axis)

    @staticmethod
    def pad(array, mode, pad_width, constant_value=0):
        """Return the padded array; pad_width is one flat tuple."""
        values = {"constant_values": constant_value} if mode == "constant" else {}
        return np.pad(array, np.reshape(pad_width, (-1, 2)), mode, **values)


COMPOSED = ("max_pool", "min_pool", "softmax_pool", "max_pool_with_indices", "adaptive_max_pool", "adaptive_avg_pool")
COMPOSED += ("stochastic_pool", "stochastic_pool_probabilities", "global_max_pool", "pad")
NATIVE_CALLS = (
    "npx.pooling",
    "nn.",
    "npx.convolution",
    "npx.deconvolution",
    "scatter_nd",
    "AdaptiveAvg",
    "expand_dims",
)
NATIVE_CALLS += ("mx.nd.Pooling", "mx.nd.Convolution", "mx.nd.Deconvolution")


def run(program, inputs):
    """Run a composed program with NumPy."""
    names = {"np": np, "mnp": np, "npx": Npx, "mx": SimpleNamespace(nd=Nd)}
    exec(program.text.replace("return x.asnumpy()", "return np.asarray(x)"), names)  # noqa: S102
    with np.errstate(all="ignore"):
        return names["run"](*inputs)


@arrays
@pytest.mark.parametrize("operator", COMPOSED)
def test_composed_programs_agree_with_the_reference(catalogue, operator, surface):
    cases = [case for case in catalogue.cases if case.operator == operator and not case.via and not case.then]
    checked = 0
    for case in cases[::3]:
        program = translate(case, surface)
        if (
            not isinstance(program, Program)
            or program.how != "composed"
            or any(name in program.text for name in NATIVE_CALLS)
        ):
            continue
        expected = compute_expected(case)
        verdict = judge_outcome(ProgramOutcome("returned", (run(program, expected.inputs.values()),)), expected.target)
        assert verdict.verdict == "agree", f"{case.id}: {verdict}"
        checked += 1
    assert checked > 3


def test_the_check_with_numpy_detects_a_wrong_program(made):
    case = made("max_pool", "x: {values: [[[1, 2, 3]]]}, window: [2], dilation: [2]")
    program = translate(case, NPX)
    expected = compute_expected(case)
    broken = Program(program.surface, program.how, program.text.replace(".max(", ".min("))
    results = [run(text, expected.inputs.values()) for text in (program, broken)]
    verdicts = [judge_outcome(ProgramOutcome("returned", (result,)), expected.target).verdict for result in results]
    assert verdicts == ["agree", "differ"]


def test_book_surface_uses_the_loop_of_the_book(catalogue):
    assert "mnp.zeros" in translate(catalogue.by_id["avg_pool/book-loops"], BOOK).text
