"""The module `dtypes` of LiteRT."""

from conformance.adapters.api import Unsupported
from conformance.adapters.litert.dtypes import KERNEL_DTYPES, XNNPACK_DTYPES, limit_floats, unsupported_dtypes
from conformance.cases.steps import Step


def lowered(dtype, dtypes):
    lowering = limit_floats({"avg_pool": lambda _step: "call"}, dtypes)["avg_pool"]
    return lowering(Step("avg_pool", (1, 1, 2, 2), dtype))


def test_floating_dtypes_without_a_kernel_have_no_call_that_could_be_rejected():
    assert isinstance(lowered("float16", KERNEL_DTYPES), Unsupported)
    assert lowered("float16", XNNPACK_DTYPES) == "call"
    assert lowered("int32", KERNEL_DTYPES) == "call"


def test_every_dtype_has_a_kernel_or_a_reason():
    reasons = unsupported_dtypes(KERNEL_DTYPES)
    assert not reasons["max_pool"].keys() & KERNEL_DTYPES["max_pool"]
    assert "REDUCE_MAX has no kernel for uint64" in reasons["global_max_pool"]["uint64"].reason
