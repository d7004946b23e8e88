"""The module `channels_last` of PyTorch."""

import pytest

from conformance.translation.lowering import translate
from tests.conformance.adapters.torch.programs import GRAD, LAST, PLANE, ROW, lines, reason

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
