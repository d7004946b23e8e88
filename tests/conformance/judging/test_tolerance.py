import numpy as np
import pytest

from conformance.adapters.api import Declaration, Surface
from conformance.cases.arrays import ArraySpec
from conformance.cases.case import Case
from conformance.judging.expected import compute_expected
from conformance.judging.tolerance import target_for


def average(cells):
    """Return a case that averages this number of float16 ones."""
    x = ArraySpec("arange", (1, 1, cells), "float16", {"start": 1, "step": 0})
    walk = {"window": (cells,), "stride": (cells,), "padding": ((0, 0),), "dilation": (1,), "rounding": "floor"}
    return Case("avg_pool/ones", "avg_pool", {"x": x}, {**walk, "count_include_pad": False, "divisor": None})


def surface(answer):
    return Surface("some", {}, declarations={"avg_pool/accumulation-in-float16": Declaration(answer)})


def bound_of(answer, cells):
    case = average(cells)
    target = target_for(compute_expected(case).target, case, surface(answer))
    return None if target is None else float(target.bound.max())


def test_a_surface_that_adds_in_16_bits_is_allowed_their_roundings():
    u, n = 2.0**-11, 9
    g = (n + 3) * u / (1 - (n + 3) * u)
    assert bound_of("own", 9) == pytest.approx(g + u * (1 + g), rel=1e-2)
    assert bound_of("float32", 9) == pytest.approx(u, rel=1e-2)


def test_where_so_many_roundings_may_leave_anything_there_is_no_bound():
    assert bound_of("own", 1020) is not None
    assert bound_of("own", 1021) is None
    assert bound_of("float32", 1021) is not None


def test_a_surface_that_declares_nothing_is_held_to_float32():
    case = average(9)
    target = compute_expected(case).target
    assert target_for(target, case, Surface("some", {})) is target


def test_a_composition_rounds_what_one_call_hands_to_the_next():
    case = average(9)
    target = compute_expected(case).target
    held = target_for(target, case, Surface("some", {}), "composed")
    assert held.bound.max() > 5 * target.bound.max()
    assert target_for(target, case, Surface("some", {}), "padded") is target


def test_a_selection_has_no_bound_whatever_the_surface_adds_in():
    x = ArraySpec("arange", (1, 1, 4), "float16")
    parameters = {"window": (4,), "stride": (4,), "padding": ((0, 0),), "dilation": (1,), "rounding": "floor"}
    case = Case("max_pool/four", "max_pool", {"x": x}, parameters)
    declares = {"max_pool/accumulation-in-float16": Declaration("own")}
    target = target_for(compute_expected(case).target, case, Surface("some", {}, declarations=declares))
    assert np.array_equal(target.bound, [[[0]]])


def convolution(made, values, dtype="float32"):
    return made(
        "conv",
        f"x: {{values: {values}, shape: [1, 2, 5], dtype: {dtype}}}, "
        f"kernel: {{values: {values}, shape: [2, 2, 3], dtype: {dtype}}}",
    )


def bounds(case, how="native"):
    """Return the bounds without and with TF32."""
    expected = compute_expected(case)
    surfaces = [Surface("s", {}, tf32=tf32) for tf32 in (False, True)]
    return [target_for(expected.target, case, surface, how, expected.inputs).bound for surface in surfaces]


def test_bound_with_tf32_is_that_of_factors_with_11_bits(made):
    case = convolution(made, "mantissas")
    exact, (full, rough) = compute_expected(case).target.exact, bounds(case)
    x, kernel = (one.view(np.uint32) & np.uint32(0xFFFFE000) for one in compute_expected(case).inputs.values())
    truncated = np.stack(
        [
            [(x.view(np.float32)[0, :, i : i + 3].astype(float) * kernel.view(np.float32)[out]).sum() for i in range(3)]
            for out in range(2)
        ]
    )[None].astype(np.float32)
    error = exact.distance(truncated)
    assert (error > full).any()
    assert (error <= rough).all()
    assert (rough <= exact.magnitude * 2.0**-8).all()


@pytest.mark.parametrize(("values", "dtype"), [("integers", "float32"), ("mantissas", "float64")])
def test_tf32_does_not_change_the_bound_of_numbers_that_it_represents_or_of_other_dtypes(made, values, dtype):
    full, rough = bounds(convolution(made, values, dtype))
    assert np.array_equal(full, rough)


def test_tf32_changes_the_bound_of_an_average_only_if_it_is_composed(made):
    case = made("avg_pool", "x: {values: mantissas, shape: [1, 1, 4]}, window: 3")
    native, composed = bounds(case), bounds(case, "composed")
    assert np.array_equal(*native)
    assert (composed[1] > composed[0]).all()


@pytest.mark.parametrize(("answer", "larger"), [("float32", False), ("rounded", True), ("own", True)])
def test_weights_in_16_bits_are_allowed_their_roundings(answer, larger):
    x = ArraySpec("arange", (1, 1, 4), "float16", {"start": 1})
    parameters = {"size": (7,), "scale": None, "mode": "linear", "coordinates": "align_corners"}
    parameters |= {"nearest_rounding": "round_prefer_floor", "cubic_a": -0.75}
    case = Case("resize/seven", "resize", {"x": x}, parameters)
    declares = {"resize/weights-in-float16": Declaration(answer)}
    target = compute_expected(case).target
    bound = target_for(target, case, Surface("some", {}, declarations=declares)).bound
    assert (bound > target.bound).all() == larger
