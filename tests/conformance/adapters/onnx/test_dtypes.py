"""The module `dtypes` of ONNX."""

from conformance.translation.lowering import translate
from tests.conformance.adapters.onnx.programs import both, nodes


@both
def test_conventions_about_other_dtypes_use_the_node(catalogue, surface):
    program = translate(catalogue.by_id["max_pool/integers-in-int32"], surface)
    assert nodes(program) == ['"MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2]']
