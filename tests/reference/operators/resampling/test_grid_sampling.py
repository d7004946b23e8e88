"""Tests of reference.operators.resampling.grid_sampling."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import reference
from reference import OPERATORS
from reference.arithmetic.rounding import round_to
from reference.operators.resampling.grid_sampling import _Sampling
from tests.support.loop_grid_sample import gradient_of_grid, gradient_of_x, loop_grid_sample

MODES = ("nearest", "linear", "cubic")
PADDING_MODES = ("zeros", "border", "reflection")
RULES = [(mode, padding, align) for mode in MODES for padding in PADDING_MODES for align in (False, True)]
ROW = np.array([[[[8, 16, 32, 64]]]], np.float32)


def keywords(mode, padding_mode, align_corners):
    return {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}


def points(*numbers, dtype=np.float32):
    """Return a grid with points of a single row."""
    return np.array([[[[number, 0] for number in numbers]]], dtype)


def sample(*numbers, x=ROW, **rules):
    return OPERATORS["grid_sample"](x, points(*numbers), (1, len(numbers)), **rules)


def rounded(exact, dtype):
    return np.array([float(round_to(one, dtype)) for one in exact.ravel()]).reshape(exact.shape)


def random_call(rng, spatial, output, dtype):
    x = rng.standard_normal((2, 2, *spatial)).astype(dtype)
    grid = (rng.standard_normal((2, *output, len(spatial))) * 1.5).astype(dtype)
    return x, grid, rng.standard_normal((2, 2, *output)).astype(dtype)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize(("spatial", "output"), [((5,), (3,)), ((1, 3), (2, 2)), ((2, 3, 2), (1, 2, 1))])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_results_are_the_correctly_rounded_results_of_loops(rules, spatial, output, dtype):
    x, grid, _ = random_call(np.random.default_rng(1), spatial, output, dtype)
    got = reference.grid_sample(x, grid, output, **keywords(*rules))
    assert got.dtype == dtype
    assert got.tolist() == rounded(loop_grid_sample(x, grid, *rules), dtype).tolist()


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize(("spatial", "output"), [((4,), (2,)), ((2, 3), (1, 2))])
def test_gradients_are_the_correctly_rounded_results_of_loops(rules, spatial, output):
    x, grid, grad = random_call(np.random.default_rng(2), spatial, output, np.float32)
    of_x, of_grid = reference.grid_sample_grad(grad, x, grid, output, **keywords(*rules))
    assert of_x.tolist() == rounded(gradient_of_x(grad, x, grid, *rules), np.float32).tolist()
    assert of_grid.tolist() == rounded(gradient_of_grid(grad, x, grid, *rules), np.float32).tolist()


@given(
    st.lists(st.integers(-300, 300), min_size=1, max_size=6),
    st.integers(1, 5),
    st.sampled_from(RULES),
    st.sampled_from([4, 16, 60]),
)
@settings(max_examples=60, deadline=None)
def test_points_at_cells_and_beyond_ends_agree_with_loops(numbers, extent, rules, unit):
    x = np.arange(1, extent + 1, dtype=np.float64).reshape(1, 1, 1, extent) ** 2
    grid = points(*(number / unit for number in numbers), dtype=np.float64)
    got = OPERATORS["grid_sample"](x, grid, (1, len(numbers)), **keywords(*rules))
    exact = loop_grid_sample(x, grid, *rules)
    distance = [abs(Fraction(float(one)) - other) for one, other in zip(got.value.ravel(), exact.ravel(), strict=True)]
    # The loops reflect a coordinate before they round it, so they may select another cell of a tie.
    allowed = got.bound().ravel() if rules[0] == "nearest" else np.abs(got.value).ravel() * 2.0**-53
    assert all(one <= Fraction(float(most)) for one, most in zip(distance, allowed, strict=True))


def test_literal_results():
    assert sample(-1, -0.75, 0, 1).value.tolist() == [[[[4, 8, 24, 32]]]]
    assert sample(-1.25, 0, 1, padding_mode="border").value.tolist() == [[[[8, 24, 64]]]]
    assert sample(-1.5, 1.5, padding_mode="reflection").value.tolist() == [[[[12, 48]]]]
    assert sample(-1.5, 1.5, padding_mode="reflection", align_corners=True).value.tolist() == [[[[14, 40]]]]
    assert sample(-0.8, 0.3, mode="nearest").value.tolist() == [[[[8, 32]]]]


def test_the_first_number_of_a_point_is_the_last_axis():
    x = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3)
    grid = np.array([[[[1, -1]]]], np.float32)
    assert reference.grid_sample(x, grid, 1, align_corners=True).tolist() == [[[[2]]]]


@pytest.mark.parametrize("rules", [one for one in RULES if one[0] != "nearest"])
def test_all_cells_in_order_are_the_image(rules):
    extents = (3, 4)
    x = np.random.default_rng(3).standard_normal((1, 2, *extents))
    align = rules[2]
    along = [np.linspace(-1, 1, n) if align else (2 * np.arange(n) + 1) / n - 1 for n in extents]
    rows, columns = np.meshgrid(*along, indexing="ij")
    got = OPERATORS["grid_sample"](x, np.stack([columns, rows], -1)[None], extents, **keywords(*rules))
    assert (np.abs(got.value - x) <= got.bound()).all()


def test_a_point_between_two_cells_selects_the_even_one_and_allows_both():
    got = sample(-0.5, 0, 0.25, mode="nearest")
    assert got.value.tolist() == [[[[8, 32, 32]]]]
    distance = np.abs(got.value - [[[[16, 16, 32]]]])
    assert (distance <= got.bound()).all()
    assert got.bound().ravel()[2] < 1e-4


def test_the_mode_nearest_has_bound_zero_away_from_ties():
    assert sample(-0.6, 0.1, mode="nearest").exact
    assert not sample(-0.6, 0.1, mode="nearest").bound().any()


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16, "float32", "float64"])
@pytest.mark.parametrize("mode", MODES)
def test_results_have_the_dtype_of_x(dtype, mode):
    got = OPERATORS["grid_sample"](ROW.astype(dtype), points(-0.75, 0.25).astype(dtype), (1, 2), mode=mode)
    assert got.value.dtype == dtype
    assert got.value.astype(float).tolist() == [[[[8, 32]]]]


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("padding_mode", PADDING_MODES)
@pytest.mark.parametrize("align_corners", [False, True])
def test_the_bound_covers_coordinates_and_weights_in_float32(mode, padding_mode, align_corners):
    rng = np.random.default_rng(4)
    x = rng.standard_normal((1, 1, 1, 7)).astype(np.float32)
    grid = (rng.standard_normal((1, 1, 200, 2)) * 1.5).astype(np.float32)
    grid[..., 1] = 0
    got = OPERATORS["grid_sample"](x, grid, (1, 200), **keywords(mode, padding_mode, align_corners))
    scale = np.float32((7 - align_corners) / 2)
    for formula in (
        lambda g: (g + np.float32(1)) * scale - np.float32(0 if align_corners else 0.5),
        lambda g: g * scale + np.float32(3),
    ):
        at = formula(grid[..., 0]).ravel()
        values = [float(one) for one in at]
        exact = loop_grid_sample(x, _numbers_of(values, align_corners), mode, padding_mode, align_corners)
        error = [abs(float(one) - other) for one, other in zip(got.value.ravel(), exact.ravel(), strict=True)]
        assert (np.array(error, float) <= got.bound().ravel()).all()


def _numbers_of(coordinates, align_corners):
    """Return the grid, as fractions, whose coordinates are these."""
    numbers = [Fraction(one) * 2 / 6 - 1 if align_corners else (Fraction(one) * 2 + 1) / 7 - 1 for one in coordinates]
    return np.array([[[[number, Fraction(0)] for number in numbers]]], object)


def test_the_bound_is_no_wider_than_a_thousand_roundings():
    got = sample(-0.4, 0.3)
    assert (got.bound() <= 1000 * 2.0**-24 * 64).all()


def test_a_far_point_reads_the_end_or_nothing():
    assert sample(-1e30, 1e30, padding_mode="border").value.tolist() == [[[[8, 64]]]]
    assert not sample(-1e30, 1e30).value.any()
    with pytest.raises(ValueError, match=r"grid has the number 1e\+30: a coordinate of more than 262144 cells"):
        OPERATORS["grid_sample"](ROW.astype(float), points(1e30, dtype=float), (1, 1), padding_mode="reflection")


def test_a_cell_with_weight_zero_is_not_read():
    x = np.array([[[[8, np.inf, 32, np.nan]]]], np.float32)
    assert sample(-0.75, 0.25, x=x).value.tolist() == [[[[8, 32]]]]
    got = sample(-0.5, 0.5, x=x).value.ravel()
    assert got[0] == np.inf
    assert np.isnan(got[1])


def test_the_derivative_at_a_cell_allows_both_sides():
    x = np.repeat(ROW, 2, axis=2)
    grad = np.ones((1, 1, 1, 1), np.float32)
    _, got = OPERATORS["grid_sample_grad"](grad, x, points(-0.25), (1, 1))
    assert got.value.tolist() == [[[[32, 0]]]]
    assert (got.bound()[..., 0] >= 16).all()


def test_terms_are_counted():
    x, grid = np.arange(10, dtype=np.float32).reshape(1, 2, 5), np.array([[[-0.3], [0.1], [0.9]]], np.float32)
    for mode, taps in (("linear", 2), ("cubic", 4)):
        assert np.unique(OPERATORS["grid_sample"](x, grid, 3, mode=mode).terms).tolist() == [taps]
        of_x, of_grid = OPERATORS["grid_sample_grad"](np.ones((1, 2, 3), np.float32), x, grid, 3, mode=mode)
        # A product of x, two channels and the weights, with a factor for the axis.
        assert np.unique(of_grid.terms).tolist() == [taps * 2 + 1]
        assert of_x.terms.any()
    # The points are at 1.25, 2.25 and 4.25 cells, each between two cells; the last one between cell 4 and no cell.
    of_x, _ = OPERATORS["grid_sample_grad"](np.ones((1, 2, 3), np.float32), x, grid, 3)
    assert of_x.terms.tolist() == [[[0, 1, 2, 1, 1]] * 2]
    empty = np.zeros((1, 0, 3), np.float32)
    assert OPERATORS["grid_sample_grad"](empty, x[:, :0], grid, 3)[1].terms.tolist() == [[[3]] * 3]


@pytest.mark.parametrize(("dtype", "unit", "coarse"), [("float64", 53, 53), ("float32", 24, 24), ("float16", 24, 11)])
def test_coordinates_are_computed_in_float32_or_float64(dtype, unit, coarse):
    call = _Sampling.of(np.ones((1, 1, 2), dtype), np.zeros((1, 1, 1)), 1, "linear", "zeros", align_corners=False)
    assert (call.unit, call.coarse) == (2.0**-unit, 2.0**-coarse)


def test_the_bound_is_that_of_the_weights_rounded_up():
    x, grid = np.array([[[3.0, 5, 7, 11]]], np.float32), np.array([[[0.3]]], np.float32)
    call = _Sampling.of(x, grid, 1, "cubic", "border", align_corners=False)
    (taps,), (row,) = call.value_taps, x[0].astype(np.float64)
    weights = zip(np.abs(taps.weights).ravel().tolist(), taps.cells.ravel().tolist(), strict=True)
    errors = zip(taps.errors.ravel().tolist(), taps.near.ravel().tolist(), strict=True)
    size = sum(Fraction(weight) * Fraction(row[cell]) for weight, cell in weights)
    off = sum(Fraction(error) * Fraction(row[cell]) for error, cell in errors)
    exact = OPERATORS["grid_sample"](x, grid, 1, mode="cubic", padding_mode="border")
    assert size + off <= Fraction(exact.magnitude.item()) <= (size + off) * (1 + Fraction(1, 2**28))
    assert off <= Fraction(exact.extra.item()) / 2**24 <= off * (1 + Fraction(1, 2**28))


def test_the_error_of_a_gradient_grows_with_the_number_of_cells():
    near = [1.0, 4, 9, 16, 25, 36]
    extras = []
    for extent in (6, 30):
        x = np.zeros((1, 1, extent), np.float64)
        x[0, 0, :6] = near
        # The coordinate 2.25 of cells.
        grid = np.array([[[(2 * 2.25 + 1) / extent - 1]]])
        _, of_grid = OPERATORS["grid_sample_grad"](np.ones((1, 1, 1)), x, grid, 1, mode="cubic")
        extras.append(float(of_grid.extra.item()))
    assert 5 <= extras[1] / extras[0] <= 200


def test_the_gradient_at_a_tie_of_the_mode_nearest_allows_both_cells():
    x, grid = np.array([[[1.0, 2, 3]]]), np.array([[[1 / 3]]])
    of_x, _ = OPERATORS["grid_sample_grad"](np.full((1, 1, 1), 5.0), x, grid, 1, mode="nearest")
    assert of_x.value.tolist() in ([[[0, 5, 0]]], [[[0, 0, 5]]])
    assert (of_x.bound()[0, 0, 1:] >= 5).all()
    away, _ = OPERATORS["grid_sample_grad"](np.full((1, 1, 1), 5.0), x, np.zeros((1, 1, 1)), 1, mode="nearest")
    assert away.value.tolist() == [[[0, 5, 0]]]


def test_65_536_cells_are_sampled():
    x = np.zeros((1, 1, 65_536), np.float32)
    x[0, 0, -1] = 3
    assert reference.grid_sample(x, np.ones((1, 1, 1), np.float32), 1, align_corners=True).tolist() == [[[3]]]


def test_the_gradient_of_the_grid_is_zero_in_the_mode_nearest():
    grad = np.ones((1, 1, 1, 2), np.float32)
    of_x, of_grid = reference.grid_sample_grad(grad, ROW, points(-0.8, -0.7), (1, 2), mode="nearest")
    assert of_x.tolist() == [[[[2, 0, 0, 0]]]]
    assert not of_grid.any()


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"mode": "area"}, ValueError, "mode 'area' must be one of nearest, linear, cubic"),
        ({"padding_mode": "edge"}, ValueError, "padding_mode 'edge' must be one of zeros, border, reflection"),
        ({"align_corners": 1}, TypeError, "align_corners 1 must be True or False"),
        ({"output_size": 2}, ValueError, r"grid has shape \(1, 1, 1, 2\): expected \(1, 2, 2, 2\)"),
        ({"output_size": 0}, ValueError, "output_size 0 on axis 0 must be at least 1"),
        ({"grid": points(np.nan)}, ValueError, r"grid has the number nan at \(0, 0, 0, 0\): expected finite numbers"),
        ({"grid": points(0, dtype=int)}, TypeError, "grid has dtype int64"),
        ({"x": ROW.astype(int)}, TypeError, "x has dtype int64"),
        ({"x": ROW[..., :0]}, ValueError, "x has 0 cells on axis 1: expected 1 to 65536"),
        ({"x": np.repeat(ROW, 2, axis=0)}, ValueError, r"grid has shape \(1, 1, 1, 2\): expected \(2, 1, 1, 2\)"),
    ],
)
def test_bad_calls_are_rejected(changed, error, message):
    with pytest.raises(error, match=message):
        reference.grid_sample(**{"x": ROW, "grid": points(0), "output_size": (1, 1), **changed})


def test_empty_batches_and_channels_have_empty_results():
    for shape in ((0, 2, 3, 4), (2, 0, 3, 4)):
        grid = np.zeros((shape[0], 2, 2, 2), np.float32)
        assert reference.grid_sample(np.zeros(shape, np.float32), grid, 2).shape == (*shape[:2], 2, 2)


def test_terms_of_the_mode_nearest_are_the_points_of_each_cell():
    x, grad = np.zeros((1, 1, 4), np.float32), np.ones((1, 1, 3), np.float32)
    # The coordinates of four cells are −3/4, −1/4, 1/4 and 3/4.
    grid = np.array([[[-0.75], [0.25], [0.3]]], np.float32)
    of_x, _ = OPERATORS["grid_sample_grad"](grad, x, grid, 3, mode="nearest")
    assert of_x.value.tolist() == [[[1, 0, 2, 0]]]
    assert of_x.terms.tolist() == [[[1, 0, 2, 0]]]
