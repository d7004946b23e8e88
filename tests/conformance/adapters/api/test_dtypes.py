"""Sets of dtypes, and lowerings of operators that a framework lacks."""

from conformance.adapters.api import (
    ALL_DTYPES,
    FLOATING,
    INTEGERS,
    Step,
    Unsupported,
    is_floating,
    unsupported_lowering,
    unsupported_operators,
)


def test_every_dtype_is_floating_an_integer_or_bool():
    assert {"bfloat16", "float16", "float32", "float64"} == FLOATING
    assert len(INTEGERS) == 8
    assert FLOATING | INTEGERS | {"bool"} == ALL_DTYPES


def test_bfloat16_is_floating_although_numpy_has_no_kind_for_it():
    assert is_floating(Step("pad", (1, 1, 2), "bfloat16"))
    assert not is_floating(Step("pad", (1, 1, 2), "bool"))


def test_operator_that_a_framework_lacks_is_reported_with_its_reason():
    step = Step("min_pool", (1, 1, 2), "float32")
    assert unsupported_lowering("there is none")(step) == Unsupported("there is none")
    lowerings = unsupported_operators({"min_pool": "no minimum", "lp_pool": "no norm"})
    assert [lowerings[name](step).reason for name in ("min_pool", "lp_pool")] == ["no minimum", "no norm"]
