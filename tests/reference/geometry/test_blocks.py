"""However an operation is cut into blocks, the result is the same; and the certainty check is off only on request."""

import ml_dtypes
import numpy as np
import pytest

import reference
from reference import Windows
from reference.arithmetic import exact as exact_module
from reference.arithmetic.certainty import is_certainty_checked, without_certainty_check
from reference.geometry import blocks as blocks_module
from reference.geometry.bins import Bins
from reference.geometry.blocks import split_into_blocks
from tests import ROOT

POOLS = ["max_pool", "min_pool", "avg_pool"]
DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.int8, np.uint32]
GEOMETRIES = [
    ((3, 5, 11, 7), {"window": 3, "stride": 2, "padding": 1}),
    ((3, 5, 11, 7), {"window": (5, 2), "stride": 1, "padding": ((4, 2), (0, 1)), "rounding": "ceil"}),
    ((2, 3, 12, 9), {"window": (3, 2), "stride": (4, 3), "dilation": (2, 1), "rounding": "full"}),
    ((2, 3, 12, 9), {"window": 2, "stride": 3, "padding": ((-2, -1), (3, -4)), "rounding": "full"}),
    ((2, 3, 4, 5), {"window": (2, 1), "stride": 1, "padding": ((9, 8), (2, 0))}),
    ((2, 1, 40), {"window": 7, "stride": 1, "padding": 3}),
    ((2, 1, 41), {"window": 4, "stride": 2, "padding": ((1, 3),)}),
    ((1, 2, 6, 5, 4), {"window": 2, "stride": (1, 2, 1), "padding": (1, 0, 1)}),
    ((2, 2, 9, 9), {"window": 9}),
    ((1, 1, 30), {"window": 26, "stride": 2}),
]


def values(shape, dtype):
    rng = np.random.default_rng(3)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    x = rng.standard_normal(shape).astype(dtype)
    x.flat[::23], x.flat[1::29] = 0.0, -0.0
    x.flat[5:6] = np.nan
    return x


def same(one, other):
    """The same bits of values and terms; S may be added in another order, and differ in its last bits."""
    assert one.value.tobytes() == other.value.tobytes()
    np.testing.assert_array_equal(one.terms, other.terms)
    np.testing.assert_allclose(one.bound(np.float32), other.bound(np.float32), rtol=2.0**-45)


@pytest.fixture(params=[8, 100, 400], ids=lambda size: f"{size} bytes")
def small_blocks(request, monkeypatch):
    """Cut operations into blocks of a few cells from now on."""
    return lambda: monkeypatch.setattr(blocks_module, "BLOCK_BYTES", request.param)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize(("shape", "parameters"), GEOMETRIES)
@pytest.mark.parametrize("operator", POOLS)
def test_pooling_in_blocks_is_pooling_at_once(small_blocks, operator, shape, parameters, dtype):
    x = values(shape, dtype)
    whole = reference.OPERATORS[operator](x, **parameters)
    small_blocks()
    same(reference.OPERATORS[operator](x, **parameters), whole)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64], ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    "geometry", [{"padding": 1}, {"stride": (2, 3), "dilation": (1, 2)}, {"padding": ((-1, 5), (0, 2))}]
)
def test_convolution_in_blocks_is_convolution_at_once(small_blocks, geometry, groups, dtype):
    arrays = values((3, 4, 9, 8), dtype), values((6, 4 // groups, 3, 2), dtype), values((6,), dtype)
    whole = reference.OPERATORS["conv"](*arrays, **geometry, groups=groups)
    small_blocks()
    same(reference.OPERATORS["conv"](*arrays, **geometry, groups=groups), whole)


@pytest.mark.parametrize(("shape", "parameters"), GEOMETRIES)
@pytest.mark.parametrize("size", [1, 7, 100])
def test_blocks_cover_each_output_once(shape, parameters, size, monkeypatch):
    monkeypatch.setattr(blocks_module, "BLOCK_BYTES", 50)
    walk = Windows.of(shape[2:], **parameters)
    seen = np.zeros((*shape[:2], *walk.output), int)
    for block in split_into_blocks(shape[:2], walk, size):
        part = seen[block.outputs]
        part += 1
        assert part.shape[2:] == block.walk.output
    assert (seen == 1).all()


@pytest.mark.parametrize("operator", ["avg_pool", "conv"])
def test_details_of_a_large_result_are_computed_when_asked_for(operator, monkeypatch):
    arrays = [values((2, 4, 9, 8), np.float32)]
    arrays += [values((3, 4, 2, 2), np.float32)] if operator == "conv" else []
    parameters = {} if operator == "conv" else {"window": 2}
    kept = reference.OPERATORS[operator](*arrays, **parameters)
    monkeypatch.setattr(exact_module, "MAX_CACHED_ELEMENTS", 0)
    later = reference.OPERATORS[operator](*arrays, **parameters)
    assert "high" not in vars(later)
    for name in ("value", "high", "low", "magnitude", "terms"):
        np.testing.assert_array_equal(getattr(later, name), getattr(kept, name))
    with pytest.raises(AttributeError, match="no attribute 'height'"):
        _ = later.height


def test_a_result_shares_no_memory_with_its_input():
    x = values((1, 1, 4, 4), np.float32)
    for operator in POOLS:
        assert not np.shares_memory(getattr(reference, operator)(x, 1), x)


def test_unchecked_results_are_close():
    x, kernel = values((2, 4, 9, 8), np.float32), values((3, 4, 3, 3), np.float32)
    x[np.isnan(x)] = np.inf
    for run in (lambda: reference.avg_pool(x, 3, stride=1, padding=2), lambda: reference.conv(x, kernel, padding=1)):
        with without_certainty_check(), np.errstate(invalid="ignore"):
            assert not is_certainty_checked()
            rough = run()
        np.testing.assert_allclose(rough, run(), rtol=1e-6, atol=1e-12)
    assert is_certainty_checked()


def test_unchecked_knows_nothing_beyond_float64():
    with without_certainty_check(), pytest.raises(FloatingPointError, match="certainty check is off"):
        _ = reference.OPERATORS["avg_pool"](np.full((1, 1, 2), 1.5e308), 2).high


def test_the_suite_never_turns_the_check_off():
    root = ROOT
    files = [path for folder in ("conformance", "reports") for path in (root / folder).rglob("*.py")]
    assert files
    assert not [path for path in files if "without_certainty_check" in path.read_text(encoding="utf-8")]


def shapes_of_blocks(planes, walk, size):
    """Return (images, channels, rows) of each block."""
    parts = [block.outputs for block in split_into_blocks(planes, walk, size)]
    extents = (*planes, walk.output[0])
    return [tuple(len(range(n)[part]) for n, part in zip(extents, slices, strict=False)) for slices in parts]


@pytest.mark.parametrize(
    ("planes", "size", "expected"),
    [
        ((2, 3), 1, [(2, 3, 6)]),
        ((2, 3), 2, [(1, 3, 6)] * 2),
        ((2, 3), 5, [(1, 2, 6), (1, 1, 6)] * 2),
        ((4, 1), 5, [(2, 1, 6)] * 2),
        ((1, 2), 12, [(1, 1, 5)] * 2 + [(1, 1, 1)] * 2),
        ((1, 1), 20, [(1, 1, 3)] * 2),
        ((1, 1), 500, [(1, 1, 1)] * 6),
        ((2, 0), 1, []),
    ],
)
def test_blocks_are_as_many_planes_as_fit_or_some_rows_of_one(planes, size, expected, monkeypatch):
    monkeypatch.setattr("reference.geometry.blocks.BLOCK_BYTES", 240)
    assert shapes_of_blocks(planes, Windows.of((6, 4), 1), size) == expected


def test_a_cell_is_the_least_block(monkeypatch):
    monkeypatch.setattr("reference.geometry.blocks.BLOCK_BYTES", 240)
    assert shapes_of_blocks((1, 4), Windows.of((1,), 1), 60) == [(1, 4, 1)]
    assert shapes_of_blocks((1, 2), Windows.of((1,), 1), 240) == [(1, 1, 1)] * 2


def test_a_block_of_all_rows_has_the_walk_itself(monkeypatch):
    monkeypatch.setattr("reference.geometry.blocks.BLOCK_BYTES", 24)
    for walk in (Windows.of((6, 4), 1), Bins.of((6, 4), (3, 2))):
        (block,) = split_into_blocks((1, 1), walk, 1)
        assert block.walk is walk
        assert len(block.inputs) == len(block.outputs) == 4


def test_planes_can_be_left_whole(monkeypatch):
    monkeypatch.setattr("reference.geometry.blocks.BLOCK_BYTES", 24)
    for walk in (Windows.of((6, 4), 1), Bins.of((6, 4), (3, 2))):
        assert [block.walk for block in split_into_blocks((1, 2), walk, 24, include_window=True)] == [walk] * 2


def test_bins_give_the_same_in_small_blocks(monkeypatch):
    x = np.arange(70.0).reshape(1, 2, 7, 5)
    expected = reference.adaptive_max_pool(x, (4, 3))
    monkeypatch.setattr("reference.geometry.blocks.BLOCK_BYTES", 1)
    assert reference.adaptive_max_pool(x, (4, 3)).tolist() == expected.tolist()


def test_planes_of_no_cells_at_all_are_a_block():
    assert reference.adaptive_max_pool(np.zeros((1, 2, 0), np.float32), None).shape == (1, 2, 0)
