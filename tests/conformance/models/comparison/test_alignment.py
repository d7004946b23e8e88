import numpy as np
import pytest

from conformance.models.comparison.alignment import align_layers, name_words
from conformance.models.comparison.compare import Place, compare_models
from conformance.models.comparison.layers import find_layers
from conformance.models.comparison.recording import RecordedModel, RecordedRun
from conformance.models.comparison.source import ModelSource
from tests.conformance.models.comparison.test_layers import call
from tests.support.recorded_models import Recording

NAMES = {
    "torch": ("conv1", "layer1.0.conv1", "layer1.0.conv2", "layer1.1.conv1"),
    "onnx": (
        "/conv1/Conv",
        "/layer1/layer1.0/conv1/Conv",
        "/layer1/layer1.0/conv2/Conv",
        "/layer1/layer1.1/conv1/Conv",
    ),
    "keras": ("conv1", "layer1_0_conv1", "layer1_0_conv2", "layer1_1_conv1"),
    "flax": ("Conv_0", "layer1_0/Conv_0", "layer1_0/Conv_1", "layer1_1/Conv_0"),
}


def test_a_layer_without_partner_is_left_out():
    layers = find_layers([call("max_pool", window=(2, 2)), call("avg_pool", window=(2, 2))])
    others = find_layers([call("avg_pool", window=(2, 2))])
    found = align_layers(layers, others)
    assert [(one.call.operator, two.call.operator) for one, two in found.pairs] == [("avg_pool", "avg_pool")]
    assert [(number, one.call.operator) for number, one in found.only_in_source] == [(0, "max_pool")]
    assert not found.only_in_port


def test_layers_with_other_shapes_are_paired_by_what_they_compute():
    layers = find_layers([call("max_pool", window=(2, 2)), call("global_avg_pool"), call("avg_pool", window=(5, 5))])
    others = find_layers([call("max_pool", window=(3, 3)), call("avg_pool", window=(5, 5))])
    found = align_layers(layers, others)
    assert len(found.pairs) == 2
    assert found.pairs[0][0].call.operator == "max_pool"


@pytest.mark.parametrize(
    "name", ["layer1.0.conv1", "layer1_0_conv1", "layer1/0/conv1", "layer1_0/Conv_0", "layer1.0.Conv2d_0"]
)
def test_names_of_one_layer_have_the_same_words(name):
    assert name_words(name) == ("layer", "1", "0", "conv", "1")


def network(names, *, leave_out="", weights=True):
    """Return convolutions of equal shapes, with their own weights or with the same."""
    x, layers = np.ones((1, 4, 5, 5), np.float32), []
    for number, name in enumerate(names):
        kernel = np.random.default_rng(number if weights else 0).normal(size=(4, 4, 3, 3)).astype(np.float32)
        if name != leave_out:
            layers.append(call("conv", x, name, kernel=kernel, padding=((1, 1), (1, 1))))
    return find_layers(layers)


def paired(source, port):
    return [(one.name, other.name) for one, other in align_layers(source, port).pairs]


@pytest.mark.parametrize("framework", NAMES)
@pytest.mark.parametrize("missing", range(4))
@pytest.mark.parametrize("side", ["source", "port"])
def test_a_missing_layer_does_not_shift_the_pairs(framework, missing, side):
    """The shapes of all layers are equal, so their names say which one is missing."""
    source, port = (network(NAMES[one], weights=False) for one in ("torch", framework))
    both = paired(source, port)
    assert both == list(zip(NAMES["torch"], NAMES[framework], strict=True))
    (source if side == "source" else port).pop(missing)
    assert paired(source, port) == [pair for number, pair in enumerate(both) if number != missing]


def test_the_weights_say_which_layer_is_missing_if_names_do_not():
    source, port = network(["a", "b", "c", "d"]), network(["conv", "conv", "leave out", "conv"], leave_out="leave out")
    found = align_layers(source, port)
    assert [one.name for one, _ in found.pairs] == ["a", "b", "d"]
    assert [(number, one.name) for number, one in found.only_in_source] == [(2, "c")]
    assert not found.only_in_port


def test_branches_in_another_order_are_paired():
    source = network(["first", "second", "shortcut"])
    port = [source[2], *source[:2]]
    assert paired(source, port) == [(one, one) for one in ("first", "second", "shortcut")]
    found = [(layer.name, other.name) for layer, other in align_layers(source, port).earlier_in_port]
    assert found == [("shortcut", "second")]
    assert not align_layers(source, source).earlier_in_port


def test_the_alignment_of_many_layers_is_fast():
    source = network([f"block{number}.conv" for number in range(1000)], weights=False)
    assert len(align_layers(source, source[:500] + source[501:]).pairs) == 999


BLOCKS = 3


def bottleneck(*, moved=(), without=""):
    """Return the record of a network of bottleneck blocks. moved: blocks whose stride is in the first convolution."""
    op, x = Recording(), np.arange(1, 2 * 4 * 32 * 32 + 1, dtype=np.float32).reshape(2, 4, 32, 32) % 7 - 3
    for block in range(BLOCKS):
        rng = np.random.default_rng(block)
        kernels = [rng.integers(-2, 3, (4, 4, *window)).astype(np.float32) for window in ((1, 1), (3, 3), (1, 1))]
        strides = ((2, 2), (1, 1)) if block in moved else ((1, 1), (2, 2))
        y = op(f"{block}.conv1", "conv", x, kernel=kernels[0], stride=strides[0])
        y = op(f"{block}.conv2", "conv", y, kernel=kernels[1], stride=strides[1], padding=((1, 1), (1, 1)))
        if without != f"{block}.conv3":
            y = op(f"{block}.conv3", "conv", y, kernel=kernels[2])
        x = np.sign(y) + op(f"{block}.shortcut", "conv", x, kernel=kernels[2], stride=(2, 2)) % 5
    return RecordedModel(ModelSource("numpy", "net.py", "make"), [RecordedRun(op.calls, [x], [0.0])])


@pytest.mark.parametrize("moved", [(0,), (1,), (0, 1, 2)])
def test_exactly_the_layers_whose_stride_was_moved_differ(moved):
    (found,) = compare_models(bottleneck(), bottleneck(moved=moved), ["integers"])
    assert [one.source.name for one in found.layers if not one.agrees] == [
        f"{block}.{name}" for block in moved for name in ("conv1", "conv2")
    ]
    assert all(one.source.name == one.port.name for one in found.layers)
    assert found.first.reasons == ["stride: 1 x 1 in the source, 2 x 2 in the port"]


@pytest.mark.parametrize("is_extra", [True, False])
def test_a_layer_without_partner_is_the_reason_of_the_difference(is_extra):
    models = [bottleneck(), bottleneck(without="1.conv3")]
    (found,) = compare_models(*(reversed(models) if is_extra else models), ["integers"])
    assert all(one.source.name == one.port.name and one.agrees for one in found.layers)
    assert found.first.place is Place.BETWEEN
    own, other = ("port", "source") if is_extra else ("source", "port")
    assert found.first.reasons == [f"layer 1.conv3 of the {own} has no partner in the {other}"]


def test_a_pooling_that_computes_another_function_is_the_partner_of_the_only_one_in_its_place():
    layers = []
    for operator in ("max_pool", "avg_pool"):
        op = Recording()
        y = op("one", "conv", np.ones((1, 2, 6, 6), np.float32), kernel=np.ones((2, 2, 1, 1), np.float32))
        op("two", "conv", op("pool", operator, y, window=(2, 2)), kernel=np.ones((2, 2, 2, 2), np.float32))
        layers.append(find_layers(op.calls))
    aligned = align_layers(*layers)
    assert [(one.name, two.call.operator) for one, two in aligned.pairs][1] == ("pool", "avg_pool")
    assert not aligned.only_in_source
    assert not aligned.only_in_port


def test_poolings_of_branches_in_another_order_are_paired():
    x, kernels = np.arange(72, dtype=np.float32).reshape(1, 2, 6, 6), np.arange(8, dtype=np.float32)
    layers = []
    for order in ("one pool two", "pool one two"):
        op = Recording()
        for name in order.split():
            number = ("one", "two").index(name) if name != "pool" else 0
            kernel = kernels[4 * number : 4 * number + 4].reshape(2, 2, 1, 1)
            given = {"window": (3, 3)} if name == "pool" else {"kernel": kernel}
            op("", "max_pool" if name == "pool" else "conv", x, **given)
        layers.append(find_layers(op.calls))
    aligned = align_layers(*layers)
    assert [one.call.operator for one, _ in aligned.pairs] == ["conv", "max_pool", "conv"]
    assert not aligned.only_in_port


@pytest.mark.parametrize("names", ["", "abc"])
def test_branches_with_other_weights_in_reverse_order_are_paired(names):
    """The order-preserving pairs would be those of layers with other weights, which is no mistake of a port."""
    x, rng = np.arange(72, dtype=np.float32).reshape(1, 2, 6, 6), np.random.default_rng(3)
    kernels = [rng.standard_normal((count, 2, 1, 1)).astype(np.float32) for count in (3, 4, 3)]
    layers = []
    for order in ([0, 1, 2], [2, 1, 0]):
        op = Recording()
        for number in order:
            op(names[number : number + 1], "conv", x, kernel=kernels[number])
        layers.append(find_layers(op.calls))
    pairs = align_layers(*layers).pairs
    assert all(np.array_equal(one.call.inputs["kernel"], two.call.inputs["kernel"]) for one, two in pairs)
    assert len(pairs) == 3


def test_exchanged_weights_of_two_layers_are_no_other_order():
    x, rng = np.arange(72, dtype=np.float32).reshape(1, 2, 6, 6), np.random.default_rng(3)
    kernels = [rng.standard_normal((2, 2, 1, 1)).astype(np.float32) for _ in range(2)]
    layers = []
    for order in ([0, 1], [1, 0]):
        op = Recording()
        op("two", "conv", op("one", "conv", x, kernel=kernels[order[0]]), kernel=kernels[order[1]])
        layers.append(find_layers(op.calls))
    assert [(one.name, two.name) for one, two in align_layers(*layers).pairs] == [("one", "one"), ("two", "two")]
