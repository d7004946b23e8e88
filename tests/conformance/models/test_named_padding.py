"""Notes about padding that the model computes from the size of its input."""

import pytest

from conformance.catalogue import describe
from conformance.models.layer import ModelLayer
from conformance.models.named_padding import SIZE_NOTE, size_note
from conformance.models.records import audit_record
from reports.analysis.audits import remarks_of
from reports.results.audits import LayerVerdict
from tests.conformance.models.test_audit import audited

TORCH, KERAS = (describe.surfaces_by_name()[name][1] for name in ("torch.nn", "keras-jax.layers"))
NUMPY, LOOPS = describe.surfaces_by_name()["numpy.loops"]


def layer(padding=((0, 1),), extent=8, word="same", stride=(2,)):
    parameters = {"stride": stride, "padding": padding, "dilation": (1,), "groups": 1}
    return ModelLayer("conv", "conv", parameters, (1, 2, extent), kernel=(3, 2, 3), padding_word=word)


def test_numbers_in_place_of_the_word_are_right_for_some_sizes():
    assert size_note(layer(), TORCH) == f"{SIZE_NOTE} for 6, 8, 10, not for 7, 9"
    assert size_note(layer(((1, 1),), 9), TORCH) == f"{SIZE_NOTE} for 7, 9, 11, not for 8, 10"


def test_a_call_with_the_word_is_right_for_all_sizes():
    assert size_note(layer(), KERAS) == ""


@pytest.mark.parametrize("target", ["onnxruntime", "flax.linen", "jax.lax", "opencv", "openvino.opset", "ncnn"])
def test_a_target_that_has_the_word_in_one_call_needs_no_numbers(target):
    surface = describe.surfaces_by_name()[target][1]
    pooling = {"window": (3,), "stride": (2,), "padding": ((0, 1),)}
    assert size_note(layer(), surface) == ""
    assert size_note(ModelLayer("pool", "max_pool", pooling, (1, 2, 8), padding_word="same"), surface) == ""


def test_a_word_of_a_call_that_depends_on_the_numbers_is_none_for_the_padding():
    mlx = describe.surfaces_by_name()["mlx.nn"][1]
    assert SIZE_NOTE in size_note(layer(), mlx)


@pytest.mark.parametrize("one", [layer(word="valid"), layer(((1, 1),), stride=(1,)), layer(word="")])
def test_padding_that_does_not_depend_on_the_size_has_no_note(one):
    assert size_note(one, TORCH) == ""


def test_the_word_of_a_case_counts():
    assert size_note(layer("same_lower", word=""), TORCH) == f"{SIZE_NOTE} for 6, 8, 10, not for 7, 9"


def padded(word="same", stride=(2,)):
    conv = layer(((0, 0),), 9, word="", stride=stride)
    return ModelLayer(
        "conv", "pad", {"pads": ((0, 1),), "mode": "constant", "value": 0}, (1, 2, 8), following=conv, padding_word=word
    )


def test_a_padding_that_a_layer_computes_before_its_convolution_has_the_note():
    assert size_note(padded(), TORCH) == f"{SIZE_NOTE} for 6, 8, 10, not for 7, 9"
    assert size_note(padded(), KERAS) == size_note(padded(), TORCH)
    assert size_note(padded(word=""), TORCH) == ""
    assert size_note(padded(stride=(1,)), TORCH) == ""


def test_the_report_has_the_note():
    found = audited([layer()], LOOPS, on=NUMPY)
    (remark,) = remarks_of(audit_record(found))
    assert (remark.verdict, remark.text) == (LayerVerdict.SAME, size_note(layer(), LOOPS))
    assert SIZE_NOTE in remark.text
