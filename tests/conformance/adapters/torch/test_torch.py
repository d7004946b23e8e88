"""Program texts of the PyTorch adapter. No framework is imported."""

import ast
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import reference
from conformance.adapters import registry
from conformance.adapters.api.source_text import padded_indices_text
from conformance.adapters.api.surface import Program, Unsupported
from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.operators import FORWARD_OPERATORS
from conformance.cases.steps import Step
from conformance.translation.lowering import lower_step, translate
from tests.support.fake_backends import one

SURFACES = {surface.name: surface for surface in registry.get_backend("torch").surfaces}
NN, F, LAST, COMPILED = (SURFACES[f"torch.{name}"] for name in ("nn", "nn.functional", "channels_last", "compile"))
PLANE = "x: {values: integers, shape: [1, 2, 5, 5]}"
ROW = "x: {values: integers, shape: [1, 1, 6]}"
GRAD = "grad: {values: integers}"


def lines(tmp_path, operator, text, surface=F):
    """Return the lines of a program without conversions of arrays, and how the program computes the case."""
    program = translate(one(tmp_path, f"id: a, {text}", operator=operator), surface)
    assert isinstance(program, Program), program
    body = [line.strip() for line in program.text.splitlines()[1:-1]]
    return [line for line in body if "from_numpy" not in line], program.how


def reason(tmp_path, operator, text, surface=F):
    answer = translate(one(tmp_path, f"id: a, {text}", operator=operator), surface)
    assert isinstance(answer, Unsupported), answer.text
    return answer.reason


def test_modules_of_an_adapter_are_not_backends():
    modules = {path.stem for path in Path(registry.adapters.__path__[0], "torch").glob("*.py")}
    assert len(modules) > 1
    assert not modules & {*registry.backend_names()}
    assert "torch" in registry.backend_names()


@pytest.mark.parametrize(
    ("operator", "text", "functional", "layer"),
    [
        ("lp_pool", "window: 2", "F.lp_pool2d(x, 2, 2)", "nn.LPPool2d(2, 2)(x)"),
        (
            "max_pool_with_indices",
            "window: 2, stride: 1, output: indices",
            "F.max_pool2d(x, 2, stride=1, return_indices=True)[1]",
            "nn.MaxPool2d(2, stride=1, return_indices=True)(x)[1]",
        ),
        ("global_avg_pool", "about: b", "F.adaptive_avg_pool2d(x, 1)", "nn.AdaptiveAvgPool2d(1)(x)"),
        (
            "adaptive_max_pool",
            "output_size: [2, 3]",
            "F.adaptive_max_pool2d(x, (2, 3))",
            "nn.AdaptiveMaxPool2d((2, 3))(x)",
        ),
        (
            "pad",
            "pads: [[1, 2], [3, 4]], mode: edge",
            'F.pad(x, (3, 4, 1, 2), mode="replicate")',
            "nn.ReplicationPad2d((3, 4, 1, 2))(x)",
        ),
        (
            "pad",
            "pads: [[1, 1], [1, 1]], mode: reflect",
            'F.pad(x, (1, 1, 1, 1), mode="reflect")',
            "nn.ReflectionPad2d((1, 1, 1, 1))(x)",
        ),
        (
            "pad",
            "pads: [[5, 5], [5, 5]], mode: wrap",
            'F.pad(x, (5, 5, 5, 5), mode="circular")',
            "nn.CircularPad2d((5, 5, 5, 5))(x)",
        ),
    ],
)
def test_native_calls(tmp_path, operator, text, functional, layer):
    for surface, call in ((F, functional), (NN, layer)):
        assert lines(tmp_path, operator, f"{PLANE}, {text}", surface) == ([f"x = {call}"], "native")


@pytest.mark.parametrize("p", [1, 3, 2.5])
def test_norm_with_a_power_that_is_not_even_uses_absolute_values(tmp_path, p):
    body, how = lines(tmp_path, "lp_pool", f"{ROW}, window: 2, p: {p}")
    assert (body, how) == ([f"x = F.lp_pool1d(x.abs(), {p}, 2)"], "composed")


def test_norm_of_padded_and_dilated_windows_is_composed(tmp_path):
    body, how = lines(
        tmp_path, "lp_pool", f"{PLANE}, window: 2, padding: [[1, 0], [0, 1]], stride: 1, dilation: 2, p: 3"
    )
    assert how == "composed"
    assert body == [
        "x = F.pad(x, (0, 1, 1, 0))",
        "windows = x.unfold(2, 3, 1).unfold(3, 3, 1)[..., ::2, ::2]",
        "x = torch.linalg.vector_norm(windows, 3, dim=(-2, -1))",
    ]


def test_norm_is_composed_if_windows_extend_past_the_input(tmp_path):
    body, _ = lines(tmp_path, "lp_pool", f"{PLANE}, window: 2, rounding: ceil, p: 3")
    assert "vector_norm" in body[-1]


def test_indices_in_a_padded_plane_are_converted_to_the_input():
    """The expression is evaluated on all indices of a 3 x 4 plane with one row of padding above and one column left."""
    step = Step(
        "max_pool_with_indices",
        (1, 1, 3, 4),
        "float32",
        {"window": (2, 2), "stride": (1, 1), "padding": ((1, 0), (2, 1)), "dilation": (1, 1), "rounding": "floor"},
    ).with_parameters(output="indices")
    pads = step.with_parameters(padding=((1, 0), (1, 0)))
    text = lower_step(pads, F, native_only=False, inner=False)[0][-1]
    plane = np.arange(12).reshape(3, 4)
    padded = np.pad(plane, ((1, 0), (1, 0)), constant_values=-1).ravel()
    converted = eval(text.removeprefix("x = "), {"x": np.arange(padded.size)})  # noqa: S307
    assert (converted[padded >= 0] == padded[padded >= 0]).all()
    assert isinstance(lower_step(step, F, native_only=False, inner=False), Unsupported)  # a window of padding only


@pytest.mark.parametrize(
    ("extent", "size", "call"),
    [
        (2, 4, "F.max_unpool1d(x, indices, 2)"),
        (2, 5, "F.max_unpool1d(x, indices, 3, stride=2)"),
        (3, 3, "F.max_unpool1d(x, indices, 1)"),
        (4, 2, "F.max_unpool1d(x, indices, 1, padding=1)"),
        (4, 1, "F.max_unpool1d(x, indices, 2, stride=1, padding=2)"),
    ],
)
def test_unpooling_has_a_window_and_stride_that_give_the_output_size(tmp_path, extent, size, call):
    indices = f"indices: {{values: integers, low: 0, high: {size - 1}, shape: [1, 1, {extent}]}}"
    text = f"x: {{values: integers, shape: [1, 1, {extent}]}}, {indices}, output_size: {size}"
    assert lines(tmp_path, "max_unpool", text)[0] == [f"x = {call}"]


SAMPLES = "samples: {values: integers, low: 0, high: 3, over: 4}"


@pytest.mark.parametrize(
    ("shape", "call"),
    [
        (
            "[1, 1, 7]",
            "F.fractional_max_pool2d(x.unsqueeze(2), (1, 2), output_size=(1, 3), "
            "_random_samples=samples.repeat(1, 1, 2)).squeeze(2)",
        ),
        ("[1, 1, 7, 7]", "F.fractional_max_pool2d(x, 2, output_size=3, _random_samples=samples.flip(-1))"),
        ("[1, 1, 7, 7, 7]", "F.fractional_max_pool3d(x, 2, output_size=3, _random_samples=samples)"),
    ],
)
def test_samples_are_in_the_order_of_pytorch(tmp_path, shape, call):
    text = f"x: {{values: integers, shape: {shape}}}, {SAMPLES}, window: 2, output_size: 3"
    assert lines(tmp_path, "fractional_max_pool", text)[0] == [f"x = {call}"]


def test_fractional_pooling_in_three_dimensions_has_the_limit_of_pytorch(tmp_path):
    text = f"x: {{values: integers, shape: [1, 1, 7, 7, 7]}}, {SAMPLES}, output_size: 3, window"
    assert "at most the extent" in reason(tmp_path, "fractional_max_pool", f"{text}: [2, 2, 5]")
    assert lines(tmp_path, "fractional_max_pool", f"{text}: [2, 2, 4]")[1] == "native"


def test_symmetric_padding_indexes_the_cells(tmp_path):
    body, how = lines(tmp_path, "pad", f"{PLANE}, pads: [[2, 0], [0, -1]], mode: symmetric")
    assert (body, how) == (
        ["x = x[:, :, [min(i % 10, 9 - i % 10) for i in range(-2, 5)]]", "x = x[:, :, :, list(range(0, 4))]"],
        "composed",
    )


@pytest.mark.parametrize(("mode", "within"), [("reflect", 4), ("wrap", 5)])
def test_padding_beyond_the_limit_of_pytorch_indexes_the_cells(tmp_path, mode, within):
    text = f"x: {{values: integers, shape: [1, 1, 5]}}, mode: {mode}, pads"
    assert lines(tmp_path, "pad", f"{text}: [[0, {within}]]")[1] == "native"
    assert lines(tmp_path, "pad", f"{text}: [[0, {within + 1}]]")[1] == "composed"


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_indices_of_a_padded_axis_agree_with_the_reference(mode):
    for size, before, after in product((1, 2, 3, 5), (-1, 0, 1, 4, 11), (-1, 0, 2, 9)):
        if size + min(before, 0) + min(after, 0) > 0:
            expected = reference.pad(np.arange(size)[None, None], [(before, after)], mode=mode)
            indices = eval(padded_indices_text(mode, size, before, after))  # noqa: S307 - program text
            assert indices == np.asarray(expected).ravel().tolist()


TRANSPOSED = "x: {values: integers, shape: [1, 2, 4]}, kernel: {values: integers, shape: [2, 3, 3]}"


@pytest.mark.parametrize(
    ("text", "call", "how"),
    [
        ("padding: 1, stride: 2", "F.conv_transpose1d(x, kernel, stride=2, padding=1)", "native"),
        (
            "padding: 1, stride: 2, output_padding: 1",
            "F.conv_transpose1d(x, kernel, stride=2, padding=1, output_padding=1)",
            "native",
        ),
        (
            "padding: [[1, 0]], stride: 2",
            "F.conv_transpose1d(x, kernel, stride=2, padding=1, output_padding=1)",
            "native",
        ),
        ("padding: [[0, 1]], stride: 2", "F.conv_transpose1d(x, kernel, stride=2)[:, :, :-1]", "composed"),
        ("padding: [[1, 2]]", "F.conv_transpose1d(x, kernel, padding=1)[:, :, :-1]", "composed"),
        ("padding: [[2, 0]]", "F.conv_transpose1d(x, kernel)[:, :, 2:]", "composed"),
        ("padding: [[0, 2]], stride: 3, output_padding: 2", "F.conv_transpose1d(x, kernel, stride=3)", "native"),
        (
            "padding: [[3, 1]], dilation: 2, output_padding: 1",
            "F.conv_transpose1d(x, kernel, dilation=2)[:, :, 3:]",
            "composed",
        ),
    ],
)
def test_transposed_convolution_crops_by_padding_and_a_slice(tmp_path, text, call, how):
    assert lines(tmp_path, "conv_transpose", f"{TRANSPOSED}, {text}") == ([f"x = {call}"], how)


def test_layer_of_a_transposed_convolution_has_the_weights_of_the_case(tmp_path):
    body, _ = lines(tmp_path, "conv_transpose", f"{TRANSPOSED}, padding: [[0, 1]]", NN)
    assert body == [
        "conv = nn.ConvTranspose1d(2, 3, 3, bias=False, dtype=x.dtype)",
        "conv.weight = nn.Parameter(kernel, requires_grad=False)",
        "x = conv(x)",
        "x = x[:, :, :-1]",
    ]


CONV = "x: {values: integers, shape: [1, 1, 4]}, kernel: {values: [[[1, 2]]]}, bias: {values: [3]}"


@pytest.mark.parametrize("name", ["x", "kernel", "bias"])
def test_gradient_is_of_the_input_that_the_case_names(tmp_path, name):
    body, _ = lines(tmp_path, "conv_grad", f"{CONV}, {GRAD}, output: {name}")
    assert body == [
        f"leaf = {name}.requires_grad_()",
        "x = F.conv1d(x, kernel, bias)",
        "(x,) = torch.autograd.grad(x, leaf, grad)",
    ]


@pytest.mark.parametrize(("name", "parameter"), [("kernel", "conv.weight"), ("bias", "conv.bias")])
def test_gradient_of_weights_is_of_the_parameter_of_the_layer(tmp_path, name, parameter):
    body, _ = lines(tmp_path, "conv_grad", f"{CONV}, {GRAD}, output: {name}", NN)
    assert body[1:] == [
        "conv.weight = nn.Parameter(kernel)",
        "conv.bias = nn.Parameter(bias)",
        "x = conv(x)",
        f"(x,) = torch.autograd.grad(x, {parameter}, grad)",
    ]


def test_gradient_of_the_input_of_a_layer_does_not_track_the_weights(tmp_path):
    body, _ = lines(tmp_path, "conv_grad", f"{CONV}, {GRAD}, output: x", NN)
    assert body[0] == "leaf = x.requires_grad_()"
    assert "conv.weight = nn.Parameter(kernel, requires_grad=False)" in body


def test_maximum_of_integers_in_one_dimension_uses_the_call_with_indices(tmp_path):
    text = "x: {values: [[[1, 2, 3]]], dtype: int16}, window: 2"
    assert lines(tmp_path, "max_pool", text)[0] == ["x = F.max_pool1d(x, 2, return_indices=True)[0]"]


def test_dtype_without_a_kernel_is_computed_in_a_wider_dtype(tmp_path):
    text = "x: {values: integers, low: 0, high: 1, shape: [1, 1, 4, 4], dtype: bool}, window: 2"
    body, how = lines(tmp_path, "max_pool", text)
    assert (body, how) == (["x = x.to(torch.uint8)", "x = F.max_pool2d(x, 2)", "x = x.to(torch.bool)"], "composed")


@pytest.mark.parametrize("operator", ["max_pool", "adaptive_max_pool", "max_unpool"])
def test_wider_dtype_represents_all_values(operator):
    bits_of = {"uint8": 8, "int32": 31, "int64": 63, "float64": 53}
    for name in NUMPY_DTYPES:
        parameters = {"window": (2,), "stride": (2,), "padding": ((0, 0),), "dilation": (1,), "rounding": "floor"}
        parameters |= {"output_size": (2,)}
        answer = lower_step(Step(operator, (1, 1, 4), name, parameters), F, native_only=False, inner=False)
        if not isinstance(answer, Unsupported) and answer[0][0].startswith("x = x.to("):
            wider = answer[0][0].removeprefix("x = x.to(torch.").rstrip(")")
            bits = 1 if name == "bool" else np.iinfo(name).bits - name.startswith("int")
            assert bits <= bits_of[wider], f"{name} in {wider}"


def test_minimum_of_integers_is_the_complement_of_the_maximum_of_complements(tmp_path):
    text = "x: {values: [[[-128, 127]]], dtype: int8}, window: 2"
    assert lines(tmp_path, "min_pool", text)[0] == [
        "x = ~x",
        "x = F.max_pool1d(x, 2, return_indices=True)[0]",
        "x = ~x",
    ]


def test_minimum_of_integers_with_asymmetric_padding_pads_the_complement_explicitly(tmp_path):
    text = "x: {values: integers, shape: [1, 1, 3, 3], dtype: int8}, window: 2, padding: [[1, 0], [1, 0]]"
    body, how = lines(tmp_path, "min_pool", text)
    assert how == "composed"
    assert body == ["x = ~x", "x = F.pad(x, (1, 0, 1, 0), value=-128)", "x = F.max_pool2d(x, 2)", "x = ~x"]


def test_averages_of_16_bit_floats_in_three_dimensions_are_computed_in_float32(tmp_path):
    text = "x: {values: integers, shape: [1, 1, 4, 4, 4], dtype: float16}, window: 2, padding"
    body, how = lines(tmp_path, "avg_pool", f"{text}: 0")
    assert (body, how) == (["x = x.to(torch.float32)", "x = F.avg_pool3d(x, 2)", "x = x.to(torch.float16)"], "composed")
    assert lines(tmp_path, "avg_pool", f"{text}: [[1, 0], [0, 0], [0, 0]], count_include_pad: true")[0][1:] == body


@pytest.mark.parametrize(("dtype", "how"), [("int64", "native"), ("int8", "composed")])
def test_averages_of_integers_are_divided_toward_zero(tmp_path, dtype, how):
    body, found = lines(tmp_path, "avg_pool", f"x: {{values: [[[1, 2, 4]]], dtype: {dtype}}}, window: 2, stride: 1")
    assert found == how
    if how == "composed":
        quotient = 'x = torch.div(windows.sum((-1,), dtype=x.dtype), 2, rounding_mode="trunc")'
        assert body == ["windows = x.unfold(2, 2, 1)", quotient]


def test_averages_of_integers_at_the_border_divide_by_their_cells(tmp_path):
    text = "id: a, x: {values: [[[1, 2]]], dtype: int16}, window: 2, stride: 1, padding: 1"
    program = translate(one(tmp_path, text, operator="avg_pool"), F)
    assert program.text.splitlines()[2:-1] == [
        "    def total(x):",
        "        x = F.pad(x, (1, 1))",
        "        windows = x.unfold(2, 2, 1)",
        "        return windows.sum((-1,), dtype=x.dtype)",
        '    x = torch.div(total(x), total(torch.ones_like(x)), rounding_mode="trunc")',
    ]


def test_bfloat16_is_passed_as_words(tmp_path):
    program = translate(one(tmp_path, "id: a, x: {values: [[[1, 2]]], dtype: bfloat16}, window: 2"), F)
    assert program.text.splitlines()[1:] == [
        "    x = torch.from_numpy(x).view(torch.bfloat16)",
        "    x = F.max_pool1d(x, 2)",
        '    return x.view(torch.uint16).numpy().view([("bfloat16", np.uint16)])',
    ]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_several_calls_on_16_bit_floats_are_computed_in_float32(tmp_path, dtype):
    body, _ = lines(tmp_path, "softmax_pool", f"x: {{values: [[[1, 2]]], dtype: {dtype}}}, window: 2")
    assert (body[-1], "x = x.to(torch.float32)" in body) == (f"x = x.to(torch.{dtype})", True)


def test_draw_selects_the_first_cell_whose_running_sum_exceeds_its_share(tmp_path):
    draws = "draws: {values: integers, low: 0, high: 3, over: 4}"
    body, how = lines(
        tmp_path, "stochastic_pool", f"x: {{values: integers, low: 0, shape: [1, 1, 4, 4]}}, {draws}, window: 2"
    )
    assert how == "composed"
    assert body == [
        "windows = x.unfold(2, 2, 2).unfold(3, 2, 2)",
        "windows = windows.flatten(-2)",
        "drawn = windows.cumsum(-1) > draws.unsqueeze(-1) * windows.sum(-1, keepdim=True)",
        "first = drawn.to(torch.uint8).argmax(-1, keepdim=True)",
        "x = windows.gather(-1, first).squeeze(-1) * drawn.any(-1)",
    ]


@pytest.mark.parametrize("surface", [NN, F], ids=lambda surface: surface.name)
def test_every_dtype_of_every_operator_is_supported_or_has_a_reason(surface):
    composed = {"min_pool", "softmax_pool", "stochastic_pool", "stochastic_pool_probabilities"}
    for name, dtype in product(FORWARD_OPERATORS, NUMPY_DTYPES):
        integers = NUMPY_DTYPES[dtype].kind in "iub" and name.startswith("stochastic")
        known = surface.supports(name, dtype) or surface.unsupported_reason(name, dtype) is not None
        assert known or integers, f"{name} in {dtype}"
        assert name in surface.lowerings or name in composed


@pytest.mark.parametrize("surface", [NN, F], ids=lambda surface: surface.name)
def test_every_operator_and_gradient_of_the_catalogue_has_a_program(catalogue, surface):
    found = {case.operator for case in catalogue.cases if isinstance(translate(case, surface), Program)}
    assert {case.operator for case in catalogue.cases} - found == set()
    assert len(found) > len(FORWARD_OPERATORS)


TO_LAST = "x = x.to(memory_format=torch.channels_last)"
ONE_CHANNEL = "x: {values: integers, shape: [1, 1, 4, 4]}"


@pytest.mark.parametrize(
    ("operator", "text", "body"),
    [
        ("max_pool", f"{PLANE}, window: 2", [TO_LAST, "x = F.max_pool2d(x, 2)"]),
        (
            "avg_pool",
            "x: {values: integers, shape: [1, 1, 4, 4, 4]}, window: 2",
            ["x = x.to(memory_format=torch.channels_last_3d)", "x = F.avg_pool3d(x, 2)"],
        ),
        (
            "conv",
            f"{PLANE}, kernel: {{values: integers, shape: [3, 2, 2, 2]}}",
            [TO_LAST, TO_LAST.replace("x", "kernel"), "x = F.conv2d(x, kernel)"],
        ),
        (
            "max_unpool",
            f"{PLANE}, indices: {{values: integers, low: 0, high: 3}}, output_size: 10",
            [TO_LAST, TO_LAST.replace("x", "indices"), "x = F.max_unpool2d(x, indices, 2)"],
        ),
    ],
)
def test_images_kernels_and_indices_are_converted_to_channels_last(tmp_path, operator, text, body):
    assert lines(tmp_path, operator, text, LAST) == (body, "native")


def test_images_are_converted_once_and_every_kernel_is_converted(tmp_path):
    text = (
        "x: {values: integers, low: 0, high: 1, shape: [1, 1, 4, 4], dtype: bool}, window: 2, padding: [[1, 0], [1, 0]]"
    )
    body, how = lines(tmp_path, "max_pool", text, LAST)
    assert (how, body.count(TO_LAST), body[0]) == ("composed", 1, TO_LAST)
    assert body[1:] == lines(tmp_path, "max_pool", text)[0]
    via, _ = lines(tmp_path, "max_pool", f"{ONE_CHANNEL}, window: 2, via: [conv, relu]", LAST)
    kernels = [line for line in via if line.startswith("x = F.conv2d")]
    assert (via.count(TO_LAST), via.count(TO_LAST.replace("x", "kernel"))) == (1, len(kernels))
    assert len(kernels) > 1


def test_output_gradient_is_converted_to_channels_last(tmp_path):
    body, _ = lines(tmp_path, "max_pool_grad", f"{PLANE}, {GRAD}, window: 2", LAST)
    assert body == [
        "leaf = x.requires_grad_()",
        TO_LAST,
        "x = F.max_pool2d(x, 2)",
        TO_LAST.replace("x", "grad"),
        "(x,) = torch.autograd.grad(x, leaf, grad)",
    ]


@pytest.mark.parametrize("operator", ["max_pool", "avg_pool", "lp_pool", "max_pool_with_indices"])
def test_channels_last_does_not_support_one_dimension(tmp_path, operator):
    assert "two or three spatial axes" in reason(tmp_path, operator, f"{ROW}, window: 2", LAST)


def test_convention_case_for_a_dtype_without_a_kernel_runs_in_channels_last(catalogue):
    program = translate(catalogue.by_id["max_pool/integers-in-bool"], LAST)
    assert TO_LAST in program.text
    assert program.how == "native"


def test_compiled_function_takes_the_inputs_and_contains_the_calls(tmp_path):
    body, how = lines(tmp_path, "conv", f"{CONV}, padding: [[1, 0]]", COMPILED)
    assert (body, how) == (
        [
            "@torch.compile(fullgraph=True)",
            "def forward(x, kernel, bias):",
            "x = F.pad(x, (1, 0))",
            "x = F.conv1d(x, kernel, bias)",
            "return x",
            "x = forward(x, kernel, bias)",
        ],
        "padded",
    )


def test_gradient_goes_through_the_compiled_function(tmp_path):
    body, _ = lines(tmp_path, "max_pool_grad", f"{PLANE}, {GRAD}, window: 2", COMPILED)
    assert body == [
        "leaf = x.requires_grad_()",
        "@torch.compile(fullgraph=True)",
        "def forward(x):",
        "x = F.max_pool2d(x, 2)",
        "return x",
        "x = forward(x)",
        "(x,) = torch.autograd.grad(x, leaf, grad)",
    ]


def test_kernel_of_many_lines_is_inside_the_compiled_function(tmp_path):
    text = "id: a, x: {values: integers, shape: [1, 1, 7, 7]}, window: 3, via: [conv, relu]"
    program = translate(one(tmp_path, text), COMPILED)
    forward = ast.parse(program.text).body[0].body[1]
    assert isinstance(forward, ast.FunctionDef)
    assert ast.unparse(forward).count("np.array") > 1
    assert ast.unparse(ast.parse(program.text)).count("np.array") == ast.unparse(forward).count("np.array")


@pytest.mark.parametrize(("compiler", "exists"), [("python3-or-another", False), (sys.executable, True)])
def test_missing_compiler_is_reported(monkeypatch, compiler, exists):
    monkeypatch.setenv("CXX", compiler)
    assert (COMPILED.missing_requirement() is None) is exists
    assert exists or compiler in COMPILED.missing_requirement()
