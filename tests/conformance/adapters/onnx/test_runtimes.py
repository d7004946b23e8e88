"""The module `runtimes` of ONNX."""

from conformance.adapters.api import Unsupported
from conformance.adapters.onnx import runtimes
from conformance.translation.lowering import translate
from tests.conformance.adapters.onnx.programs import ROW
from tests.support.example_steps import pooling_step

SESSION = ("x = run_graph(model, inputs)",)


def test_program_of_a_runtime_ends_with_its_session(made):
    surface = runtimes.runtime_surface("runtime", lambda _step: None, SESSION)
    assert translate(made("max_pool", f"{ROW}, window: [2]"), surface).text.endswith(
        '    model = helper.make_model_gen_version(graph, opset_imports=[helper.make_opsetid("", 26)])\n'
        "    x = run_graph(model, inputs)\n"
        "    return x\n"
    )


def test_weights_are_constants_unless_the_runtime_takes_them_as_inputs(made):
    case = made("conv", f"{ROW}, kernel: {{values: [[[1, 2]]]}}, bias: {{values: [1]}}")
    texts = [
        translate(
            case, runtimes.runtime_surface("runtime", lambda _step: None, SESSION, constant_weights=constant)
        ).text
        for constant in (True, False)
    ]
    assert ["from_array(kernel" in text and "from_array(bias" in text for text in texts] == [True, False]
    assert ['inputs = {"x": x}\n' in text for text in texts] == [True, False]


def test_kernels_of_two_convolutions_are_constants(catalogue):
    surface = runtimes.runtime_surface("runtime", lambda _step: None, SESSION)
    program = translate(catalogue.by_id["conv/then-conv"], surface)
    assert "from_array(kernel, " in program.text
    assert "from_array(kernel1, " in program.text


def test_output_is_the_expression_of_the_runtime(made):
    surface = runtimes.runtime_surface("runtime", lambda _step: None, SESSION, output="typed(y)")
    assert "outputs = [typed(y)]\n" in translate(made("max_pool", f"{ROW}, window: [2]"), surface).text


def test_missing_kernel_gives_the_reason_of_the_schema_first():
    kernels = {"max_pool": frozenset({"float32"})}

    def reason(dtype):
        found = runtimes.missing_kernel(
            kernels,
            lambda node, dtype: Unsupported(f"no {node} in {dtype}"),
            pooling_step("max_pool", (1, 1, 4), dtype),
        )
        return found and found.reason

    assert reason("float32") is None
    assert reason("float64") == "no MaxPool in float64"
    assert reason("int32") == "the schema of MaxPool does not allow int32"


def test_dtypes_that_a_runtime_does_not_support_are_those_of_no_operator():
    unsupported = {"": {"bfloat16": Unsupported("none")}, "pad": {"bool": Unsupported("none")}}
    surface = runtimes.runtime_surface("runtime", lambda _step: None, SESSION, unsupported_dtypes=unsupported)
    assert not surface.supports_anywhere("bfloat16")
    assert surface.supports("max_pool", "bool")
    assert not surface.supports("pad", "bool")


def test_composition_limit_sees_the_source_text(made):
    surface = runtimes.runtime_surface(
        "runtime",
        lambda _step: None,
        SESSION,
        composition_limit=lambda _step, text: Unsupported("no Softmax") if "Softmax(" in text else None,
    )
    unsupported = translate(made("softmax_pool", f"{ROW}, window: [2]"), surface)
    assert "no Softmax" in unsupported.reason
    assert translate(made("min_pool", f"{ROW}, window: [2]"), surface).how == "composed"
