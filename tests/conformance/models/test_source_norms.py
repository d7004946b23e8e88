import numpy as np
import pytest

from conformance.cases.steps import case_step
from conformance.catalogue import describe
from conformance.models.layer import ModelLayer
from conformance.models.rewrites import case_of_layer
from conformance.models.source_norms import (
    averaged_powers,
    averaged_powers_of_whole_windows,
    averages_signed_powers,
    scaled_norm,
    scales_partial_windows,
    source_norm_program,
)
from conformance.translation.lowering import translate_steps
from tests.conformance.adapters.numpy.programs import BACKEND, LOOPS

CEIL = {"window": (2,), "stride": (2,), "p": 2, "rounding": "ceil"}


def case(parameters, shape):
    return case_of_layer(ModelLayer("pool", "lp_pool", parameters, shape))


def run(program, *arrays):
    names = {}
    exec(BACKEND.setup + program.text, names)  # noqa: S102 - the program that is tested
    return names["run"](*arrays)


def average_times_window(x, window, stride, p):
    """Return what a framework computes that scales: the root of the average of the real cells times the window."""
    out = -(-(x.shape[2] - window) // stride) + 1, -(-(x.shape[3] - window) // stride) + 1
    found = np.empty((1, 1, *out))
    for i, j in np.ndindex(*out):
        cells = x[0, 0, i * stride : i * stride + window, j * stride : j * stride + window].astype(float)
        found[0, 0, i, j] = (np.mean(np.abs(cells) ** p) * window**2) ** (1 / p)
    return found


def test_the_result_is_that_of_the_framework_in_the_ledger():
    """The entry torch-norm-of-a-partial-window: [5, 1.4142135] for [3, 4, 1] with window 2."""
    program = source_norm_program(case(CEIL, (1, 1, 3)), LOOPS)
    assert run(program, np.array([[[3, 4, 1]]], np.float32)).ravel() == pytest.approx([5, 2**0.5])


@pytest.mark.parametrize("p", [2, 4])
@pytest.mark.parametrize(
    ("window", "stride", "extents"), [(3, 2, (6, 8)), (2, 2, (5, 5)), (3, 3, (7, 6)), (4, 3, (6, 9))]
)
def test_the_result_is_the_average_of_the_real_cells_times_the_window(p, window, stride, extents):
    parameters = {"window": (window,) * 2, "stride": (stride,) * 2, "p": p, "rounding": "ceil"}
    x = np.arange(1, 1 + np.prod(extents), dtype=np.float32).reshape(1, 1, *extents) * np.float32(-0.25)
    program = source_norm_program(case(parameters, x.shape), LOOPS)
    np.testing.assert_allclose(run(program, x), average_times_window(x, window, stride, p), rtol=1e-6)


def averaged_powers_times_window(x, window, stride, p):
    """Return the operations of the framework: powers with their sign, their average, the factor and the root."""
    out = tuple(-(-(extent - window) // stride) + 1 for extent in x.shape[2:])
    found = np.empty((1, 1, *out))
    for i, j in np.ndindex(*out):
        cells = x[0, 0, i * stride : i * stride + window, j * stride : j * stride + window].astype(float)
        found[0, 0, i, j] = np.mean(cells**p) * window**2
    return found ** (1 / p)


@pytest.mark.parametrize("write", [averaged_powers, averaged_powers_of_whole_windows])
@pytest.mark.parametrize("p", [1, 3, 2.5])
@pytest.mark.parametrize(("window", "stride", "extents"), [(3, 2, (6, 8)), (2, 2, (4, 4)), (3, 3, (7, 6))])
@pytest.mark.filterwarnings("ignore:invalid value encountered")  # the root of a negative number
def test_other_powers_are_averaged_with_their_sign(write, p, window, stride, extents):
    norm = case({"window": (window,) * 2, "stride": (stride,) * 2, "p": p, "rounding": "ceil"}, (1, 1, *extents))
    x = np.random.default_rng(1).integers(1, 10, norm.shape).astype(np.float32)
    x[..., extents[1] // 2 :] *= -1  # some windows have no negative number, and some no other
    program = translate_steps(norm, LOOPS, write(case_step(norm)))
    expected = averaged_powers_times_window(x, window, stride, p)
    np.testing.assert_allclose(run(program, x), expected, rtol=1e-5, atol=1e-4)
    assert np.isfinite(expected).any()
    assert np.isnan(expected).any() == (p != 1)


def test_padded_norms_have_no_such_program():
    assert averaged_powers(case_step(case({**CEIL, "p": 3, "padding": ((1, 1),)}, (1, 1, 3)))) == ()
    assert source_norm_program(case({**CEIL, "dilation": (2,)}, (1, 1, 5)), LOOPS) is None


@pytest.mark.parametrize(
    ("changes", "shape"),
    [({}, (1, 1, 4)), ({"p": 3}, (1, 1, 3)), ({"p": 2.5}, (1, 1, 3)), ({"dilation": (2,)}, (1, 1, 5))],
)
def test_other_norms_have_no_such_program(changes, shape):
    assert scaled_norm(case_step(case(CEIL | changes, shape))) == ()


def test_a_surface_scales_by_its_declaration_or_by_the_ledger():
    surfaces = describe.surfaces_by_name()
    assert scales_partial_windows(surfaces["torch.nn"][1])
    assert not scales_partial_windows(surfaces["onnxruntime"][1])
    assert scales_partial_windows(surfaces["openvino.onnx"][1])
    # It scales partial windows too, of absolute values.
    assert averages_signed_powers(surfaces["torch.nn"][1])
    assert not averages_signed_powers(surfaces["openvino.onnx"][1])
