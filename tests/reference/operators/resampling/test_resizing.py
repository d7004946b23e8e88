"""Tests of reference.operators.resampling.resizing."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import reference
from reference import OPERATORS
from reference.operators.resampling.resizing import _unit_roundoff
from tests.support.loop_resize import backward, forward, loop_resize

COORDINATES = (
    *("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "asymmetric", "align_corners"),
    "tf_half_pixel_for_nn",
)
ROUNDINGS = ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
# Up, down, to one cell, from one cell, the same size, by a fraction; one to three axes.
SIZES = (
    ((5,), (10,)),
    ((7,), (3,)),
    ((4,), (1,)),
    ((1,), (5,)),
    ((3, 4), (6, 5)),
    ((5, 5), (5, 5)),
    ((3, 2, 4), (4, 4, 3)),
)
MODES = [
    *({"mode": "nearest", "nearest_rounding": one} for one in ROUNDINGS),
    {"mode": "linear"},
    {"mode": "cubic", "cubic_a": -0.75},
    {"mode": "cubic", "cubic_a": -0.5},
]

FLAGS = ({"antialias": True}, {"exclude_outside": True}, {"antialias": True, "exclude_outside": True})
FILTERED = [
    {**mode, **flags}
    for mode in ({"mode": "linear"}, {"mode": "cubic", "cubic_a": -0.75}, {"mode": "cubic", "cubic_a": -0.5})
    for flags in FLAGS
]


def row(values, dtype=np.float32):
    return np.array(values, dtype)[None, None]


def weights_of(x, output, scales, parameters, regions=None):
    return loop_resize(x, output, scales, parameters, regions)


def is_nearest_float(number, exact, dtype):
    """Whether no number of the dtype is closer to an exact result."""
    beside = (np.nextafter(number, dtype(-np.inf)), np.nextafter(number, dtype(np.inf)))
    distance = abs(Fraction(float(number)) - exact)
    return all(distance <= abs(Fraction(float(other)) - exact) for other in beside)


@pytest.mark.parametrize(("spatial", "output"), SIZES)
@pytest.mark.parametrize("mode", [*MODES, *FILTERED])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_agrees_with_loops_over_fractions(spatial, output, mode, dtype):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((1, 2, *spatial)).astype(dtype)
    for coordinates in COORDINATES:
        parameters = {**mode, "coordinates": coordinates}
        scales = [Fraction(m, n) for m, n in zip(output, spatial, strict=True)]
        weights = weights_of(x, output, scales, parameters)
        got = reference.resize(x, size=output, **parameters)
        assert all(is_nearest_float(got[at], exact, dtype) for at, exact in forward(x, weights).items())
        grad = rng.standard_normal(got.shape).astype(dtype)
        slope, exact = reference.resize_grad(grad, x, size=output, **parameters), backward(grad, weights)
        assert all(
            is_nearest_float(slope[at], exact.get(at, Fraction(0)), dtype) or slope[at] == exact.get(at, 0)
            for at in np.ndindex(x.shape)
        )


@pytest.mark.parametrize("scale", [0.6, 1.5, 0.3, 2.5])
@pytest.mark.parametrize("mode", [*MODES, *FILTERED, {"mode": "area"}])
def test_coordinates_use_the_scale_as_it_is_given(scale, mode):
    x = np.random.default_rng(2).standard_normal((1, 1, 7)).astype(np.float64)
    output = int(7 * Fraction(str(scale)))
    for coordinates in ("half_pixel",) if mode["mode"] == "area" else COORDINATES:
        parameters = {**mode, "coordinates": coordinates}
        got = reference.resize(x, scale=scale, **parameters)
        assert got.shape == (1, 1, output)
        exact = forward(x, weights_of(x, (output,), [Fraction(str(scale))], parameters))
        assert all(is_nearest_float(got[at], one, np.float64) for at, one in exact.items())


REGIONS = [("0", "1"), ("0.25", "0.75"), ("-0.3", "1.1"), ("0.9", "0.2"), ("2", "3")]


@pytest.mark.parametrize(("spatial", "output"), SIZES)
@pytest.mark.parametrize("mode", [*MODES, {"mode": "cubic", "exclude_outside": True}])
@pytest.mark.parametrize("region", REGIONS)
def test_crops_agree_with_loops_over_fractions(spatial, output, mode, region):
    rng, rank = np.random.default_rng(12), len(spatial)
    x = rng.standard_normal((1, 2, *spatial)).astype(np.float32)
    # Every second axis has the whole region, so that a cell may be beyond one end only.
    regions = [tuple(map(Fraction, region if axis % 2 == 0 else ("0", "1"))) for axis in range(rank)]
    parameters = {**mode, "coordinates": "tf_crop_and_resize"}
    weights = weights_of(x, output, [Fraction(1)] * rank, parameters, regions)
    ends = dict(zip(("roi_start", "roi_end"), zip(*regions, strict=True), strict=True))
    got = reference.resize(x, size=output, **parameters, **ends, extrapolation_value=0.1)
    for at, exact in forward(x, weights).items():
        assert is_nearest_float(got[at], exact, np.float32) if weights[at] else got[at] == np.float32(0.1)
    grad = rng.standard_normal(got.shape).astype(np.float32)
    slope, exact = reference.resize_grad(grad, x, size=output, **parameters, **ends), backward(grad, weights)
    for at in np.ndindex(x.shape):
        assert is_nearest_float(slope[at], exact.get(at, Fraction(0)), np.float32) or slope[at] == exact.get(at, 0)


def test_literal_crops():
    x = row([0, 10, 20, 30, 40])
    crop = {"mode": "linear", "coordinates": "tf_crop_and_resize"}
    assert reference.resize(x, size=3, **crop, roi_start=0.25, roi_end=0.75).tolist() == [[[10, 20, 30]]]
    assert reference.resize(x, size=3, **crop, roi_start=0.75, roi_end=0.25).tolist() == [[[30, 20, 10]]]
    assert reference.resize(x, size=1, **crop, roi_start=0.25, roi_end=0.5).tolist() == [[[15]]]
    beyond = reference.resize(x, size=3, **crop, roi_start=0.5, roi_end=1.25, extrapolation_value=-7)
    assert beyond.tolist() == [[[20, 35, -7]]]
    # ⌊5 · 1/2 · 2⌋ cells.
    assert reference.resize(x, scale=2, **crop, roi_start=0.25, roi_end=0.75).shape == (1, 1, 5)


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.1, -7.0])
def test_an_extrapolated_cell_agrees_with_nothing_but_its_value(value):
    x, crop = row([1, 2, 3]), {"mode": "linear", "coordinates": "tf_crop_and_resize"}
    exact = OPERATORS["resize"](x, size=2, **crop, roi_start=0.5, roi_end=2, extrapolation_value=value)
    assert np.array_equal(exact.value, row([2, value]), equal_nan=True)
    assert (exact.distance(exact.value) <= exact.bound()).all()
    other = exact.value + np.float32(1e-3)
    assert exact.distance(np.where(np.isfinite(other), other, 0))[0, 0, 1] > exact.bound()[0, 0, 1]


def test_an_extrapolated_cell_does_not_read_x_and_has_no_gradient():
    x, crop = row([1, 2, np.nan]), {"size": 2, "coordinates": "tf_crop_and_resize", "roi_start": 0, "roi_end": 1.5}
    for mode in ("nearest", "linear", "cubic"):
        assert reference.resize(x, mode=mode, **crop)[0, 0, 1] == 0
        assert np.isfinite(reference.resize_grad(row([1, np.inf]), x, mode=mode, **crop)).all()


def test_integers_have_an_extrapolation_value_of_their_dtype():
    crop = {"size": 2, "coordinates": "tf_crop_and_resize", "roi_start": 0, "roi_end": 2}
    x = row([1, 2], np.uint8)
    assert reference.resize(x, **crop, extrapolation_value=255).tolist() == [[[1, 255]]]
    with pytest.raises(ValueError, match="extrapolation_value 256 is no uint8"):
        reference.resize(x, **crop, extrapolation_value=256)


@pytest.mark.parametrize(("spatial", "output"), SIZES)
def test_area_is_the_mean_of_the_covered_part(spatial, output):
    x = np.random.default_rng(6).standard_normal((1, 2, *spatial))
    scales = [Fraction(m, n) for m, n in zip(output, spatial, strict=True)]
    weights = weights_of(x, output, scales, {"mode": "area"})
    got = reference.resize(x, size=output, mode="area")
    assert all(is_nearest_float(got[at], exact, np.float64) for at, exact in forward(x, weights).items())
    grad = np.random.default_rng(7).standard_normal(got.shape)
    slope, exact = reference.resize_grad(grad, x, size=output, mode="area"), backward(grad, weights)
    assert all(is_nearest_float(slope[at], exact[at], np.float64) for at in np.ndindex(x.shape))


@pytest.mark.parametrize(("spatial", "output"), SIZES)
@pytest.mark.parametrize("mode", ["lanczos3", "lanczos5"])
@pytest.mark.parametrize("flags", [{}, *FLAGS])
def test_lanczos_agrees_with_the_sines_of_float64(spatial, output, mode, flags):
    x = np.random.default_rng(8).standard_normal((1, 2, *spatial))
    parameters = {"mode": mode, "coordinates": "half_pixel", **flags}
    scales = [Fraction(m, n) for m, n in zip(output, spatial, strict=True)]
    expected = forward(x, weights_of(x, output, scales, parameters))
    got = reference.resize(x, size=output, **parameters)
    assert all(abs(got[at] - float(one)) < 1e-13 for at, one in expected.items())


@pytest.mark.parametrize("mode", ["linear", "cubic", "lanczos3", "lanczos5"])
@pytest.mark.parametrize("flags", FLAGS)
def test_equal_cells_stay_equal(mode, flags):
    x = np.full((1, 1, 11), np.float32(0.1))
    assert (reference.resize(x, size=7, mode=mode, **flags) == np.float32(0.1)).all()


def test_literal_results_with_antialiasing():
    x = row([0, 0, 0, 64, 0, 0, 0, 0])
    # The weights are 1, 3, 3 and 1 eighths.
    down = reference.resize(x, size=4, mode="linear", antialias=True)
    assert down.tolist() == [[[0, 24, 8, 0]]]
    inside = reference.resize(row([7, 0, 0, 0]), size=2, mode="linear", antialias=True, exclude_outside=True)
    assert inside.tolist() == [[[3, 0]]]
    assert reference.resize(row([8, 0, 0, 0]), size=2, mode="linear", antialias=True).tolist() == [[[4, 0]]]
    # Pillow 13, Image.resize with Resampling.BICUBIC, in a plane of one row.
    pillow = reference.resize(
        row([256, 0, 0, 0, 0, 0, 0, 0]), size=4, mode="cubic", cubic_a=-0.5, antialias=True, exclude_outside=True
    )
    assert np.allclose(pillow, [[[118.89539, -8.895753, 0, 0]]], rtol=1e-6)
    assert reference.resize(row([0, 3, 6]), size=2, mode="area").tolist() == [[[1, 5]]]


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_antialiasing_changes_nothing_when_the_output_is_larger(mode):
    x = np.random.default_rng(9).standard_normal((1, 1, 5, 4))
    plain, filtered = (reference.resize(x, size=(9, 4), mode=mode, antialias=one) for one in (False, True))
    assert (plain == filtered).all()


def test_a_cell_that_is_excluded_is_not_read():
    x = row([np.inf, 1, 1, 1, 1, 1, 1, 1])
    got = reference.resize(x, size=4, mode="linear", antialias=True, exclude_outside=True)
    # The second cell reads the cells 1 to 4.
    assert got[0, 0].tolist() == [np.inf, 1, 1, 1]


def test_antialiasing_of_too_many_cells_is_rejected():
    with pytest.raises(ValueError, match="262144 to 200000 cells: rounded coordinates do not determine the weights"):
        reference.resize(np.zeros((1, 1, 2**18), np.float32), size=200_000, mode="cubic", antialias=True)


def test_literal_results():
    x = row([4, 8, 16, 12])
    assert reference.resize(x, size=8, mode="linear").tolist() == [[[4, 5, 7, 10, 14, 15, 13, 12]]]
    assert reference.resize(x, scale=2, mode="linear", coordinates="asymmetric").tolist() == [
        [[4, 6, 8, 12, 16, 14, 12, 12]]
    ]
    assert reference.resize(x, size=2).tolist() == [[[4, 16]]]
    assert reference.resize(x, size=2, nearest_rounding="round_prefer_ceil").tolist() == [[[8, 12]]]
    # ONNX Resize-19, example resize_downsample_scales_linear: exact results are 8/3 and 13/3.
    plane = np.arange(1, 9, dtype=np.float64).reshape(1, 1, 2, 4)
    assert reference.resize(plane, scale=0.6, mode="linear").tolist() == [[[[8 / 3, 13 / 3]]]]


@pytest.mark.parametrize("dtype", ["uint8", "int64", "bool", "bfloat16", "float16"])
def test_nearest_copies_cells_of_any_dtype(dtype):
    x = row([0, 1, 1], dtype if dtype != "bfloat16" else ml_dtypes.bfloat16)
    got = OPERATORS["resize"](x, size=6)
    assert got.value.dtype == x.dtype
    assert got.value.astype(int).tolist() == [[[0, 0, 1, 1, 1, 1]]]
    assert not got.bound().any()


def test_interpolation_takes_floating_numbers_only():
    with pytest.raises(TypeError, match="x has dtype int32"):
        reference.resize(row([1, 2], np.int32), size=4, mode="linear")


def test_a_cell_with_weight_zero_is_not_read():
    x = row([1, np.inf, 3, np.nan, 5])
    got = reference.resize(x, size=9, mode="linear", coordinates="align_corners")[0, 0]
    assert got[[0, 4, 8]].tolist() == [1, 3, 5]
    assert np.isinf(got[[1, 2, 3]]).all()
    assert np.isnan(got[[5, 6, 7]]).all()


def test_infinities_of_both_signs_give_nan():
    assert np.isnan(reference.resize(row([np.inf, -np.inf]), size=1, mode="linear")).all()
    # The outer weights of the cubic kernel are negative.
    assert reference.resize(row([np.inf, 0, 0, 0]), size=1, mode="cubic").tolist() == [[[-np.inf]]]


def test_large_and_small_numbers_are_exact():
    x = row([1e308, 1e308, 5e-324, 5e-324], np.float64)
    assert reference.resize(x, size=2, mode="linear").tolist() == [[[1e308, 5e-324]]]


def test_an_empty_batch_stays_empty():
    x = np.zeros((0, 2, 4, 4), np.float32)
    assert reference.resize(x, size=2, mode="linear").shape == (0, 2, 2, 2)
    assert reference.resize_grad(np.zeros((0, 2, 2, 2), np.float32), x, size=2, mode="linear").shape == x.shape


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"size": 2, "scale": 2}, "exactly one of them must be given"),
        ({"size": 0}, "size 0 on axis 0 must be at least 1"),
        ({"size": (2, 2)}, "size .* has 2 entries: expected 1"),
        ({"scale": 0}, "scale 0 on axis 0 must be positive"),
        ({"scale": -1.5}, "scale -1.5 on axis 0 must be positive"),
        ({"scale": float("nan")}, "scale nan on axis 0 must be finite"),
        ({"scale": 0.1}, "scale 0.1 gives 0 cells on axis 0"),
        ({"size": 2, "mode": "box"}, "mode 'box' must be one of"),
        ({"size": 2, "mode": "area", "coordinates": "asymmetric"}, "'asymmetric': the mode 'area' has 'half_pixel'"),
        ({"size": 2, "mode": "area", "antialias": True}, "antialias True: the mode 'area' has no such option"),
        ({"size": 2, "exclude_outside": True}, "exclude_outside True: the mode 'nearest' has no such option"),
        ({"size": 2, "coordinates": "centre"}, "coordinates 'centre' must be one of"),
        ({"size": 2, "nearest_rounding": "up"}, "nearest_rounding 'up' must be one of"),
        ({"size": 2, "cubic_a": -1}, "cubic_a -1 must be one of"),
        ({"size": 2**18 + 1}, "size 262145 gives 262145 cells on axis 0"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        reference.resize(row([1, 2, 3]), **parameters)


def test_a_parameter_of_the_cubic_kernel_is_a_number():
    for cubic_a in (True, np.True_, "-0.75"):
        with pytest.raises(TypeError, match=r"cubic_a .* must be a number"):
            reference.resize(row([1, 2]), size=3, mode="cubic", cubic_a=cubic_a)


@pytest.mark.parametrize(("dtype", "digits"), [(np.float64, 53), (np.float32, 24), (np.float16, 24)])
def test_weights_are_computed_in_float32_or_float64(dtype, digits):
    assert _unit_roundoff(np.zeros(1, dtype)) == 2.0**-digits


def test_a_size_or_a_scale_is_required():
    with pytest.raises(TypeError, match="size None and scale None"):
        reference.resize(row([1, 2, 3]))


def test_the_gradient_needs_the_shape_of_the_output():
    with pytest.raises(ValueError, match="grad has shape"):
        reference.resize_grad(row([1, 2]), row([1, 2, 3]), size=4)


def float32_weights(axis_size, output, mode, a):
    """Return the matrix (output, axis_size) of a kernel that rounds every step to float32, with half_pixel."""
    one, half = np.float32(1), np.float32(0.5)
    scale = np.float32(output) / np.float32(axis_size)
    matrix = np.zeros((output, axis_size), np.float32)
    for o in range(output):
        at = (np.float32(o) + half) / scale - half
        if mode == "linear":
            at = min(max(at, np.float32(0)), np.float32(axis_size - 1))
        below = int(np.floor(at))
        t = at - np.float32(below)
        if mode == "linear":
            taps = [(below, one - t), (below + 1, t)]
        else:
            a = np.float32(a)
            taps = []
            for k in (-1, 0, 1, 2):
                s = np.abs(t - np.float32(k))
                inner = ((a + 2) * s - (a + 3)) * s * s + one
                taps.append((below + k, inner if s <= 1 else ((a * s - 5 * a) * s + 8 * a) * s - 4 * a))
        for cell, weight in taps:
            matrix[o, min(max(cell, 0), axis_size - 1)] += weight
    return matrix


@pytest.mark.parametrize(("size", "output"), [(7, 16), (100, 33), (1000, 999), (31, 4097), (3, 1)])
@pytest.mark.parametrize(("mode", "a"), [("linear", -0.75), ("cubic", -0.75), ("cubic", -0.5)])
def test_the_bound_covers_a_kernel_in_float32(size, output, mode, a):
    x = np.random.default_rng(3).standard_normal((1, 1, size)).astype(np.float32)
    matrix = float32_weights(size, output, mode, a)
    exact = OPERATORS["resize"](x, size=output, mode=mode, cubic_a=a)
    got = np.einsum("oi,nci->nco", matrix, x)
    assert (exact.distance(got) <= exact.bound()).all()
    grad = np.random.default_rng(4).standard_normal(got.shape).astype(np.float32)
    slope = OPERATORS["resize_grad"](grad, x, size=output, mode=mode, cubic_a=a)
    assert (slope.distance(np.einsum("oi,nco->nci", matrix, grad)) <= slope.bound()).all()


def filtered_float32_weights(axis_size, output, mode):
    """Return the matrix (output, axis_size) of antialiasing that rounds every step to float32, like PyTorch."""
    half, one = np.float32(0.5), np.float32(1)
    scale = np.float32(axis_size) / np.float32(output)
    width = max(scale, one)
    reach = {"linear": 1, "cubic": 2, "lanczos3": 3, "lanczos5": 5}[mode]
    matrix = np.zeros((output, axis_size), np.float32)
    for o in range(output):
        centre = scale * (np.float32(o) + half)
        cells = np.arange(axis_size, dtype=np.float32)
        s = np.abs((cells + half - centre) * (one / width))
        if mode == "linear":
            weights = np.maximum(one - s, 0)
        elif mode == "cubic":
            a = np.float32(-0.75)
            outer = ((a * s - 5 * a) * s + 8 * a) * s - 4 * a
            weights = np.where(s <= 1, ((a + 2) * s - (a + 3)) * s * s + one, np.where(s < 2, outer, 0))
        else:
            angle = np.float32(np.pi) * s
            with np.errstate(invalid="ignore", divide="ignore"):
                values = np.float32(reach) * np.sin(angle) * np.sin(angle / np.float32(reach)) / (angle * angle)
            weights = np.where(s < np.float32(1e-3), one, np.where(s < reach, values, 0))
        matrix[o] = weights / weights.sum(dtype=np.float32)
    return matrix


@pytest.mark.parametrize(("size", "output"), [(7, 16), (100, 33), (1000, 999), (999, 7), (31, 515), (3, 1)])
@pytest.mark.parametrize("mode", ["linear", "cubic", "lanczos3", "lanczos5"])
def test_the_bound_covers_antialiasing_in_float32(size, output, mode):
    x = np.random.default_rng(3).standard_normal((1, 1, size)).astype(np.float32)
    flags = {"antialias": True, "exclude_outside": True}
    matrix = filtered_float32_weights(size, output, mode)
    exact = OPERATORS["resize"](x, size=output, mode=mode, **flags)
    got = np.einsum("oi,nci->nco", matrix, x)
    assert (exact.distance(got) <= exact.bound()).all()
    # The error of a coordinate grows with the number of cells.
    assert exact.bound().max() < max(0.01, size * 1e-4)
    grad = np.random.default_rng(4).standard_normal(got.shape).astype(np.float32)
    slope = OPERATORS["resize_grad"](grad, x, size=output, mode=mode, **flags)
    assert (slope.distance(np.einsum("oi,nco->nci", matrix, grad)) <= slope.bound()).all()


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_the_bound_is_less_than_a_shift_by_a_hundredth_of_a_cell(mode):
    x = row([0, 1] * 50)
    exact = OPERATORS["resize"](x, size=173, mode=mode)
    assert exact.bound().max() < 0.01


def test_the_bound_of_float64_is_that_of_float64():
    x = np.random.default_rng(5).standard_normal((1, 1, 9))
    exact = OPERATORS["resize"](x, size=14, mode="linear")
    assert 0 < exact.bound().max() < 1e-13
    assert exact.bound(accumulate=np.float32).min() > 1e-9
