"""Programs that pass their arrays in another memory layout, as NumPy arrays, twice, or before they are overwritten."""

import json

import numpy as np
import pytest

from conformance import ConformanceError
from conformance.adapters.api import Surface, Unsupported
from conformance.cases.case import NUMPY_USES, ArrayUse
from conformance.cases.parsing import parse_case
from conformance.cases.schema import catalogue_folder
from conformance.translation.lowering import translate

VALUES = np.arange(24, dtype=np.float32).reshape(2, 3, 4) % 7


def case_with(use, values=None, **changes):
    raw = {"id": "x", "x": {"values": (VALUES if values is None else values).tolist()}, "window": [2], "stride": [2]}
    raw |= changes | ({"arrays": use} if use else {})
    return parse_case({"operator": "max_pool", "source": "a test"}, raw, "a test")


def surface(line="x = pool(x)", **fields):
    return Surface("some.surface", {"max_pool": lambda _step: (line,)}, **fields)


def run(use, pool, *, values=None, **fields):
    """Run the program of a case with a function `pool` as the framework."""
    program = translate(case_with(use, values), surface(**fields))
    namespace = {"np": np, "pool": pool}
    exec(program.text, namespace)  # noqa: S102 - the program of the test
    return namespace["run"](np.array(VALUES if values is None else values, np.float32))


def seen_by_call(use, values=None):
    """Return the array that the call receives."""
    seen = []

    def pool(x):
        seen.append(x)
        return x.copy()

    result = run(use, pool, values=values)
    np.testing.assert_array_equal(result, VALUES if values is None else values)
    return seen[-1]


def test_every_use_passes_the_same_numbers():
    for use in set(ArrayUse) - NUMPY_USES - {ArrayUse.EXPANDED, ArrayUse.OVERWRITTEN}:
        np.testing.assert_array_equal(seen_by_call(use), VALUES)


@pytest.mark.parametrize(
    ("use", "has_property"),
    [
        (None, lambda x: x.flags.c_contiguous and x.flags.writeable and x.base is None),
        ("fortran", lambda x: x.flags.f_contiguous and not x.flags.c_contiguous),
        ("transposed", lambda x: x.strides[1] == x.itemsize and not x.flags.c_contiguous),
        ("strided", lambda x: x.strides[-1] == 2 * x.itemsize),
        ("byte_swapped", lambda x: not x.dtype.isnative),
        ("read_only", lambda x: not x.flags.writeable),
        ("offset", lambda x: x.__array_interface__["data"][0] == x.base.__array_interface__["data"][0] + x.itemsize),
        ("view", lambda x: not x.flags.c_contiguous and x.base.shape == (4, 5, 6)),
    ],
)
def test_memory_has_the_property(use, has_property):
    assert has_property(seen_by_call(use))


def test_expanded_batch_has_a_stride_of_zero():
    equal = np.broadcast_to(VALUES[:1], VALUES.shape)
    assert seen_by_call("expanded", equal).strides[0] == 0


def test_expanded_batch_needs_equal_items():
    with pytest.raises(ValueError, match="'arrays': expanded needs a batch of equal items"):
        case_with("expanded")


def test_second_call_gives_the_result():
    calls = []

    def pool(x):
        calls.append(x)
        return x + len(calls)

    np.testing.assert_array_equal(run("twice", pool), VALUES + 2)


def test_change_of_the_input_shows_in_the_second_call():
    def pool(x):
        x += 1
        return x.copy()

    np.testing.assert_array_equal(run("twice", pool), VALUES + 2)


@pytest.mark.parametrize(("pool", "expected"), [(lambda x: x, 0 * VALUES), (lambda x: x.copy(), VALUES)])
def test_shared_memory_shows_after_the_caller_overwrites_its_arrays(pool, expected):
    np.testing.assert_array_equal(run("overwritten", pool), expected)


def test_numpy_arrays_are_not_converted():
    fields = {"to_framework": {"x": "convert({})"}, "numpy_inputs": {"x": "np.moveaxis({}, 1, -1)"}}
    program = translate(case_with("numpy"), surface(**fields))
    assert "x = np.moveaxis(x, 1, -1)\n" in program.text
    assert "convert" not in program.text


def test_second_call_gets_the_numpy_arrays_of_the_first():
    fields = {"to_framework": {"x": "convert({})"}, "numpy_inputs": {"x": "np.moveaxis({}, 1, -1)"}}
    program = translate(case_with("numpy_twice"), surface(**fields))
    calls = []
    exec(program.text, namespace := {"np": np, "pool": lambda x: calls.append(x) or x})  # noqa: S102
    namespace["run"](np.array(VALUES, np.float32))
    assert [one.shape for one in calls] == [np.moveaxis(np.array(VALUES), 1, -1).shape] * 2
    np.testing.assert_array_equal(*calls)


@pytest.mark.parametrize("use", sorted(NUMPY_USES))
def test_surface_without_numpy_inputs_does_not_support_them(use):
    assert translate(case_with(use), surface()) == Unsupported(
        "some.surface has no calls that take NumPy arrays in place of its own arrays"
    )


def test_array_of_one_axis_is_not_transposed():
    raw = {"id": "x", "x": {"values": VALUES.tolist()}, "kernel": {"values": [[[1], [1], [1]]]}}
    raw |= {"bias": {"values": [1]}, "arrays": "transposed"}
    case = parse_case({"operator": "conv", "source": "a test"}, raw, "a test")
    program = translate(case, Surface("some.surface", {"conv": lambda _step: "convolve(x, kernel, bias)"}))
    assert program.text.count("np.moveaxis") == 4
    assert "bias = " not in program.text


def test_schema_lists_every_use():
    schema = json.loads((catalogue_folder() / "schema.json").read_text("utf-8"))
    assert schema["$defs"]["arrays"]["enum"] == list(ArrayUse)


def test_unknown_use_is_an_error(tmp_path):
    from conformance.catalogue.loading import load_catalogue  # noqa: PLC0415

    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "max_pool.yaml").write_text(
        "operator: max_pool\nsource: a test\ncases:\n"
        "  - {id: x, arrays: shared, x: {values: [[[1, 2]]]}, window: [2], stride: [2]}\n"
    )
    with pytest.raises(ConformanceError, match=r"max_pool\.yaml:4: case x: key 'arrays': .*such as strided"):
        load_catalogue([tmp_path])
