"""The module `columns` of the adapter for ncnn."""

from conformance.adapters.api.blocks.recipes import NO_RANK
from conformance.adapters.ncnn.columns import NO_CROP, OTHER_ORDER, columns
from conformance.cases.steps import Step

PLANE = {"window": (2, 3), "stride": (2, 1), "padding": ((1, 2), (0, 0)), "dilation": (1, 1), "order": "crd"}
ROW = {"window": (3,), "stride": (1,), "padding": ((1, 0),), "dilation": (2,), "order": "crd"}


def unfold(shape=(1, 2, 5, 4), **parameters):
    return columns(Step("unfold", shape, "float32", {**PLANE, **parameters}))


def test_parameters_of_the_width_come_first():
    network, reshape = unfold()
    assert '"Unfold", "1=3 11=2 2=1 12=1 3=1 13=2 4=0 14=1 15=0 16=2"' in network
    assert reshape == "x = x.reshape(1, 12, 4, 2)"


def test_a_row_is_a_plane_whose_height_has_no_padding():
    first, network, reshape = columns(Step("unfold", (1, 2, 6), "float32", ROW))
    assert first == "x = x[:, :, None]"
    assert '"1=3 11=1 2=2 12=1 3=1 13=1 4=1 15=0 14=0 16=0"' in network
    assert reshape == "x = x.reshape(1, 6, 3)"


def test_fold_takes_the_size_of_its_output():
    step = Step("fold", (1, 12, 4, 2), "float32", {**PLANE, "output_size": (5, 4)})
    reshape, network = columns(step)
    assert reshape == "x = x.reshape(1, 12, 8)"
    assert '"Fold"' in network
    assert '20=4 21=5"' in network


def test_other_columns_are_not_written():
    assert unfold(order="dcr") is OTHER_ORDER
    assert unfold(padding=((-1, 0), (0, 0))) is NO_CROP
    assert unfold((1, 2, 5, 4, 3), window=(1, 1, 1), padding=((0, 0),) * 3) is NO_RANK
