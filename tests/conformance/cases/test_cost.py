import itertools

import pytest
from hypothesis import given, strategies as st

from conformance.cases.cost import operator_cost
from tests.support.fake_backends import one


def counted(size, window, stride, pads):
    """Count the cells of each window with loops: over the padded input, and over real cells only."""
    starts = [
        range(0, n + before + after - w + 1, s)
        for n, w, s, (before, after) in zip(size, window, stride, pads, strict=True)
    ]
    windows = [
        [tuple(a + o for a, o in zip(start, offset, strict=True)) for offset in itertools.product(*map(range, window))]
        for start in itertools.product(*starts)
    ]

    def real(cell):
        return all(before <= a < before + n for a, n, (before, _) in zip(cell, size, pads, strict=True))

    return [len(cells) for cells in windows], [sum(map(real, cells)) for cells in windows]


def pooling(folder, operator, *, shape, window, stride, pads):
    text = f"id: a, x: {{values: integers, shape: {list(shape)}}}, window: {list(window)}, stride: {list(stride)}"
    return one(folder, f"{text}, padding: {[list(pair) for pair in pads]}", operator=operator)


@given(st.data())
def test_operations_are_those_that_a_count_cell_by_cell_gives(tmp_path_factory, data):
    rank = data.draw(st.integers(1, 2))
    axes = [st.integers(low, high) for low, high in ((3, 6), (1, 3), (1, 3))]
    size, window, stride = (tuple(data.draw(axis) for _ in range(rank)) for axis in axes)
    pads = tuple((data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))) for _ in range(rank))
    whole, real = counted(size, window, stride, pads)
    planes = 6
    for operator, kind in (("max_pool", "comparisons"), ("avg_pool", "additions")):
        folder = tmp_path_factory.mktemp("cost")
        case = pooling(folder, operator, shape=(2, 3, *size), window=window, stride=stride, pads=pads)
        found = operator_cost(case)
        assert found.windows == planes * len(whole)
        assert found.operations[kind] == (
            planes * sum(n - 1 for n in whole),
            planes * sum(max(n - 1, 0) for n in real),
        )


def test_pooling_of_the_book_costs_what_a_hand_counts(catalogue):
    found = operator_cost(catalogue.by_id["max_pool/book-stride-2-padding-1"])
    assert found.windows == 4
    assert found.operations == {"comparisons": (4 * 8, 3 + 5 + 5 + 8)}
    assert (found.bytes_read, found.bytes_written) == (16 * 4, 4 * 4)


def test_average_costs_one_division_more_for_each_window(catalogue):
    found = operator_cost(catalogue.by_id["avg_pool/book-loops"])
    assert found.operations == {"additions": (12, 12), "divisions": (4, 4)}


def test_convolution_costs_a_product_for_each_weight(catalogue):
    case = catalogue.by_id["conv/book-strided-28-to-14"]
    found = operator_cost(case)
    assert found.windows == 196
    assert found.operations["multiplications"][0] == 196 * 27
    assert found.operations["additions"][0] == 196 * (26 + 1)
    assert found.bytes_read == 4 * (3 * 28 * 28 + 27 + 1)
    assert found.operations["multiplications"][1] < 196 * 27


@pytest.mark.parametrize("text", ["stride: 0, expect: {rejected: StrideIsZero}"])
def test_case_without_meaning_costs_nothing(tmp_path, text):
    assert operator_cost(one(tmp_path, f"id: a, x: {{values: arange, shape: [1, 1, 4]}}, window: 2, {text}")) is None


def test_question_that_leaves_a_parameter_out_has_no_cost(catalogue):
    assert operator_cost(catalogue.by_id["max_pool/stride-when-none-is-given"]) is None


def test_padding_equal_to_the_window_costs_most_where_there_is_nothing(catalogue):
    price = operator_cost(catalogue.by_id["max_pool/padding-equal-to-window"])
    assert (price.windows, price.operations) == (16, {"comparisons": (16 * 3, 4 * 3)})


def test_cost_of_a_composition_is_that_of_the_plain_operator(catalogue):
    plain, composed = (
        operator_cost(catalogue.by_id[f"max_pool/book-{name}"])
        for name in ("padding-above-and-left", "zero-padding-recipe")
    )
    assert plain == composed
