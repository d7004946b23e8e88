"""Signatures of layers: names, ranks and arguments with their defaults."""

import pytest

from conformance.adapters.api import BoundCall, Dialect, LayerSignature, UnreadableLayer

POOL = LayerSignature("Pool{rank}d|Max3d(size, stride=None, *, pad=0)", "max_pool", ignored_arguments=("name", "pad"))


def test_names_have_the_rank_of_their_digit():
    assert POOL.names == [("Pool1d", 1), ("Pool2d", 2), ("Pool3d", 3), ("Max3d", 3)]
    assert LayerSignature("pool2d(size)", "max_pool", has_rank_in_name=False).names == [("pool2d", None)]


def test_arguments_have_the_defaults_of_the_signature():
    parameters = POOL.parameters.parameters
    assert list(parameters) == ["size", "stride", "pad"]
    assert parameters["size"].default is parameters["size"].empty
    assert (parameters["stride"].default, parameters["pad"].default) == (None, 0)
    assert parameters["pad"].kind is parameters["pad"].KEYWORD_ONLY


def test_dialect_finds_a_layer_by_each_of_its_names():
    dialect = Dialect(("nn",), (POOL,))
    assert dialect.layers_by_name["Pool2d"] == [(POOL, 2)]
    assert dialect.layers_by_name["Max3d"] == [(POOL, 3)]


def test_argument_that_any_layer_reads_is_not_ignored():
    assert Dialect(("nn",), (POOL,)).syntax.ignored_arguments == {"name"}


@pytest.mark.parametrize(
    ("rank", "value", "shape", "axes"),
    [(3, (1,), (1, 1, 2), 3), (None, (1, 2), (1, 1, 2), 2), (None, 1, (1, 1, 2), 1), (None, 1, None, 2)],
)
def test_number_of_axes_is_that_of_the_name_the_value_or_the_input(rank, value, shape, axes):
    assert BoundCall("Pool", rank, {}, frozenset(), shape).spatial_axes(value) == axes


def test_missing_shapes_are_reported_with_the_option_that_gives_them():
    call = BoundCall("Pool", 1, {}, frozenset())
    with pytest.raises(UnreadableLayer, match="the size depends on the size of the input: add --shape"):
        call.input_extents("the size")
    with pytest.raises(UnreadableLayer, match="the size depends on the size of the kernel: add --kernel-shape"):
        call.weight_shape("the size")
