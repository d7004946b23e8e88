"""The module `compositions`, with NumPy as the framework: every way to read the cells of a window is compared with the
reference."""

import math
from functools import partial

import numpy as np
import pytest

from conformance.adapters.api import (
    FLOATING,
    ArrayOperations,
    GatheredCells,
    PoolingCompositions,
    StackedCells,
    Step,
    Surface,
    UnfoldedCells,
    Unsupported,
    UnsupportedStep,
    as_lines,
    in_wider_dtype,
    number,
    pairs_for_all_axes,
)
from conformance.cases.operators import OPERATORS, Arithmetic
from conformance.judging.expected import compute_expected
from conformance.judging.verdict import ProgramOutcome, judge_outcome
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.lowering import translate


class Unfoldable(np.ndarray):
    """An array with the methods of PyTorch that unfolded cells need."""

    def unfold(self, axis, size, step):
        """Return the windows of an axis, with their cells on a new last axis."""
        view = np.lib.stride_tricks.sliding_window_view(self, size, axis, subok=True)
        return view[(slice(None),) * axis + (slice(None, None, step),)]

    def flatten(self, start):
        """Return the array with its last axes flattened to one."""
        return self.reshape(*self.shape[:start], math.prod(self.shape[start:]))


def softmax(values, axis):
    """Return the softmax along an axis."""
    weights = np.exp(values - values.max(axis, keepdims=True))
    return weights / weights.sum(axis, keepdims=True)


def operations(axis):
    """Return NumPy's array operations for cells on an axis."""
    return ArrayOperations(
        stack="np.stack({list}{axis})",
        softmax=f"softmax({{x}}, {axis})",
        flat_softmax=f"softmax({{x}}.reshape(len({{x}}), -1), {axis}).reshape({{x}}.shape)",
        norm="(abs({x}) ** {p}).sum({axes}) ** (1 / {p})",
        norms={1: "abs({x}).sum({axes})"},
        ones="np.ones_like(x)",
        where="np.where({condition}, {x}, {other})",
        share="{x} / np.where(total == 0, np.inf, total)",
        draws="draws" if axis == 0 else "draws.reshape({planes}, 1)" if axis == FLAT else "draws[..., None]",
        drawn=f"""\
drawn = windows.cumsum({axis}) > share
first = np.expand_dims(drawn.argmax({axis}), {axis})
np.take_along_axis(windows, first, {axis}).squeeze({axis}) * drawn.any({axis})""",
        pick="np.take_along_axis({x}, windows.argmax(-1)[..., None], -1)[..., 0]",
        move_cells="np.moveaxis({x}, 0, {position})",
    )


FLAT = 3
"""The axis of the cells where all windows of a channel are on one axis."""


def constant_pad(step, *, channels_last=False):
    pairs = tuple(pairs_for_all_axes(step.padding, channels_last=channels_last))
    return f"np.pad(x, {pairs}, constant_values={number(step.parameters['value'])}).view(type(x))"


def stacked(*, channels_last, flattens=False):
    table = operations(0)
    cells = StackedCells(table.stack, channels_last=channels_last)
    pad = partial(constant_pad, channels_last=channels_last)
    return PoolingCompositions(table, cells, pad, channels_last, flattens_softmax=lambda _step: flattens)


GATHER = "{x}.reshape({planes})[:, :, cells]"
COMPOSITIONS = {
    "stacked, channels first": stacked(channels_last=False),
    "stacked, channels last": stacked(channels_last=True, flattens=True),
    "unfolded": PoolingCompositions(operations(-1), UnfoldedCells(), constant_pad),
    "gathered": PoolingCompositions(operations(-1), GatheredCells(GATHER), constant_pad),
    "gathered, flat": PoolingCompositions(operations(FLAT), GatheredCells(GATHER, axis="3", flat=True), constant_pad),
}


def surface(name):
    """Return a surface that composes every operator."""
    composed = COMPOSITIONS[name]
    last = composed.channels_last

    fallbacks = {
        "max_pool": partial(composed.extreme_pool, "max", -math.inf),
        "avg_pool": composed.average_pool,
        "lp_pool": composed.lp_pool,
        "softmax_pool": composed.softmax_pool,
        "max_pool_with_indices": composed.max_pool_with_indices,
        "stochastic_pool_probabilities": composed.stochastic_pool_probabilities,
        "stochastic_pool": composed.stochastic_pool,
        "global_max_pool": partial(composed.global_pool, "max"),
        "adaptive_max_pool": partial(composed.adaptive_pool_by_axis, "max"),
        "adaptive_avg_pool": partial(composed.adaptive_pool_at_once, "mean"),
    }
    if name == "unfolded":
        del fallbacks["max_pool_with_indices"]
    wider = partial(in_wider_dtype, 'x.astype("{}")'.format, {"float16": "float64", "float32": "float64"})
    convert = "{}.view(Unfoldable)" if name == "unfolded" else "np.moveaxis({}, 1, -1)" if last else "{}"
    return Surface(
        name,
        {},
        fallbacks={
            operator: lowering if OPERATORS[operator].arithmetic is Arithmetic.SELECTION else partial(wider, lowering)
            for operator, lowering in fallbacks.items()
        },
        to_framework={"x": convert, "draws": convert},
        to_numpy="np.asarray(np.moveaxis(x, -1, 1))" if last else "np.asarray(x)",
        channels_last=last,
        dtypes={"": FLOATING - {"bfloat16"}},
    )


def run(text, inputs):
    names = {"np": np, "softmax": softmax, "Unfoldable": Unfoldable}
    exec(text, names)  # noqa: S102 - the text of a program
    with np.errstate(all="ignore"):
        return names["run"](*inputs)


@pytest.mark.parametrize(
    ("operator", "name"), [(operator, name) for name in COMPOSITIONS for operator in surface(name).fallbacks]
)
def test_compositions_agree_with_the_reference(catalogue, operator, name):
    composed = surface(name)
    checked = 0
    for case in [case for case in catalogue.cases if case.operator == operator and not case.via and not case.then][::5]:
        program = translate(case, composed)
        if isinstance(program, Unsupported):
            continue
        expected = compute_expected(case)
        outcome = ProgramOutcome("returned", (run(program.text, expected.inputs.values()),))
        verdict = judge_outcome(outcome, expected.target)
        assert verdict.verdict == "agree", f"{case.id}: {verdict}\n{program.text}"
        checked += 1
    assert checked > 1


def test_the_comparison_detects_a_wrong_program(made):
    case = made("softmax_pool", "x: {values: [[[1, 2, 3]]]}, window: [2]")
    text, expected = translate(case, surface("unfolded")).text, compute_expected(case)
    results = [run(program, expected.inputs.values()) for program in (text, text.replace(".sum(", ".max("))]
    verdicts = [judge_outcome(ProgramOutcome("returned", (result,)), expected.target).verdict for result in results]
    assert verdicts == ["agree", "differ"]


def pooling(operator="avg_pool", shape=(1, 1, 7), dtype="float32", **parameters):
    defaults = {"window": (2,), "stride": (2,), "padding": ((0, 0),), "dilation": (1,), "rounding": "floor"}
    counted = {"count_include_pad": False, "divisor": None} if operator == "avg_pool" else {}
    return Step(operator, shape, dtype, {**defaults, **counted, **parameters})


def test_average_with_one_divisor_has_no_function():
    composed = COMPOSITIONS["unfolded"]
    assert composed.average_pool(pooling()) == ("windows = x.unfold(2, 2, 2)", "x = windows.sum((-1,)) / 2")
    assert composed.average_pool(pooling(divisor=5))[-1] == "x = windows.sum((-1,)) / 5"


def test_average_with_different_divisors_divides_by_the_same_sum_of_ones():
    code = COMPOSITIONS["unfolded"].average_pool(pooling(padding=((1, 0),)))
    assert code[0] == "def total(x):"
    assert code[-1] == "x = total(x) / total(np.ones_like(x))"


def test_axis_with_as_many_bins_as_cells_is_unchanged():
    step = Step("adaptive_max_pool", (1, 1, 4, 6), "float32", {"output_size": (4, 3)})
    assert COMPOSITIONS["gathered"].adaptive_pool_by_axis("max", step) == (
        "x = np.stack([x[:, :, :, i:j].max(3) for i, j in [(o, o + 2) for o in range(0, 6, 2)]], 3)",
    )
    assert COMPOSITIONS["gathered"].adaptive_pool_by_axis("max", step.with_parameters(output_size=(4, 6))) == "x"


def test_minimum_of_windows_is_composed_for_integers_only():
    composed = COMPOSITIONS["unfolded"]
    lines = composed.integer_min_pool(pooling("min_pool", dtype="uint8", padding=((1, 0),)))
    assert "constant_values=255)" in lines[0]
    assert lines[1:] == ("windows = x.unfold(2, 2, 2)", "x = windows.min((-1,))")
    assert isinstance(composed.integer_min_pool(pooling("min_pool")), Unsupported)


@pytest.mark.parametrize("rank", [4, 6])
def test_bins_of_many_axes_agree_with_the_reference(rank):
    request = CaseRequest("adaptive_avg_pool", {"output_size": 2}, shape=(1, 2, *[3] * rank))
    expected = compute_expected(request.case())
    text = translate(request.case(), surface("stacked, channels last")).text
    outcome = ProgramOutcome("returned", (run(text, expected.inputs.values()),))
    assert judge_outcome(outcome, expected.target).verdict == "agree", text


def test_constants_of_two_paddings_are_assigned_once():
    def pad(step):
        return ("pads = [1, 0]", f"value = {step.parameters['value']}", "x = Pad(x, pads, value)")

    composed = PoolingCompositions(operations(-1), UnfoldedCells(), pad)
    lines = composed.softmax_pool(pooling("softmax_pool", padding=((1, 0),)))
    assert lines[:5] == (
        "pads = [1, 0]",
        "value = -inf",
        "weights = Pad(x, pads, value)",
        "value = 0",
        "values = Pad(x, pads, value)",
    )


def test_wider_dtype_applies_to_the_dtypes_of_the_table_only():
    lowering = partial(in_wider_dtype, "x.to({})".format, {"float16": "float32"}, lambda step: f"f_{step.dtype}(x)")
    assert lowering(pooling(dtype="float64")) == "f_float64(x)"
    assert lowering(pooling(dtype="float16")) == ("x = x.to(float32)", "x = f_float32(x)", "x = x.to(float16)")
    unsupported = Unsupported("no kernel")
    assert (
        in_wider_dtype(str, {"float16": "float32"}, lambda _step: unsupported, pooling(dtype="float16")) is unsupported
    )


def test_lines_of_an_unsupported_step_do_not_exist():
    with pytest.raises(UnsupportedStep, match="no kernel"):
        as_lines(Unsupported("no kernel"))
