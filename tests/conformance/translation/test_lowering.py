"""Translation of cases to programs: native calls, padding, compositions, gradients and dtypes."""

import ast

import numpy as np
import pytest

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.adapters.api import Bfloat16Conversion, Language, Program, Surface, Unsupported
from conformance.cases.case import Value
from conformance.cases.parsing import parse_case
from conformance.judging.expected import compute_expected
from conformance.judging.tolerance import target_for
from conformance.judging.verdict import ProgramOutcome, judge_outcome
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.lowering import translate
from tests.support.fake_backends import one, surface

X = "x: {values: arange, shape: [1, 1, 4, 4], start: -16}"
PLAIN = f"id: a, {X}, window: 2"
PADDED = f"id: a, {X}, window: 2, padding: 1"
NO_PADDING = Unsupported("this call has no padding", issue="https://example.org/1")


def test_program_in_another_language_has_its_syntax_and_its_constants():
    language = Language(
        "text", lambda names, lines: f"fn({names}) " + " / ".join(lines), lambda array: f"<{array.size} numbers>"
    )
    scale = {"scale": lambda _step: "x * scale"}
    lowerings = {"avg_pool": lambda step: NO_PADDING if step.parameters["divisor"] else "pool(x)"}
    other = Surface("some.surface", lowerings, building_blocks=scale, to_numpy="out(x)", language=language)
    assert translate(one_case("avg_pool"), other).text == "fn(['x']) x = pool(x) / return out(x)"
    rescaled = translate(one_case("avg_pool", divisor=2), other).text
    assert rescaled == "fn(['x']) x = pool(x) / scale = <4 numbers> / x = x * scale / return out(x)"
    assert "no NumPy arrays" in translate(one_case("avg_pool", arrays="fortran"), other).reason


def one_case(operator, **changes):
    raw = {"id": "a", "x": {"values": "arange", "shape": [1, 1, 4, 4]}, "window": 2, **changes}
    return parse_case({"operator": operator, "source": "a test"}, raw, "a test")


def run_program(text, *arrays):
    """Run a program as a worker does."""
    names = {}
    exec(registry.get_backend("numpy").setup, names)  # noqa: S102
    exec(compile(text, "<program>", "exec"), names)  # noqa: S102
    return names["run"](*arrays)


def pooling(step):
    """Lower pooling without padding only, as for a framework whose call has no padding."""
    return NO_PADDING if step.padded else f"pool(x, {step.window}, {step.stride})"


def padding(step):
    return f"pad(x, {step.padding}, {step.parameters['value']!r})"


def sketch(**options):
    return Surface("sketch", {"max_pool": pooling, "pad": padding}, **options)


def test_native_call_comes_first(tmp_path):
    program = translate(one(tmp_path, PLAIN), sketch())
    assert program.how == "native"
    assert program.text == "def run(x):\n    x = pool(x, (2, 2), (2, 2))\n    return x\n"


def compiled(lines, names):
    return "@compiled", f"def forward({', '.join(names)}):", *(f"    {line}" for line in lines), "x = forward(x)"


def test_surface_wraps_the_lines(tmp_path):
    text = translate(one(tmp_path, PADDED), sketch(wrap_program=compiled)).text
    head = "def run(x):\n    @compiled\n    def forward(x):\n        x = pad(x, ((1, 1), (1, 1)), -inf)\n"
    assert text.startswith(head)
    assert text.endswith("    x = forward(x)\n    return x\n")


def gradient_case(tmp_path):
    text = "id: a, grad: {values: integers}, x: {values: arange, shape: [1, 1, 4, 4]}, window: 2"
    return one(tmp_path, text, operator="max_pool_grad")


def differentiated(lines, _names, input_name):
    return [*lines, f"x = derive({input_name})"]


def test_lowering_of_a_gradient_comes_before_differentiation(tmp_path):
    case = gradient_case(tmp_path)
    own = {
        "max_pool": pooling,
        "max_pool_grad": lambda step: f"slope(grad, x, {step.window}, {step.parameters['ties']!r})",
    }
    assert "derive(x)" in translate(case, sketch(write_gradient=differentiated)).text
    program = translate(case, Surface("own", own, write_gradient=differentiated))
    assert program.text == "def run(grad, x):\n    x = slope(grad, x, (2, 2), 'first')\n    return x\n"
    assert program.how == "native"


def test_lowering_of_a_gradient_has_dtypes_too(tmp_path):
    own = {"max_pool_grad": lambda _step: "slope(grad, x)"}
    surface = Surface("own", own, dtypes={"max_pool_grad": frozenset({"float64"})})
    assert translate(gradient_case(tmp_path), surface) == Unsupported("own does not support max_pool_grad in float32")


def test_cases_that_must_be_rejected_are_unsupported_if_calls_check_nothing(tmp_path):
    case = one(tmp_path, f"{PLAIN}, expect: {{rejected: StrideIsZero}}, stride: 0")
    assert isinstance(translate(case, sketch()), Program)
    assert "does not check its arguments" in translate(case, sketch(validates=False)).reason
    assert isinstance(translate(one(tmp_path, PLAIN), sketch(validates=False)), Program)


def test_cases_that_must_be_rejected_are_unsupported_for_an_operator_whose_calls_check_nothing(tmp_path):
    case = one(tmp_path, f"{PLAIN}, expect: {{rejected: StrideIsZero}}, stride: 0")
    reason = translate(case, sketch(unchecked_operators=frozenset({"max_pool"}))).reason
    assert "does not check its arguments" in reason
    assert isinstance(translate(case, sketch(unchecked_operators=frozenset({"avg_pool"}))), Program)


def test_missing_padding_of_max_pool_is_padding_with_minus_infinity(tmp_path):
    program = translate(one(tmp_path, PADDED), sketch())
    assert program.how == "padded"
    assert program.text.splitlines()[1:3] == [
        "    x = pad(x, ((1, 1), (1, 1)), -inf)",
        "    x = pool(x, (2, 2), (2, 2))",
    ]


def test_surface_without_compositions_returns_the_reason_of_the_call(tmp_path):
    program = translate(one(tmp_path, PADDED), sketch(allows_compositions=False))
    assert program == NO_PADDING


def test_fallback_of_a_surface_comes_before_a_rewrite(tmp_path):
    program = translate(one(tmp_path, PADDED), sketch(fallbacks={"max_pool": lambda _step: "own(x)"}))
    assert program.how == "composed"
    assert "own(x)" in program.text


def test_rewrite_that_needs_a_missing_lowering_is_not_used(tmp_path):
    bare = Surface("bare", {"max_pool": pooling})
    unsupported = translate(one(tmp_path, PADDED), bare)
    assert unsupported.reason.startswith(NO_PADDING.reason)
    assert "bare has no pad" in unsupported.reason


def test_operator_that_a_surface_lacks_is_unsupported_with_a_reason(tmp_path):
    case = one(tmp_path, PLAIN, operator="softmax_pool")
    assert translate(case, sketch()) == Unsupported("sketch has no softmax_pool")


def test_dtype_that_a_surface_does_not_take_is_unsupported_with_a_reason(tmp_path):
    case = one(tmp_path, "id: a, x: {values: arange, shape: [1, 1, 4], dtype: int8}, window: 2")
    assert translate(case, sketch()) == Unsupported("sketch does not support max_pool in int8")


NO_KERNEL = Unsupported("not implemented for int8", issue="https://example.org/2")
UNSUPPORTED_DTYPES = {"max_pool": {"int8": NO_KERNEL}}
INT8 = "id: a, x: {values: arange, shape: [1, 1, 4], dtype: int8}, window: 2"


@pytest.mark.parametrize("operator", ["max_pool", ""])
def test_unsupported_dtype_has_the_reason_of_the_framework(tmp_path, operator):
    surface = sketch(unsupported_dtypes={operator: UNSUPPORTED_DTYPES["max_pool"]})
    unsupported = translate(one(tmp_path, INT8), surface)
    assert (unsupported.reason, unsupported.issue) == (NO_KERNEL.reason, NO_KERNEL.issue)


def test_dtype_that_is_unsupported_by_one_operator_is_supported_by_another(tmp_path):
    dtypes = {"max_pool": frozenset({"int8"})}
    surface = sketch(unsupported_dtypes={"pad": UNSUPPORTED_DTYPES["max_pool"]}, dtypes=dtypes)
    assert translate(one(tmp_path, INT8), surface).how == "native"


def test_convention_about_an_unsupported_dtype_uses_the_call(tmp_path):
    text = f"{INT8}, about: b, answers: {{one: {{}}, two: {{rejected: Refused}}}}"
    program = translate(one(tmp_path, text, section="questions"), sketch(unsupported_dtypes=UNSUPPORTED_DTYPES))
    assert "pool(x, (2,), (2,))" in program.text


@pytest.mark.parametrize("section", ["questions", "cases"])
def test_conventions_and_rejections_use_the_native_call_only(tmp_path, section):
    fields = {
        "questions": "about: b, answers: {one: {}, two: {rejected: Refused}}",
        "cases": "dilation: 0, expect: {rejected: DilationIsZero}",
    }
    case = one(tmp_path, f"{PADDED}, {fields[section]}", section=section)
    assert translate(case, sketch(fallbacks={"max_pool": lambda _step: "own(x)"})) == NO_PADDING


def test_convention_uses_a_call_that_the_framework_is_known_to_reject(tmp_path):
    rejecting = Surface(
        "r", {"max_pool": lambda _step: Unsupported("too much", rejected_call="call(x)"), "pad": padding}
    )
    convention = one(
        tmp_path, f"{PADDED}, about: b, answers: {{one: {{}}, two: {{rejected: Refused}}}}", section="questions"
    )
    program = translate(convention, rejecting)
    assert (program.how, "call(x)" in program.text) == ("native", True)
    assert translate(one(tmp_path, PADDED), rejecting) == Unsupported("too much", rejected_call="call(x)")


def test_prescribed_composition_is_used_even_if_a_native_call_exists(tmp_path):
    program = translate(one(tmp_path, f"{PLAIN}, padding: 1, via: [pad, max_pool]"), sketch())
    assert program.how == "composed"
    assert "pad(x, ((1, 1), (1, 1)), 0)" in program.text


def test_inputs_and_output_are_converted(tmp_path):
    channels_last = sketch(to_framework={"x": "to_last({})"}, to_numpy="to_first(x)")
    lines = translate(one(tmp_path, PLAIN), channels_last).text.splitlines()
    assert (lines[1], lines[-1]) == ("    x = to_last(x)", "    return to_first(x)")


def test_equal_programs_of_different_cases_have_equal_digests(tmp_path):
    first, second = (translate(one(tmp_path, text), sketch()) for text in (PLAIN, PLAIN.replace("id: a", "id: b")))
    assert first.digest == second.digest
    assert first.digest != translate(one(tmp_path, PADDED), sketch()).digest


def judged(case, program, surface):
    expected = compute_expected(case)
    got = run_program(program.text, *(array.copy() for array in expected.inputs.values()))
    return judge_outcome(
        ProgramOutcome("returned", (got,)), target_for(expected.target, case, surface, program.how)
    ).verdict


def test_programs_of_the_built_in_backend_agree_with_the_reference(catalogue):
    loops = registry.get_backend("numpy").surfaces[0]
    swept = [case for case in catalogue.cases if case.level != "smoke"]
    for case in [*catalogue.select("smoke"), *swept[::17]]:
        program = translate(case, loops)
        if isinstance(case.expect, Value) and isinstance(program, Program):
            # Zero padding before max pooling is wrong for negative inputs, which these cases show.
            is_wrong = case.via == ("pad", "max_pool") and case.id.endswith("negative")
            # NumPy warns of the NaN that some inputs contain, and of results beyond the range of float16.
            with np.errstate(invalid="ignore", over="ignore"):
                assert judged(case, program, loops) == ("differ" if is_wrong else "agree"), case.id


def test_programs_contain_no_text_of_the_case(tmp_path):
    words = "about: INTRUDER, source: INTRUDER"
    for kind in (PLAIN, PADDED, f"{PADDED}, via: [pad, max_pool]"):
        case = one(tmp_path, f"{kind}, {words}".replace("id: a", "id: intruder"))
        for name in registry.backend_names():
            for backend_surface in registry.get_backend(name).surfaces:
                program = translate(case, backend_surface)
                assert isinstance(program, Unsupported) or "intruder" not in program.text.lower()


def test_program_defines_run_with_the_inputs_of_the_case(tmp_path):
    text = "id: a, x: {values: arange, shape: [1, 1, 4]}, kernel: {values: [[[1]]]}, bias: {values: [1]}"
    conv = Surface("c", {"conv": lambda _step: "conv(x, kernel, bias)"})
    tree = ast.parse(translate(one(tmp_path, text, operator="conv"), conv).text)
    assert [argument.arg for argument in tree.body[0].args.args] == ["x", "kernel", "bias"]


def test_fake_surface_of_these_tests_agrees_with_the_reference(tmp_path):
    case = one(tmp_path, f"id: a, {X}, window: [2, 3], stride: [1, 2]")
    assert judged(case, translate(case, surface("right")), surface("right")) == "agree"


BFLOAT16 = Bfloat16Conversion("numbers({})", "narrow({})", "words(x)")
BFLOAT16_X = "x: {values: arange, shape: [1, 1, 4], dtype: bfloat16}"


def bfloat16_surface(conversion=BFLOAT16, **lowerings):
    dtypes = {"": frozenset({"bfloat16"})}
    return Surface(
        "b",
        {"max_pool": pooling, "pad": padding, **lowerings},
        to_framework={"x": "enter({})"},
        dtypes=dtypes,
        bfloat16=conversion,
    )


def test_bfloat16_is_converted_from_and_to_16_bit_words(tmp_path):
    program = translate(one(tmp_path, f"id: a, {BFLOAT16_X}, window: 2"), bfloat16_surface())
    assert program.text.splitlines()[1::2] == ["    x = numbers(enter(x))", "    return words(x)"]


def test_bfloat16_output_is_not_converted_if_the_framework_returns_bfloat16_arrays(tmp_path):
    program = translate(
        one(tmp_path, f"id: a, {BFLOAT16_X}, window: 2"),
        bfloat16_surface(Bfloat16Conversion("numbers({})", "narrow({})")),
    )
    assert program.text.splitlines()[-1] == "    return x"


@pytest.mark.parametrize(("output", "returned"), [("values", "words(x)"), ("indices", "x")])
def test_indices_of_bfloat16_inputs_are_not_converted(tmp_path, output, returned):
    case = one(tmp_path, f"id: a, {BFLOAT16_X}, window: 2, output: {output}", operator="max_pool_with_indices")
    program = translate(case, bfloat16_surface(max_pool_with_indices=lambda _step: "both(x)"))
    assert program.text.splitlines()[-1] == f"    return {returned}"


def test_bfloat16_constant_is_converted_from_float32(tmp_path):
    average = {"avg_pool": lambda step: Unsupported("has a divisor") if step.parameters["divisor"] else "mean(x)"}
    case = one(tmp_path, f"id: a, {BFLOAT16_X}, window: 2, divisor: 3", operator="avg_pool")
    lines = translate(case, bfloat16_surface(scale=lambda _step: "x * scale", **average)).text.splitlines()
    assert lines[3:5] == ["    scale = np.full((1, 1, 2), 0.66796875, np.float32)", "    scale = narrow(enter(scale))"]


def test_inputs_of_another_dtype_are_not_converted_from_bfloat16(tmp_path):
    indices = "indices: {values: [[[0, 3]]]}"
    case = one(
        tmp_path,
        f"id: a, x: {{values: [[[1, 2]]], dtype: bfloat16}}, {indices}, output_size: 4",
        operator="max_unpool",
    )
    program = translate(case, bfloat16_surface(max_unpool=lambda _step: "unpool(x, indices)"))
    assert program.text.splitlines()[1:3] == ["    x = numbers(enter(x))", "    indices = enter(indices)"]


def test_flat_pads_are_passed_unchanged_to_calls_that_take_them(catalogue):
    convention = catalogue.by_id["pad/order-of-pads"]
    assert convention.parameters["flat_pads"] == (1, 2, 3, 0)
    texts = {surface.name: translate(convention, surface) for surface in registry.get_backend("torch").surfaces}
    assert "F.pad(x, (1, 2, 3, 0))" in texts["torch.nn.functional"].text
    assert "nn.ConstantPad2d((1, 2, 3, 0), 0)(x)" in texts["torch.nn"].text
    others = [translate(convention, surface) for surface in registry.get_backend("tensorflow").surfaces]
    assert all(isinstance(other, Unsupported) for other in others)
    assert "in pairs" in others[0].reason


@pytest.mark.parametrize(
    ("operator", "name", "reason"),
    [
        ("stochastic_pool", "torch.nn", "one to three axes"),
        ("stochastic_pool", "mxnet.nd", "2-D and 3-D data only"),
        ("softmax_pool", "mxnet.nd", "2-D and 3-D data only"),
    ],
)
def test_padding_that_a_composition_cannot_express_is_unsupported(operator, name, reason):
    backend = registry.get_backend(name.partition(".")[0])
    (chosen,) = (surface for surface in backend.surfaces if surface.name == name)
    volume, larger = (
        translate(CaseRequest(operator, {"window": 3, "padding": 1}, shape=(1, 2) + (6,) * rank).case(), chosen)
        for rank in (3, 4)
    )
    assert volume.how == "composed"
    assert isinstance(larger, Unsupported)
    assert reason in larger.reason


ADAPTIVE = "id: a, x: {values: integers, shape: [1, 2, 8, 6]}"


def bins(step):
    """Lower adaptive pooling as a composition that contains the size of the input."""
    return f"slices(x, {step.shape[2:]}, {step.parameters['output_size']})"


def without_adaptive(**options):
    """Return a surface that pools globally and in windows, and composes adaptive pooling of slices."""
    lowerings = {"global_avg_pool": lambda _: "whole(x)", "avg_pool": pooling, **options.pop("lowerings", {})}
    return Surface("sketch", lowerings, **{"fallbacks": {"adaptive_avg_pool": bins}, **options})


@pytest.mark.parametrize(
    ("size", "line"),
    [
        ("1", "whole(x)"),
        ("[1, 1]", "whole(x)"),
        ("2", "pool(x, (4, 3), (4, 3))"),
        ("[1, 6]", "pool(x, (8, 1), (8, 1))"),
        ("[3, 2]", "slices(x, (8, 6), (3, 2))"),
        ("[8, 6]", "slices(x, (8, 6), (8, 6))"),
    ],
)
def test_adaptive_pooling_is_global_pooling_or_pooling_of_equal_bins(tmp_path, size, line):
    program = translate(
        one(tmp_path, f"{ADAPTIVE}, output_size: {size}", operator="adaptive_avg_pool"), without_adaptive()
    )
    assert (program.how, program.text) == ("composed", f"def run(x):\n    x = {line}\n    return x\n")


def adaptive_line(tmp_path, surface):
    case = one(tmp_path, f"{ADAPTIVE}, output_size: 1", operator="adaptive_avg_pool")
    return translate(case, surface).text.splitlines()[1].strip()


def test_native_adaptive_pooling_comes_before_global_pooling(tmp_path):
    native = without_adaptive(lowerings={"adaptive_avg_pool": lambda _: "adaptive(x)"})
    assert adaptive_line(tmp_path, native) == "x = adaptive(x)"


def test_composition_for_every_size_comes_before_global_pooling(tmp_path):
    composed = without_adaptive(fallbacks={"adaptive_avg_pool": lambda _: "adaptive(x)"})
    assert adaptive_line(tmp_path, composed) == "x = adaptive(x)"


def test_global_pooling_may_be_a_composition_of_one_line(tmp_path):
    fallbacks = {"adaptive_avg_pool": bins, "global_avg_pool": lambda _: "reduce(x)"}
    one_line = Surface("sketch", {"avg_pool": pooling}, fallbacks=fallbacks)
    assert adaptive_line(tmp_path, one_line) == "x = reduce(x)"
    lines = {**fallbacks, "global_avg_pool": lambda _: ("x = reduce(x)", "x = reduce(x)")}
    assert adaptive_line(tmp_path, Surface("sketch", {"avg_pool": pooling}, fallbacks=lines)).startswith("x = pool(")


def test_adaptive_pooling_is_composed_where_no_single_call_exists(tmp_path):
    nothing = Surface("sketch", {}, fallbacks={"adaptive_avg_pool": bins})
    assert adaptive_line(tmp_path, nothing) == "x = slices(x, (8, 6), (1, 1))"


def test_surface_without_compositions_has_no_adaptive_pooling(tmp_path):
    case = one(tmp_path, f"{ADAPTIVE}, output_size: 1", operator="adaptive_avg_pool")
    surface = without_adaptive(allows_compositions=False, fallbacks={})
    assert isinstance(translate(case, surface), Unsupported)


@pytest.mark.parametrize(
    ("lowering", "problem"),
    [
        (lambda _step: None, "returned None, which is no source text, tuple of lines or Unsupported"),
        (lambda _step: ["x = x"], "returned ['x = x'], which is no"),
        (lambda _step: ("x = x", None), "returned ('x = x', None), which is no"),
        (lambda _step: 1 / 0, "raised ZeroDivisionError: division by zero (test_lowering.py:"),
        (
            lambda step: step.nothing,
            "raised AttributeError: 'Step' object has no attribute 'nothing' (test_lowering.py:",
        ),
    ],
)
def test_error_of_a_lowering_names_adapter_operator_surface_and_case(tmp_path, lowering, problem):
    case = one(tmp_path, "id: a, x: {values: arange, shape: [1, 1, 4]}, window: 2")
    with pytest.raises(ConformanceError) as error:
        translate(case, Surface("s", {"max_pool": lowering}))
    (line,) = str(error.value).splitlines()
    start = "surface s: case max_pool/a: adapter tests.conformance.translation.test_lowering: <lambda> for max_pool "
    assert line.startswith(start + problem)


def test_call_that_cannot_be_written_for_invalid_parameters_is_unsupported(tmp_path):
    text = "id: a, x: {values: arange, shape: [1, 1, 4]}, window: 2, stride: 0, expect: {rejected: StrideIsZero}"
    program = translate(one(tmp_path, text), Surface("s", {"max_pool": lambda step: f"x[::{1 // step.stride[0]}]"}))
    assert isinstance(program, Unsupported)
    assert program.reason.startswith("the call cannot be written for these parameters: ")
