"""The drawing of windows reads the same input cells as the reference."""

import itertools

import numpy as np
import pytest

import reference
from conformance.cases.operators import drawing_properties
from reports.results import load_report
from reports.views.html import render_html
from tests.support import example_results as example

WINDOW_PARAMETERS = list(
    itertools.product(
        [1, 2, 3],
        [2, 3],
        [1, 2, 3],
        [0, 1, (0, 2), (-1, 1), "same_upper", "same_lower"],
        [1, 2],
        ["floor", "ceil", "full"],
    )
)
ENDS = [(0, 0), (1, 2), (-1, 1), (2, -2)]
MODES = ["constant", "edge", "reflect", "symmetric", "wrap"]
# For each output, the largest value that the drawing reads from the last plane of x; null if it reads only padding.
LARGEST = """
() => Report.data.cases.map((one) => {
  const { shape } = one.inputs.x;
  const plane = [shape[0] - 1, shape[1] - 1];
  const first = (plane[0] * shape[1] + plane[1]) * shape.slice(2).reduce((all, size) => all * size, 1);
  const found = Report.geometry(one, plane);
  if (!found) return [one.id, null];
  const sizes = found.axes.map((axis) => axis.size);
  const join = (places, list) => places.flatMap((place) => list.map((at) => [...place, at]));
  const every = (lists) => lists.reduce(join, [[]]);
  const flat = (place) => place.reduce((position, index, axis) => position * sizes[axis] + index, 0);
  const real = (place) => Report.kindAt(found.axes, place) === "input";
  const outputs = every(found.outputs.map((count) => Array.from({ length: count }, (_, at) => at)));
  return [one.id, outputs.map((output) => {
    const read = every(found.reads(output)).filter(real);
    return read.length ? Math.max(...read.map((place) => one.inputs.x.data[first + flat(place)])) : null;
  })];
})
"""


def written(array):
    return example.array([value if np.isfinite(value) else str(value) for value in array.ravel().tolist()], array.shape)


def distinct(rank):
    shape = (1, 1, *(7, 6, 5)[:rank])
    return np.random.default_rng(rank).permutation(np.prod(shape)).reshape(shape).astype(np.float32) + 1


def pools():
    for number, (rank, window, stride, padding, dilation, rounding) in enumerate(WINDOW_PARAMETERS):
        ends = padding if isinstance(padding, str) else [list(np.broadcast_to(padding, 2).tolist())] * rank
        shared = {
            "window": [window] * rank,
            "stride": [stride] * rank,
            "dilation": [dilation] * rank,
            "rounding": rounding,
        }
        x = distinct(rank)
        try:
            y = reference.max_pool(x, padding=ends, **shared)
        except ValueError:
            continue
        yield example.case(f"max_pool/{number}", written(x), written(y), parameters={**shared, "padding": ends}), y


def others():
    for rank, size in itertools.product([1, 2, 3], [1, 2, 3, 5]):
        x = distinct(rank)
        y = reference.adaptive_max_pool(x, [size] * rank)
        yield (
            example.case(
                f"adaptive_max_pool/{rank}-{size}", written(x), written(y), parameters={"output_size": [size] * rank}
            ),
            y,
        )
    for rank, ends, mode in itertools.product([1, 2], ENDS, MODES):
        x = distinct(rank)
        y = reference.pad(x, [ends] * rank, mode=mode, value=0)
        parameters = {"pads": [list(ends)] * rank, "mode": mode, "value": 0}
        yield example.case(f"pad/{rank}-{ENDS.index(ends)}-{mode}", written(x), written(y), parameters=parameters), y
    x = distinct(2)
    y = reference.global_max_pool(x)
    yield example.case("global_max_pool/2d", written(x), written(y), parameters={}), y


def fractional():
    """Yield fractional pooling of two planes with one sample per plane."""
    rng = np.random.default_rng(7)
    for rank, window, size, dtype in itertools.product([1, 2, 3], [1, 2, 3], [1, 2, 3], [np.float32, np.float64]):
        x = np.concatenate([distinct(rank), distinct(rank)[..., ::-1]], axis=1)
        samples = rng.random((1, 2, rank)).astype(dtype)
        y = reference.fractional_max_pool(x, [window] * rank, [size] * rank, samples)
        parameters = {"window": [window] * rank, "output_size": [size] * rank}
        inputs = {"x": written(x), "samples": written(samples)}
        name = f"fractional_max_pool/{rank}-{window}-{size}-{np.dtype(dtype).name}"
        yield example.case(name, written(x), written(y), parameters=parameters, inputs=inputs), y[:, 1:]


def unpooled():
    """Yield unpooling of two planes with random indices, some of them omitted or repeated."""
    rng = np.random.default_rng(7)
    for rank, size, number in itertools.product([1, 2, 3], [2, 3, 5], range(6)):
        x = np.concatenate([distinct(rank), distinct(rank)[..., ::-1]], axis=1)[..., :3]
        indices = rng.integers(-1, size**rank, x.shape)
        y = reference.max_unpool(x, indices, [size] * rank)
        inputs = {"x": written(x), "indices": example.array(indices.ravel().tolist(), indices.shape, "int64")}
        name = f"max_unpool/{rank}-{size}-{number}"
        yield (
            example.case(name, written(x), written(y), parameters={"output_size": [size] * rank}, inputs=inputs),
            y[:, 1:],
        )


@pytest.fixture
def drawn(visit, tmp_path):
    """Return what the drawing reads for each output of some cases, by case."""

    def evaluate(cases):
        results = [example.result(case["case"], "k.nn") for case in cases]
        records = [example.header("k", ["k.nn"]), *cases, example.program("k.nn"), *results, example.footer(results)]
        path = tmp_path / "report.html"
        path.write_text(
            render_html(load_report(example.write(tmp_path, records)), operators=drawing_properties()), encoding="utf-8"
        )
        return dict(visit(path).evaluate(LARGEST))

    return evaluate


@pytest.mark.parametrize("made", [pools, others, fractional, unpooled])
def test_drawing_reads_the_same_cells_as_the_reference(drawn, made):
    cases = list(made())
    assert len(cases) > 50
    found = drawn([case for case, _ in cases])
    for case, y in cases:
        expected = [value if np.isfinite(value) and value else None for value in y.ravel().tolist()]
        assert found[case["case"]] == expected, str(case["parameters"])


def test_transposed_convolution_reads_contributing_cells(drawn):
    x, kernel = np.arange(1, 5, dtype=np.float32).reshape(1, 1, 4), np.ones((1, 1, 3), np.float32)
    parameters = {"stride": [2], "padding": [[1, 0]], "dilation": [1], "groups": 1, "output_padding": [1]}
    y = reference.conv_transpose(x, kernel, stride=2, padding=[(1, 0)], dilation=1, groups=1, output_padding=1)
    inputs = {"x": written(x), "kernel": written(kernel)}
    case = example.case("conv_transpose/a", written(x), written(y), inputs=inputs, parameters=parameters)
    expected = [
        max((i + 1 for i in range(4) for k in range(3) if 2 * i + k - 1 == o), default=None) for o in range(y.size)
    ]
    assert drawn([case]) == {"conv_transpose/a": expected}


def test_invalid_cases_and_contradicting_shapes_have_no_drawing(drawn):
    x, correct = example.SQUARE, example.array([5, 7, 13, 15], [1, 1, 2, 2])
    cases = [
        example.case("max_pool/right", x, correct),
        example.case("max_pool/wrong", x, example.array([5], [1, 1, 1, 1])),
        example.case(
            "max_pool/zero", x, {"rejected": "StrideNotPositive"}, parameters={"window": [2, 2], "stride": [0, 1]}
        ),
        example.case("max_unpool/none", x, correct, parameters={"output_size": [2, 2]}),
        example.case("fractional_max_pool/none", x, correct, parameters={"window": [2, 2], "output_size": [2, 2]}),
        example.case(
            "max_pool/texts", x, correct, parameters={"window": "x", "stride": {}, "padding": [["a"]], "dilation": 1}
        ),
    ]
    found = drawn(cases)
    assert {name for name, read in found.items() if read is not None} == {"max_pool/right"}
