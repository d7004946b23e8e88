"""Invalid parameters of every operator raise only ValueError or TypeError, with a message that names the problem.

HYPOTHESIS_PROFILE=nightly draws 10,000 examples an operator in place of 30.
"""

import os
import re
import signal
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import reference
from tests.properties.test_against_loops import drawn
from tests.support import valid_calls

wildly = drawn if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else settings(drawn, max_examples=30)

# Messages without the parameter's name: two parameters, or a parameter and an array, do not fit.
TOGETHER = [
    r"(window|kernel) \d+( \(dilated to \d+\))? exceeds the padded input \d+ on axis \d",
    r"grad has shape \(.*\): the output has \(.*\)",
    r"bias has shape \(.*\): expected \(\d+,\), one per output channel",
    r"index -?\d+ must be at least -1 and less than the \d+ cells of a plane \(.*\)",
    r"kernel takes \d+ channels: x has \d+",
    r"\d+ windows of \d+ exceed the input \d+ on axis \d: .*",
    r"(.*: )?(output|output_size) \(.*\) makes \d+ elements a plane: at most \d+",
    r"x has extents \(.*\): output_size \(.*\) has \(.*\) windows",
    r"(draws|samples) have shape \(.*\): expected \(.*\), one per .*",
    r"(offset|mask) has shape \(.*\): expected \(.*\), \(n, offset_groups · cells.*, …\)",
    r"(draws|samples) has dtype .*: accepted are .*",
]
SECONDS = 20
SPARE_BYTES = 64 * 2**20


class Hung(BaseException):
    """Raised by the alarm. Not a subclass of Exception, so that no handler catches it."""


@contextmanager
def guarded(*arrays):
    """Limit processor time and memory inside the block. Yields a list for the results."""

    def ring(*_):
        raise Hung

    results = []
    # Processor time, so that other processes of the machine do not matter.
    former = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    tracemalloc.start()
    try:
        yield results
        # NumPy reports every array to tracemalloc.
        peak = tracemalloc.get_traced_memory()[1]
        allowed = sum(array.nbytes for array in [*arrays, *results])
        assert peak <= allowed + SPARE_BYTES
    finally:
        tracemalloc.stop()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, former)


def attempt(name, arrays, parameters):
    """Run an operator. Return the message of its error, or None."""
    with guarded(*(array for array in arrays if isinstance(array, np.ndarray))) as results:
        try:
            result = reference.OPERATORS[name](*arrays, **parameters)
        except (ValueError, TypeError) as error:
            return str(error)
        results.extend(exact.value for exact in (result if isinstance(result, tuple) else (result,)))
    return None


def quotes(message, value):
    """Return whether a message contains a value, or one of its entries."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    entries = list(value) if isinstance(value, (list, tuple, range, set, dict)) else []
    if str(value) in message or repr(value) in message:
        return True
    return any(quotes(message, entry) for entry in entries)


def says_what_is_wrong(message, parameter, value):
    if any(re.fullmatch(pattern, message) for pattern in TOGETHER):
        return True
    return parameter in message and quotes(message, value)


@pytest.mark.parametrize("name", reference.OPERATORS)
def test_every_wrong_value_is_refused_in_words_that_name_it(name):
    arrays, parameters = valid_calls.call(name)
    for parameter in valid_calls.parameter_names(name):
        for value in [*valid_calls.NUMBERS, *valid_calls.OTHERS]:
            message = attempt(name, arrays, {**parameters, parameter: value})
            assert message is None or says_what_is_wrong(message, parameter, value), (parameter, value, message)


@pytest.mark.parametrize("name", reference.OPERATORS)
def test_a_missing_parameter_is_a_type_error_and_an_unknown_one_too(name):
    arrays, parameters = valid_calls.call(name)
    for left_out in parameters:
        with pytest.raises(TypeError, match=left_out):
            reference.OPERATORS[name](*arrays, **{key: v for key, v in parameters.items() if key != left_out})
    with pytest.raises(TypeError, match="unlike"):
        reference.OPERATORS[name](*arrays, **parameters, unlike=1)


@pytest.mark.parametrize("name", reference.OPERATORS)
def test_every_wrong_dtype_and_rank_of_every_array_is_refused_by_name(name):
    arrays, parameters = valid_calls.call(name)
    for place, array_name in enumerate(valid_calls.array_names(name)):
        for dtype in ("complex64", "object", "U1", "datetime64[s]", ">f4"):
            wrong = [*arrays]
            wrong[place] = arrays[place].astype(dtype)
            message = attempt(name, wrong, parameters)
            assert message is not None, (array_name, dtype)
            assert re.search(rf"\b{array_name}\b.*\bdtype\b.*accepted", message), message
        for shape in ((), (4,), (2, 2), (1,) * 7):
            wrong = [*arrays]
            wrong[place] = np.zeros(shape, arrays[place].dtype)
            message = attempt(name, wrong, parameters)
            if message is not None:
                assert re.search(
                    r"\b(x|kernel|bias|grad|indices|windows?|output_size|pads|groups|draws|samples|offset|mask)\b",
                    message,
                ), message


def anything():
    scalars = st.sampled_from([*valid_calls.NUMBERS, *valid_calls.OTHERS])
    small = st.integers(-3, 9)
    entries = st.one_of(small, scalars, st.tuples(small, small))
    return st.one_of(small, scalars, st.lists(entries, max_size=4), st.lists(small, min_size=2, max_size=2))


def any_array():
    def make(shape, dtype, fill):
        return np.full(shape, fill).astype(dtype)

    fills = st.sampled_from([0, 1, 3])
    return st.builds(make, st.sampled_from(valid_calls.SHAPES), st.sampled_from(valid_calls.DTYPES), fills)


@pytest.mark.parametrize("name", reference.OPERATORS)
def test_wild_calls_return_or_refuse(name):
    arrays, parameters = valid_calls.call(name)
    names = valid_calls.parameter_names(name)

    @wildly
    @given(st.data())
    def call(data):
        drawn_arrays = [array if data.draw(st.booleans()) else data.draw(any_array()) for array in arrays]
        changed = data.draw(st.dictionaries(st.sampled_from(names), anything(), max_size=4)) if names else {}
        message = attempt(name, drawn_arrays, {**parameters, **changed})
        known = "|".join([*valid_calls.array_names(name), *names, "indices", "channels"])
        # A whole word: the x of "exceeds" is no array.
        assert message is None or re.search(rf"\b({known})s?\b", message), message

    call()
