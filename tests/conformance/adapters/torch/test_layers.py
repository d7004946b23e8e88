"""Layers and functions of PyTorch: parameters that agree with the observed behaviour of PyTorch."""

import pytest

from tests.support.layer_calls import IMAGE, LINE, case_of, check_case, check_rejected

NN, F = "torch.nn", "torch.nn.functional"
READ = [
    (NN, "nn.MaxPool2d(2, return_indices=True)(x)[1]", "max_pool_with_indices", {"output": "indices"}),
    (NN, "nn.LPPool2d(4, (3, 2))", "lp_pool", {"p": 4, "window": (3, 2), "stride": (3, 2)}),
    (NN, "nn.AdaptiveMaxPool2d((None, 2))", "adaptive_max_pool", {"output_size": (7, 2)}),
    (NN, "nn.MaxUnpool2d(3, stride=2, padding=1)(x, indices)", "max_unpool", {"output_size": (13, 11)}),
    (NN, "nn.ReplicationPad2d((1, 0, 2, 3))", "pad", {"pads": ((2, 3), (1, 0)), "mode": "edge"}),
    (F, "F.max_pool2d(x, 3, 2, 1, 1, True)", "max_pool", {"padding": ((1, 1), (1, 1)), "rounding": "ceil"}),
    (F, "F.avg_pool2d(x, 2, count_include_pad=False)", "avg_pool", {"count_include_pad": False, "stride": (2, 2)}),
    (F, "F.pad(x, (1, 2), mode='circular')", "pad", {"pads": ((0, 0), (1, 2)), "mode": "wrap"}),
]


@pytest.mark.parametrize(("surface", "text", "operator", "parameters"), READ)
def test_layers_and_functions_are_read_with_their_own_defaults(surface, text, operator, parameters):
    check_case(case_of(surface, text, IMAGE), operator, parameters)


def test_padding_by_name_of_a_convolution_is_computed_from_the_kernel():
    found = case_of(F, "F.conv1d(x, w, padding='same')", LINE, (3, 3, 4))
    check_case(found, "conv", {"padding": ((1, 2),), "groups": 1})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nn.MaxPool2d((2, 2, 2))", "3 numbers for 2 spatial axes"),
        ("nn.Conv2d(3, 4, 2, padding_mode='mirror')", "padding_mode='mirror'"),
        ("nn.AdaptiveMaxPool2d((2, 2.5))", "neither a whole number nor one for each spatial axis"),
        ("nn.FractionalMaxPool2d(2, output_ratio=0.5)", "output_ratio=0.5"),
    ],
)
def test_layer_without_equivalent_in_the_catalogue_is_rejected_with_one_line(text, message):
    check_rejected(NN, text, IMAGE, None, message)


@pytest.mark.parametrize(
    ("arguments", "mode", "pads"),
    [
        ("3, padding=1, padding_mode='reflect'", "reflect", ((1, 1), (1, 1))),
        ("3, padding=(1, 2), padding_mode='replicate'", "edge", ((1, 1), (2, 2))),
        ("2, padding=1, padding_mode='circular'", "wrap", ((1, 1), (1, 1))),
        ("(2, 3), padding='same', dilation=2, padding_mode='circular'", "wrap", ((1, 1), (2, 2))),
        ("(2, 3), padding='same', padding_mode='reflect'", "reflect", ((0, 1), (1, 1))),
    ],
)
def test_padding_mode_of_a_convolution_is_read_as_padding_first(arguments, mode, pads):
    case = case_of(NN, f"nn.Conv2d(2, 4, {arguments}, bias=False)", (1, 2, 8, 9))
    assert (case.operator, case.parameters["mode"], case.parameters["pads"]) == ("pad", mode, pads)
    assert [step.operator for step in case.then] == ["conv"]


@pytest.mark.parametrize(
    "arguments", ["padding=1", "padding_mode='reflect'", "padding='valid', padding_mode='circular'"]
)
def test_convolution_that_pads_nothing_or_with_zeros_is_one_step(arguments):
    case = case_of(NN, f"nn.Conv2d(2, 4, 3, {arguments})", (1, 2, 8, 9))
    assert (case.operator, case.then) == ("conv", ())
