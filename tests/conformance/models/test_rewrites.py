from conformance.catalogue import describe
from conformance.models.audit import (
    Audit,
    AuditedLayer,
    LayerVerdict,
    TargetVerdict,
    questions_of_model,
)
from conformance.models.layer import Model, ModelLayer
from conformance.models.rewrites import case_of_layer, rewrite_lines, rewrite_reason

CONV = {"stride": (2, 2), "padding": "same_upper", "dilation": (1, 1), "groups": 1}
LAYER = ModelLayer("stem", "conv", CONV, (1, 4, 8, 8), kernel=(6, 4, 3, 3), bias=True)
TARGET = describe.surfaces_by_name()["torch.nn"]


def lines(layer, how="padded"):
    """Return the printed rewrites of a layer that torch.nn computes in this way."""
    (questions,) = questions_of_model(Model("m", "onnx.reference", (layer,)))
    verdicts = {"torch.nn": TargetVerdict(LayerVerdict.REWRITE, how)}
    audited = AuditedLayer(questions.layers, questions.checked, "", verdicts)
    return "\n".join(rewrite_lines(Audit(Model("m", "", (layer,)), ("torch.nn",), (audited,)), [TARGET], 110))


def test_the_program_has_all_channels_of_the_layer_and_its_name():
    text = lines(LAYER)
    assert "# stem" in text
    assert "nn.Conv2d(4, 6, 3" in text
    assert "ConstantPad2d((0, 1, 0, 1)" in text


def test_a_layer_that_is_one_call_is_not_printed():
    assert lines(LAYER, "native") == ""


def test_a_layer_that_is_too_large_for_a_case_is_printed_with_fewer_channels():
    large = ModelLayer("stem", "conv", CONV, (1, 4096, 64, 64), kernel=(8192, 4096, 3, 3))
    assert "nn.Conv2d(" in lines(large)


def test_the_reason_of_a_rewrite_is_that_of_the_adapter():
    (questions,) = questions_of_model(Model("m", "", (LAYER,)))
    assert rewrite_reason(questions, TARGET[1]) == "convolution has one padding for both ends of an axis"


def test_the_case_of_a_layer_has_its_parameters():
    case = case_of_layer(LAYER)
    assert case.parameters["padding"] == ((0, 1), (0, 1))
    assert case.inputs["kernel"].shape == (6, 4, 3, 3)


def test_the_first_layer_of_a_network_has_its_own_size():
    # The reference would take too long for its 1.9 billion terms, and computes nothing here.
    parameters = {"stride": (2, 2), "padding": ((3, 3), (3, 3)), "dilation": (1, 1), "groups": 1}
    case = case_of_layer(ModelLayer("conv1", "conv", parameters, (1, 3, 224, 224), kernel=(64, 3, 7, 7)))
    assert (case.shape, case.inputs["kernel"].shape) == ((1, 3, 224, 224), (64, 3, 7, 7))
