"""The adapter of ONNX: surfaces, and source text that runs around programs."""

from conformance.adapters.api import Unsupported
from conformance.translation.lowering import translate
from tests.conformance.adapters.onnx.programs import EVALUATOR, PLANE, ROW, RUNTIME, both, nodes


def test_evaluator_runs_the_same_model(made):
    case = made("max_pool", f"{PLANE}, window: [2, 1], stride: [2, 1]")
    runtime, evaluator = (translate(case, surface).text.splitlines() for surface in (RUNTIME, EVALUATOR))
    assert evaluator[:-2] == runtime[:-3]
    assert evaluator[-2:] == ["    (x,) = ReferenceEvaluator(model).run(None, inputs)", "    return x"]


def test_evaluator_crops_with_a_slice_and_the_runtime_with_negative_pads(made):
    case = made("pad", f"{ROW}, pads: [[-1, 1]]")
    assert [node.split('"')[1] for node in nodes(translate(case, EVALUATOR))] == ["Slice", "Pad"]
    assert [node.split('"')[1] for node in nodes(translate(case, RUNTIME))] == ["Pad"]


def test_evaluator_pads_explicitly_if_max_pool_would_read_out_of_bounds(made):
    case = made("max_pool", f"{ROW}, window: [2], stride: [1], padding: [[1, 0]]")
    assert translate(case, EVALUATOR).how == "padded"
    assert translate(case, RUNTIME).how == "native"


@both
def test_gradients_are_unsupported(made, surface):
    case = made("global_avg_pool_grad", f"{ROW}, grad: {{values: [[[1]]]}}")
    assert translate(case, surface) == Unsupported(f"{surface.name} computes no gradients")
