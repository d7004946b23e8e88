"""The module `windows` of MXNet."""

from types import SimpleNamespace

import numpy as np
import pytest

from conformance.adapters.api import Program
from conformance.judging.expected import compute_expected
from conformance.judging.verdict import ProgramOutcome, judge_outcome
from conformance.translation.lowering import translate
from tests.conformance.adapters.mxnet.programs import ND, NPX, PLANE, ROW, body

arrays = pytest.mark.parametrize("surface", [NPX, ND], ids=lambda surface: surface.name)


def test_adaptive_average_is_native_in_2d_and_composed_in_1d(made):
    plane = translate(made("adaptive_avg_pool", f"{PLANE}, output_size: [2, 2]"), ND)
    lines = ["x = mx.nd.contrib.AdaptiveAvgPooling2D(x, output_size=(2, 2))"]
    assert (plane.how, body(plane)) == ("native", lines)
    row = translate(made("adaptive_avg_pool", f"{ROW}, output_size: [2]"), ND)
    assert row.how == "composed"
    newer = body(translate(made("adaptive_avg_pool", f"{PLANE}, output_size: [2, 2]"), NPX))
    assert newer == [f"{lines[0].replace('(x,', '(x.as_nd_ndarray(),')}.as_np_ndarray()"]


# NumPy replaces MXNet below. The calls of these programs have the same meaning in both, except for the following.
class Npx:
    """Functions of mxnet.npx that the compositions use and NumPy does not have."""

    @staticmethod
    def softmax(values, axis):
        """Return the softmax along an axis."""
        weights = np.exp(values - values.max(axis, keepdims=True))
        return weights / weights.sum(axis, keepdims=True)

    @staticmethod
    def pick(values, indices, axis):
        """Return the element of each row with the given index."""
        return np.take_along_axis(values, np.expand_dims(indices, axis), axis).squeeze(axis)


class Nd(Npx):
    """Functions of mxnet.nd that the compositions use."""

    array, full, arange, abs, sqrt = np.array, np.full, np.arange, np.abs, np.sqrt
    where, cumsum, broadcast_to = np.where, np.cumsum, np.broadcast_to

    @staticmethod
    def stack(*arrays, axis=0):
        """Return the arrays stacked along a new axis."""
        return np.stack(arrays, axis)

    @staticmethod
    def pad(array, mode, pad_width, constant_value=0):
        """Return the padded array; pad_width is one flat tuple."""
        values = {"constant_values": constant_value} if mode == "constant" else {}
        return np.pad(array, np.reshape(pad_width, (-1, 2)), mode, **values)


COMPOSED = ("max_pool", "min_pool", "softmax_pool", "max_pool_with_indices", "adaptive_max_pool", "adaptive_avg_pool")
COMPOSED += ("stochastic_pool", "stochastic_pool_probabilities", "global_max_pool", "pad")
NATIVE_CALLS = (
    "npx.pooling",
    "nn.",
    "npx.convolution",
    "npx.deconvolution",
    "scatter_nd",
    "AdaptiveAvg",
    "expand_dims",
)
NATIVE_CALLS += ("mx.nd.Pooling", "mx.nd.Convolution", "mx.nd.Deconvolution")


def run(program, inputs):
    """Run a composed program with NumPy."""
    names = {"np": np, "mnp": np, "npx": Npx, "mx": SimpleNamespace(nd=Nd)}
    exec(program.text.replace("return x.asnumpy()", "return np.asarray(x)"), names)  # noqa: S102
    with np.errstate(all="ignore"):
        return names["run"](*inputs)


@arrays
@pytest.mark.parametrize("operator", COMPOSED)
def test_composed_programs_agree_with_the_reference(catalogue, operator, surface):
    cases = [case for case in catalogue.cases if case.operator == operator and not case.via and not case.then]
    checked = 0
    for case in cases[::3]:
        program = translate(case, surface)
        if (
            not isinstance(program, Program)
            or program.how != "composed"
            or any(name in program.text for name in NATIVE_CALLS)
        ):
            continue
        expected = compute_expected(case)
        verdict = judge_outcome(ProgramOutcome("returned", (run(program, expected.inputs.values()),)), expected.target)
        assert verdict.verdict == "agree", f"{case.id}: {verdict}"
        checked += 1
    assert checked > 3


def test_the_check_with_numpy_detects_a_wrong_program(made):
    case = made("max_pool", "x: {values: [[[1, 2, 3]]]}, window: [2], dilation: [2]")
    program = translate(case, NPX)
    expected = compute_expected(case)
    broken = Program(program.surface, program.how, program.text.replace(".max(", ".min("))
    results = [run(text, expected.inputs.values()) for text in (program, broken)]
    verdicts = [judge_outcome(ProgramOutcome("returned", (result,)), expected.target).verdict for result in results]
    assert verdicts == ["agree", "differ"]
