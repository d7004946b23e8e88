"""Methods of `Tensor`: parameters that agree with the observed behaviour of tinygrad."""

import pytest

from tests.support.layer_calls import IMAGE, LINE, TAPS, WEIGHTS, case_of, check_case, check_rejected

SURFACE = "tinygrad.Tensor"
KERNEL_SHAPES = {"conv": (4, 3, 3, 2), "conv_transpose": WEIGHTS}
READ = [
    ("x.max_pool2d()", "max_pool", {"window": (2, 2), "stride": (2, 2)}),
    ("self.x.max_pool2d(3).realize()", "max_pool", {"window": (3, 3), "stride": (3, 3)}),
    ("Tensor.max_pool2d(x, (3, 2), padding=(1, 0))", "max_pool", {"padding": ((1, 1), (0, 0))}),
    ("x.max_pool2d((3, 2), padding=(1, 0, 0, 1))", "max_pool", {"padding": ((0, 1), (1, 0))}),
    ("x.max_pool2d(return_indices=True)[1].cast(dtypes.int64)", "max_pool_with_indices", {"output": "indices"}),
    ("x.avg_pool2d((3, 3), ceil_mode=True)", "avg_pool", {"count_include_pad": True, "rounding": "ceil"}),
    ("x.conv2d(w, b, 1, 2, padding=1)", "conv", {"stride": (2, 2), "padding": ((1, 1), (1, 1))}),
    (
        "x.conv_transpose2d(w, stride=(2, 3), padding=(0, 1, 1, 2), output_padding=1)",
        "conv_transpose",
        {"padding": ((1, 2), (0, 1)), "output_padding": (1, 1)},
    ),
    ("x.pad((1, 2, 0, -1), value=-3.5)", "pad", {"pads": ((0, -1), (1, 2)), "value": -3.5}),
    ("x.pad((None, None, (1, 2), (0, 3)), mode='replicate')", "pad", {"pads": ((1, 2), (0, 3)), "mode": "edge"}),
]


@pytest.mark.parametrize(("text", "operator", "parameters"), READ)
def test_calls_are_read_with_their_own_defaults(text, operator, parameters):
    check_case(case_of(SURFACE, text, IMAGE, KERNEL_SHAPES.get(operator)), operator, parameters)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("x.max_unpool2d(indices)", (14, 12)),
        ("x.max_unpool2d(indices, (3, 2), stride=2, padding=(1, 0))", (13, 12)),
        ("x.max_unpool2d(indices, output_size=(1, 3, 15, 13))", (15, 13)),
    ],
)
def test_unpooling_has_the_output_size_of_its_window(text, size):
    check_case(case_of("tinygrad.Tensor", text), "max_unpool", {"output_size": size})


def test_methods_of_tinygrad_take_any_number_of_axes():
    check_case(
        case_of("tinygrad.Tensor", "x.max_pool2d((3,), padding=(1, 0))", LINE, None), "max_pool", {"padding": ((1, 0),)}
    )
    transposed = case_of("tinygrad.Tensor", "x.conv_transpose2d(w, padding=(1,))", LINE, TAPS)
    check_case(transposed, "conv_transpose", {"padding": ((1, 1),)})


REJECTED = [
    ("max_pool2d((2, 2))", None, None, "'max_pool2d' is a method: x.max_pool2d(…)"),
    ("x.max_pool2d((2, 2), padding=(1, 2, 3))", None, None, "neither an integer nor one or two for each of 2 axes"),
    ("x.pad((None, (1, 1), None))", None, None, "with None or (0, 0) for batch and channels"),
]


@pytest.mark.parametrize(("text", "shape", "kernel", "message"), REJECTED)
def test_call_without_equivalent_in_the_catalogue_is_rejected_with_one_line(text, shape, kernel, message):
    check_rejected(SURFACE, text, shape, kernel, message)
