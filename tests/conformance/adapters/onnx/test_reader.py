"""The reader of ONNX files. CONFORMANCE_ONNX_PYTHON is the path of a Python that has onnx."""

import os
import subprocess
import sys

import pytest

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.models.reading import ModelSource, read_model

PYTHON = os.environ.get("CONFORMANCE_ONNX_PYTHON", "")
needs_onnx = pytest.mark.skipif(not PYTHON, reason="CONFORMANCE_ONNX_PYTHON is not set")
PRELUDE = """\
import sys, numpy as np, onnx
from onnx import TensorProto as T, helper as h, numpy_helper as nh
def weights(name, *shape): return nh.from_array(np.arange(np.prod(shape), dtype='f4').reshape(shape), name)
def value(name, shape): return h.make_tensor_value_info(name, T.FLOAT, shape)
def save(nodes, x, initializers=(), **further):
    graph = h.make_graph(nodes, 'g', [value('x', x)], [value(nodes[-1].output[0], None)], list(initializers))
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid('', 21)], **further), sys.argv[1])
node = h.make_node
"""


def build(folder, body):
    """Return the path of a file that the interpreter with onnx writes."""
    path = folder / "m.onnx"
    subprocess.run([PYTHON, "-c", PRELUDE + body, path], check=True)
    return path


def read(path, **inputs):
    reader = registry.model_readers()["onnx"]
    return read_model(ModelSource(str(path), reader, PYTHON or sys.executable, inputs), 60.0)


def only(model):
    (layer,) = model.layers
    assert not layer.problem, layer.problem
    return layer


@needs_onnx
def test_pooling_has_the_parameters_of_its_node(tmp_path):
    body = "save([node('AveragePool', ['x'], ['y'], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 0, 1], "
    layer = only(read(build(tmp_path, body + "ceil_mode=1, count_include_pad=1)], [1, 4, 9, 9])")))
    assert layer.operator == "avg_pool"
    assert layer.parameters == {
        "window": (3, 2), "stride": (2, 1), "padding": ((1, 0), (0, 1)), "dilation": (1, 1), "rounding": "ceil",
        "count_include_pad": True,
    }  # fmt: skip


@needs_onnx
def test_omitted_attributes_have_the_defaults_of_the_specification(tmp_path):
    layer = only(read(build(tmp_path, "save([node('MaxPool', ['x'], ['y'], kernel_shape=[3])], ['n', 4, 9])")))
    assert layer.shape == (1, 4, 9)
    assert layer.parameters["stride"] == (1,)
    assert layer.parameters["padding"] == ((0, 0),)


@needs_onnx
def test_a_convolution_has_its_weights_and_its_window_from_their_shape(tmp_path):
    body = "save([node('Conv', ['x', 'w', 'b'], ['y'], group=2, auto_pad='SAME_LOWER')], [1, 4, 9, 9], "
    layer = only(read(build(tmp_path, body + "[weights('w', 6, 2, 3, 3), weights('b', 6)])")))
    assert (layer.kernel, layer.bias, layer.parameters["groups"]) == ((6, 2, 3, 3), True, 2)
    assert layer.parameters["padding"] == "same_lower"
    assert layer.weights["kernel"][1][0][0] == [18, 19, 20]


@needs_onnx
@pytest.mark.parametrize(
    ("attributes", "problem"),
    [("kernel_shape=[3], auto_pad='same'", "auto_pad is b'same'"), ("strides=[2]", "it has no kernel_shape")],
)
def test_a_pooling_without_valid_attributes_is_a_problem(tmp_path, attributes, problem):
    model = read(build(tmp_path, f"save([node('MaxPool', ['x'], ['y'], {attributes})], [1, 4, 9])"))
    assert [one.problem for one in model.layers] == [problem]


@needs_onnx
def test_the_pads_of_a_transposed_convolution_follow_from_its_output_shape(tmp_path):
    body = "save([node('ConvTranspose', ['x', 'w'], ['y'], strides=[2], output_shape=[9])], [1, 2, 5], "
    layer = only(read(build(tmp_path, body + "[weights('w', 2, 3, 4)])")))
    # 2·4 + 4 = 12 cells, 3 of which are cut; NOTSET puts the odd one before.
    assert layer.parameters["padding"] == ((2, 1),)


@needs_onnx
def test_pads_come_from_a_constant_and_those_of_channels_are_no_layer(tmp_path):
    body = """\
pads = nh.from_array(np.array([0, 0, 1, 2, 0, 0, 3, 4]), 'p')
more = nh.from_array(np.array([0, 1, 0, 0, 0, 0, 0, 0]), 'q')
save([node('Pad', ['x', 'p'], ['y'], mode='reflect'), node('Pad', ['y', 'q'], ['z'])], [1, 2, 8, 8], [pads, more])"""
    model = read(build(tmp_path, body))
    assert only(model).parameters == {"pads": ((1, 3), (2, 4)), "mode": "reflect"}
    assert model.others == {"Pad of batch or channels": 1}


@needs_onnx
def test_reductions_of_all_spatial_axes_are_global_pooling(tmp_path):
    body = """\
axes = nh.from_array(np.array([-1, 2]), 'a')
save([node('ReduceMean', ['x', 'a'], ['y']), node('ReduceMax', ['y', 'a'], ['z'], keepdims=1),
      node('ReduceMean', ['z'], ['w']), node('ReduceMean', ['w', 'b'], ['v'])],
     [1, 2, 8, 9], [axes, nh.from_array(np.array([3]), 'b')])"""
    model = read(build(tmp_path, body))
    assert [one.operator for one in model.layers] == ["global_avg_pool", "global_max_pool"]
    assert model.layers[0].shape == (1, 2, 8, 9)
    assert model.others == {"ReduceMean": 2}


@needs_onnx
def test_the_mean_of_the_features_of_a_sequence_is_no_pooling(tmp_path):
    body = "save([node('ReduceMean', ['x', 'a'], ['y'])], [1, 7, 8], [nh.from_array(np.array([2]), 'a')])"
    model = read(build(tmp_path, body))
    assert (model.layers, model.others) == ((), {"ReduceMean": 1})


@needs_onnx
def test_padding_with_infinity_is_a_problem_of_one_layer(tmp_path):
    body = """\
pads, least = nh.from_array(np.array([0, 0, 1, 0, 0, 1]), 'p'), nh.from_array(np.array(-np.inf, dtype='f4'), 'v')
nodes = [node('Pad', ['x', 'p', 'v'], ['y']), node('MaxPool', ['y'], ['z'], kernel_shape=[3])]
save(nodes, [1, 2, 8], [pads, least])"""
    found = read(build(tmp_path, body)).layers
    assert [bool(one.problem) for one in found] == [True, False]


@needs_onnx
def test_indices_of_max_pooling_are_a_second_layer(tmp_path):
    body = "save([node('MaxPool', ['x'], ['y', 'i'], kernel_shape=[2])], [1, 2, 8])"
    assert [one.operator for one in read(build(tmp_path, body)).layers] == ["max_pool_with_indices", "max_pool"]


@needs_onnx
def test_a_layer_in_a_branch_is_found(tmp_path):
    body = """\
inner = h.make_graph([node('GlobalMaxPool', ['x'], ['a'])], 'i', [], [value('a', None)])
other = h.make_graph([node('Identity', ['x'], ['b'])], 'o', [], [value('b', None)])
yes = nh.from_array(np.array(True), 'c')
save([node('If', ['c'], ['y'], then_branch=inner, else_branch=other)], [1, 2, 8], [yes])"""
    assert only(read(build(tmp_path, body))).operator == "global_max_pool"


@needs_onnx
def test_a_size_that_is_not_fixed_is_a_problem_until_the_user_gives_it(tmp_path):
    path = build(tmp_path, "save([node('GlobalMaxPool', ['x'], ['y'])], ['n', 3, 'h', 'w'])")
    assert "--input" in read(path).layers[0].problem
    assert only(read(path, x=(1, 3, 30, 40))).shape == (1, 3, 30, 40)
    with pytest.raises(ConformanceError, match="the input has 4 axes"):
        read(path, x=(1, 3))
    with pytest.raises(ConformanceError, match="the inputs of the model are x"):
        read(path, y=(1, 3, 30, 40))


@needs_onnx
def test_quantized_and_region_layers_are_listed_as_not_checked(tmp_path):
    model = read(build(tmp_path, "save([node('DeformConv', ['x', 'x', 'x'], ['y'])], [1, 3, 8, 8])"))
    assert [one.problem for one in model.layers] == ["deformable convolutions are not checked"]


@needs_onnx
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("open(sys.argv[1], 'wb').write(b'')", "a graph without nodes"),
        ("open(sys.argv[1], 'wb').write(b'\\xff' * 999)", "not an ONNX file"),
        ("open(sys.argv[1], 'wb').write(b'PK' + bytes(99))", "not an ONNX file"),
        ("save([node('Relu', ['b'], ['a']), node('Relu', ['a'], ['b'])], [1])", "which no earlier node computes"),
        ("save([node('Relu', ['y'], ['y'])], [1])", "which no earlier node computes"),
        (
            "graph = h.make_graph([node('Relu', ['x'], ['a'])], 'g', [], [])\n"
            "for _ in range(20): graph = h.make_graph([node('Loop', ['', ''], ['a'], body=graph)], 'g', [], [])\n"
            "open(sys.argv[1], 'wb').write(h.make_model(graph).SerializeToString())",
            "nested too deeply",
        ),
        *(
            (
                f"graph = h.make_graph([node('Relu', ['x'], ['y'])], 'g', [value('x', [1])], [value('y', [1])])\n"
                f"model = h.make_model(graph, opset_imports=[h.make_opsetid('', {version})])\n"
                "open(sys.argv[1], 'wb').write(model.SerializeToString())",
                f"it uses opset {version}, onnx ",
            )
            for version in (2**60, -1, 0, 10_000)
        ),
    ],
)
def test_a_broken_file_is_an_error_in_one_line(tmp_path, body, message):
    with pytest.raises(ConformanceError) as caught:
        read(build(tmp_path, body))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@needs_onnx
def test_a_truncated_file_is_an_error(tmp_path):
    path = build(tmp_path, "save([node('Conv', ['x', 'w'], ['y'])], [1, 4, 9], [weights('w', 4, 4, 3)])")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ConformanceError, match="not an ONNX file"):
        read(path)


@needs_onnx
def test_external_data_outside_the_folder_is_never_opened(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(range(36)))
    folder = tmp_path / "inner"
    folder.mkdir()
    body = """\
w = T.__class__ and onnx.TensorProto(name='w', data_type=1, dims=[1, 1, 9], data_location=onnx.TensorProto.EXTERNAL)
w.external_data.add(key='location', value='../secret')
graph = h.make_graph([node('Conv', ['x', 'w'], ['y'])], 'g', [value('x', [1, 1, 20])], [value('y', None)], [w])
open(sys.argv[1], 'wb').write(h.make_model(graph, opset_imports=[h.make_opsetid('', 21)]).SerializeToString())"""
    layer = only(read(build(folder, body.replace("T.__class__ and ", ""))))
    assert layer.kernel == (1, 1, 9)
    assert layer.weights == {}


@needs_onnx
def test_huge_extents_are_refused_or_shortened_without_memory(tmp_path):
    path = build(tmp_path, "save([node('MaxPool', ['x'], ['y'], kernel_shape=[3])], [1, 4, 2**40])")
    assert "above the limit" in read(path).layers[0].problem


@needs_onnx
def test_every_node_is_listed_with_the_values_that_it_reads(tmp_path):
    body = "save([node('Identity', ['w'], ['v'], name='copy'), node('Conv', ['x', 'v'], ['a'], name='c'), "
    model = read(
        build(tmp_path, body + "node('Relu', ['a'], ['y'], name='r')], [1, 2, 9, 9], [weights('w', 6, 2, 3, 3)])")
    )
    assert [(one.name, one.kind, one.inputs) for one in model.nodes] == [
        ("copy", "Identity", ()), ("c", "Conv", ("x",)), ("r", "Relu", ("a",)),
    ]  # fmt: skip
    assert model.is_chain


@needs_onnx
def test_a_normalization_has_its_attributes_or_the_defaults_of_the_specification(tmp_path):
    body = (
        "four = [weights(n, 4) for n in 'smbv']; save([node('BatchNormalization', ['x', *'smbv'], ['z'], epsilon=0.5),"
    )
    body += "node('BatchNormalization', ['z', *'smbv'], ['y'])], [1, 4, 9, 9], four)"
    settings = read(build(tmp_path, body)).settings
    assert settings == {"BatchNormalization": [{"epsilon": 0.5, "momentum": 0.9}, {"epsilon": 1e-5, "momentum": 0.9}]}


@needs_onnx
def test_an_activation_has_its_words_and_numbers(tmp_path):
    nodes = (
        "node('Gelu', ['x'], ['a'], approximate='tanh'), node('Gelu', ['a'], ['b']), node('HardSigmoid', ['b'], ['y'])"
    )
    settings = read(build(tmp_path, f"save([{nodes}], [1, 4, 9, 9])")).settings
    assert settings == {"Gelu": [{"approximate": "tanh"}, {"approximate": "none"}], "HardSigmoid": [{"alpha": 0.2}]}


@needs_onnx
def test_a_function_of_the_model_is_replaced_by_its_nodes(tmp_path):
    body = """\
ids = [h.make_opsetid('', 21), h.make_opsetid('own', 1)]
function = h.make_function('own', 'F', ['a'], ['b'], [node('MaxPool', ['a'], ['b'], kernel_shape=[3])], ids)
graph = h.make_graph([node('F', ['x'], ['y'], domain='own')], 'g', [value('x', [1, 4, 9])], [value('y', None)])
onnx.save(h.make_model(graph, opset_imports=ids, functions=[function]), sys.argv[1])"""
    layer = only(read(build(tmp_path, body)))
    assert (layer.operator, layer.parameters["window"]) == ("max_pool", (3,))
