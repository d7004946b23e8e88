"""The module `options` of LiteRT."""

from conformance.adapters.api import Unsupported
from conformance.adapters.litert.options import axis_options, padding_option, through_plane
from conformance.cases.steps import Step

ROW = Step("max_pool", (1, 2, 6), "float32", {"window": (3,), "stride": (1,), "padding": ((1, 1),), "dilation": (1,)})


def test_options_have_one_name_for_each_axis():
    assert axis_options("dilation", (1, 2, 3), "Factor") == {
        "dilationDFactor": "1",
        "dilationHFactor": "2",
        "dilationWFactor": "3",
    }


def test_padding_is_valid_or_same():
    assert padding_option(ROW) == "schema.Padding.SAME"
    assert padding_option(ROW.with_parameters(padding=((0, 0),))) == "schema.Padding.VALID"
    assert isinstance(padding_option(ROW.with_parameters(padding=((2, 2),))), Unsupported)
    assert isinstance(padding_option(ROW.with_parameters(padding=((0, 0), (0, 0)))), Unsupported)


def test_a_rejected_call_of_one_axis_is_a_plane_too():
    rejected = through_plane(lambda _step: Unsupported("no", rejected_call="call"))(ROW)
    assert rejected.rejected_call[1] == "x = call"
    assert "EXPAND_DIMS" in rejected.rejected_call[0]
