from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import reference
from conformance import CatalogueError
from conformance.cases.compositions import (
    COMPOSITIONS,
    average_pool_as_convolution,
    max_pool_from_relu,
    min_pool_as_negated_max,
    pad_zeros_then_pool,
    plan_steps,
)
from conformance.cases.steps import BUILDING_BLOCK_EXTENTS, BuildingBlock, Step, case_step
from conformance.translation.rewrites import REWRITES
from tests.support.fake_backends import one
from tests.support.run_steps import pooling_step_for, run_steps


@st.composite
def walks(draw, *, padded=True, roundings=("floor",), low=-50):
    """Draw an integer input with one to three spatial axes, and window parameters for it."""
    rank = draw(st.integers(1, 3))

    def axes(least, most):
        return tuple(draw(st.integers(least, most)) for _ in range(rank))

    window, dilation, stride, size = axes(1, 3), axes(1, 2), axes(1, 3), axes(1, 5)
    pads = tuple(zip(axes(0, 2), axes(0, 2), strict=True)) if padded else ((0, 0),) * rank
    x = np.random.default_rng(draw(st.integers(0, 99))).integers(low, 50, (1, 2, *size)).astype(np.float64)
    rounding = draw(st.sampled_from(roundings))
    parameters = {"window": window, "stride": stride, "padding": pads, "dilation": dilation, "rounding": rounding}
    extents = zip(window, dilation, size, pads, strict=True)
    assume(all(d * (w - 1) < n + sum(pair) for w, d, n, pair in extents))
    return x, parameters


ROUNDINGS = ("floor", "ceil", "full")


@given(walks(padded=False))
def test_average_is_a_convolution_with_equal_weights(walk):
    x, parameters = walk
    step = pooling_step_for(x, "avg_pool", **parameters)
    assert np.allclose(run_steps(average_pool_as_convolution(step), x), reference.avg_pool(x, **parameters), rtol=1e-12)


@given(walks())
def test_average_that_counts_padding_is_that_convolution_too(walk):
    x, parameters = walk
    step = pooling_step_for(x, "avg_pool", **parameters, count_include_pad=True)
    wanted = reference.avg_pool(x, **parameters, count_include_pad=True)
    assert np.allclose(run_steps(average_pool_as_convolution(step), x), wanted, rtol=1e-12, atol=1e-12)


@given(walks(roundings=ROUNDINGS))
def test_minimum_is_the_negated_maximum_of_the_negated(walk):
    x, parameters = walk
    step = pooling_step_for(x, "min_pool", **parameters)
    assert np.array_equal(run_steps(min_pool_as_negated_max(step), x), reference.min_pool(x, **parameters))


@given(walks(low=0))
def test_written_zeros_are_padding_where_no_value_is_negative(walk):
    x, parameters = walk
    wanted = np.maximum(reference.max_pool(x, **parameters), 0)  # a window of nothing but padding gives -inf
    assert np.array_equal(run_steps(pad_zeros_then_pool(pooling_step_for(x, **parameters)), x), wanted)


@given(walks())
def test_written_zeros_differ_exactly_where_a_negative_value_wins_a_window_with_padding(walk):
    x, parameters = walk
    step = pooling_step_for(x, **parameters)
    plain, written = reference.max_pool(x, **parameters), run_steps(pad_zeros_then_pool(step), x)
    cells = np.prod(step.window)
    touches = step.windows.counts(False) < cells
    assert np.array_equal(written != plain, (plain < 0) & touches)


@pytest.mark.parametrize("word", ["max_pool", "min_pool", "avg_pool"])
@given(walk=walks(roundings=ROUNDINGS), counted=st.booleans(), divisor=st.none() | st.integers(1, 9))
def test_every_rewriting_is_the_operator_that_it_rewrites(word, walk, counted, divisor):
    x, parameters = walk
    further = {"count_include_pad": counted, "divisor": divisor} if word == "avg_pool" else {}
    step = pooling_step_for(x, word, **parameters, **further)
    assume(word != "avg_pool" or divisor is not None or (step.windows.counts(counted) > 0).all())
    wanted = getattr(reference, word)(x, **parameters, **further)
    for rewrite in REWRITES[word]:
        steps = rewrite(step)
        if steps:
            assert np.allclose(run_steps(steps, x), wanted, rtol=1e-12, atol=1e-12), rewrite.__name__


@given(walks())
def test_every_rewriting_of_a_convolution_is_that_convolution(walk):
    x, parameters = walk
    given = {name: parameters[name] for name in ("stride", "padding", "dilation")}
    kernel = np.random.default_rng(1).integers(-9, 9, (3, 2, *parameters["window"])).astype(np.float64)
    step = Step("conv", x.shape, "float64", {**given, "groups": 1}, kernel.shape, constants={"kernel": kernel})
    wanted = reference.conv(x, kernel, **given)
    for rewrite in REWRITES["conv"]:
        steps = rewrite(step)
        if steps:
            assert np.array_equal(run_steps(steps, x), wanted), rewrite.__name__


@given(st.lists(st.tuples(st.integers(-2, 3), st.integers(-2, 3)), min_size=1, max_size=3), st.data())
def test_cropping_first_and_adding_then_is_padding_with_both(pads, data):
    x = np.arange(1.0, 1 + 5 ** len(pads)).reshape(1, 1, *[5] * len(pads))
    value = data.draw(st.integers(-3, 3))
    step = pooling_step_for(x, window=1)
    step = Step("pad", x.shape, "float64", {"pads": tuple(pads), "mode": "constant", "value": value})
    for rewrite in REWRITES["pad"]:
        steps = rewrite(step)
        assert bool(steps) == any(end < 0 for pair in pads for end in pair)
        if steps:
            assert np.array_equal(run_steps(steps, x), reference.pad(x, pads, value=value))


@pytest.mark.parametrize(
    ("composition", "verb", "parameters"),
    [
        (average_pool_as_convolution, "avg_pool", {"divisor": 3}),
        (average_pool_as_convolution, "avg_pool", {"rounding": "ceil"}),
        (average_pool_as_convolution, "avg_pool", {"padding": 1}),
        (pad_zeros_then_pool, "max_pool", {"rounding": "full"}),
        (max_pool_from_relu, "max_pool", {"padding": 1}),
        (max_pool_from_relu, "max_pool", {"rounding": "ceil"}),
    ],
)
def test_composition_refuses_what_it_cannot_express(composition, verb, parameters):
    x = np.zeros((1, 1, 5, 5))
    with pytest.raises(ValueError, match="the composition needs"):
        composition(pooling_step_for(x, verb, window=2, **parameters))


def test_maximum_from_relu_is_for_one_channel():
    with pytest.raises(ValueError, match="one channel, not 2"):
        max_pool_from_relu(pooling_step_for(np.zeros((1, 2, 5)), window=2))


def test_operator_that_follows_reads_the_shape_before_it(tmp_path):
    text = "id: a, x: {values: arange, shape: [1, 3, 9, 9]}, window: 2, then: [{operator: avg_pool, window: [2, 1]}]"
    first, second = plan_steps(one(tmp_path, text))
    assert second.shape == first.output == (1, 3, 4, 4)
    assert second.output == (1, 3, 2, 4)
    assert second.parameters["count_include_pad"] is False


def test_every_composition_of_the_catalogue_is_what_the_reference_says_or_has_a_known_reason(catalogue):
    composed = [case for case in catalogue.cases if case.via]
    assert {(case.operator, case.via) for case in composed} == set(COMPOSITIONS)
    for case in composed:
        x = case.inputs["x"].make()
        plain = getattr(reference, case.operator)(x, **case.parameters)
        same = np.allclose(run_steps(plan_steps(case), x), plain, rtol=1e-6)
        assert same is not (case.via == ("pad", "max_pool") and bool((x < 0).all())), case.id


def test_a_window_too_large_for_convolutions_and_relu_is_rejected_at_once(tmp_path):
    text = "id: a, x: {values: arange, shape: [1, 1, 40, 40]}, window: [40, 40], via: [conv, relu]"
    with pytest.raises(CatalogueError, match="needs a window of at most 100 cells, not 1600"):
        one(tmp_path, text)


def test_every_building_block_has_an_output_size():
    assert BUILDING_BLOCK_EXTENTS.keys() == {*BuildingBlock}
    assert Step("relu", (2, 3, 4, 5), "float32").output == (2, 3, 4, 5)


def columns(operator, shape, **parameters):
    given = {"window": (2,), "stride": (1,), "padding": ((0, 0),), "dilation": (1,), "order": "crd", **parameters}
    return Step(operator, shape, "float32", given)


def test_columns_have_a_channel_for_each_cell_of_a_window():
    unfold = columns("unfold", (2, 3, 7), stride=(2,), padding=((1, 0),))
    assert unfold.output == (2, 6, 4)
    fold = columns("fold", (2, 6, 4), stride=(2,), padding=((1, 0),), output_size=(7,))
    assert fold.output == (2, 3, 7)
    assert fold.windows.output == (4,)


@pytest.mark.parametrize("size", [(4, 5), (2, 3, 4)])
def test_a_grid_has_its_axes_last(size):
    axes = len(size)
    step = Step("affine_grid", (7, axes, axes + 1), "float32", {"grid_size": size, "align_corners": False})
    assert step.output == (7, *size, axes)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_offsets_have_a_number_for_each_axis_and_masks_one_for_each_cell(rank, tmp_path):
    kernel = [4, 2, *[2] * rank]
    text = f"id: a, x: {{values: integers, shape: {[3, 4, *[5] * rank]}}}, groups: 2, offset_groups: 4, "
    text += f"kernel: {{values: integers, shape: {kernel}}}, offset: {{values: integers}}, mask: {{values: integers}}"
    case = one(tmp_path, text, operator="deform_conv")
    assert case.inputs["offset"].shape == (3, 4 * rank * 2**rank, *[4] * rank)
    assert case.inputs["mask"].shape == (3, 4 * 2**rank, *[4] * rank)
    assert case_step(case).output == (3, 4, *[4] * rank)
    assert case_step(case).mask
    assert not case_step(replace(case, inputs={"x": case.inputs["x"], "kernel": case.inputs["kernel"]})).mask


def test_channels_that_a_window_does_not_divide_have_no_output():
    with pytest.raises(ValueError, match="5 cannot be divided by 2"):
        assert columns("fold", (1, 5, 6), output_size=(7,)).output


@pytest.mark.parametrize("order", ["crd", "dcr"])
def test_rewrites_of_padded_columns_give_the_same_result(order):
    x = np.arange(12.0, dtype=np.float32).reshape(1, 2, 6)
    padded = columns("unfold", x.shape, padding=((1, 2),), order=order)
    pad, unfold = REWRITES["unfold"][0](padded)
    got = reference.unfold(reference.pad(x, **pad.parameters), **unfold.parameters)
    np.testing.assert_array_equal(got, reference.unfold(x, **padded.parameters))

    folded = columns("fold", got.shape, padding=((1, 2),), output_size=(6,), order=order)
    fold, crop = REWRITES["fold"][0](folded)
    assert crop.operator == BuildingBlock.CROP
    expected = reference.fold(got, **folded.parameters)
    np.testing.assert_array_equal(reference.pad(reference.fold(got, **fold.parameters), **crop.parameters), expected)
    assert crop.output == expected.shape
    assert REWRITES["fold"][0](columns("fold", (1, 2, 5), output_size=(6,))) == ()
