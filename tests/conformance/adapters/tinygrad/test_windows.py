"""The module `windows` of tinygrad."""

from tests.conformance.adapters.tinygrad.programs import ROW, lines


def test_minimum_of_integers_is_the_complement_of_the_maximum_of_complements():
    assert lines("min_pool", x={**ROW, "dtype": "int8"}, window=2, stride=2) == [
        "x = ~x",
        "x = x.max_pool2d((2,))",
        "x = ~x",
    ]
