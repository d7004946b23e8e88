import ast

import pytest

from conformance.adapters import registry
from conformance.adapters.api.surface import Bfloat16Conversion, Program, Surface, Unsupported
from conformance.cases.case import Value
from conformance.judging.expected import compute_expected
from conformance.judging.tolerance import target_for
from conformance.judging.verdict import ProgramOutcome, judge_outcome
from conformance.translation.lowering import translate
from tests.support.fake_backends import one, surface

X = "x: {values: arange, shape: [1, 1, 4, 4], start: -16}"
PLAIN = f"id: a, {X}, window: 2"
PADDED = f"id: a, {X}, window: 2, padding: 1"
NOT_PADDED = Unsupported("this call has no padding", issue="https://example.org/1")


def carry_out(text, *arrays):
    """Run a program as a worker does."""
    names = {}
    exec(registry.get_backend("numpy").setup, names)  # noqa: S102
    exec(compile(text, "<program>", "exec"), names)  # noqa: S102
    return names["run"](*arrays)


def pooling(step):
    """Speak of whole windows only, as a framework without padding does."""
    return NOT_PADDED if step.padded else f"pool(x, {step.window}, {step.stride})"


def padding(step):
    return f"pad(x, {step.padding}, {step.parameters['value']!r})"


def sketch(**keywords):
    verbs = {"max_pool": pooling, "pad": padding}
    return Surface("sketch", verbs, **keywords)


def test_own_call_comes_first_and_is_native(tmp_path):
    program = translate(one(tmp_path, PLAIN), sketch())
    assert program.how == "native"
    assert program.text == "def run(x):\n    x = pool(x, (2, 2), (2, 2))\n    return x\n"


def compiled(lines, names):
    return "@compiled", f"def forward({', '.join(names)}):", *(f"    {line}" for line in lines), "x = forward(x)"


def test_surface_makes_one_whole_of_the_lines(tmp_path):
    text = translate(one(tmp_path, PADDED), sketch(wrap=compiled)).text
    head = "def run(x):\n    @compiled\n    def forward(x):\n        x = pad(x, ((1, 1), (1, 1)), -inf)\n"
    assert text.startswith(head)
    assert text.endswith("    x = forward(x)\n    return x\n")


def gradient_case(tmp_path):
    text = "id: a, grad: {values: integers}, x: {values: arange, shape: [1, 1, 4, 4]}, window: 2"
    return one(tmp_path, text, operator="max_pool_grad")


def differentiated(lines, _names, wanted):
    return [*lines, f"x = derive({wanted})"]


def test_gradient_that_a_surface_writes_itself_comes_before_differentiation(tmp_path):
    case = gradient_case(tmp_path)
    own = {
        "max_pool": pooling,
        "max_pool_grad": lambda step: f"slope(grad, x, {step.window}, {step.parameters['ties']!r})",
    }
    assert "derive(x)" in translate(case, sketch(gradient=differentiated)).text
    program = translate(case, Surface("own", own, write_gradient=differentiated))
    assert program.text == "def run(grad, x):\n    x = slope(grad, x, (2, 2), 'first')\n    return x\n"
    assert program.how == "native"


def test_gradient_that_a_surface_writes_itself_has_dtypes_too(tmp_path):
    own = {"max_pool_grad": lambda _step: "slope(grad, x)"}
    refusal = translate(gradient_case(tmp_path), Surface("own", own, dtypes={"max_pool_grad": frozenset({"float64"})}))
    assert refusal == Unsupported("own does not support max_pool_grad in float32")


def test_nothing_that_must_be_rejected_is_put_to_calls_that_check_nothing(tmp_path):
    case = one(tmp_path, f"{PLAIN}, expect: {{rejected: StrideIsZero}}, stride: 0")
    assert isinstance(translate(case, sketch()), Program)
    assert "checks nothing" in translate(case, sketch(checks=False)).reason
    assert isinstance(translate(one(tmp_path, PLAIN), sketch(checks=False)), Program)


def test_missing_padding_is_written_with_the_value_that_never_wins(tmp_path):
    program = translate(one(tmp_path, PADDED), sketch())
    assert program.how == "padded"
    assert program.text.splitlines()[1:3] == [
        "    x = pad(x, ((1, 1), (1, 1)), -inf)",
        "    x = pool(x, (2, 2), (2, 2))",
    ]


def test_surface_that_allows_no_compositions_says_why_not(tmp_path):
    program = translate(one(tmp_path, PADDED), sketch(compositions=False))
    assert program == NOT_PADDED


def test_composition_that_a_surface_writes_itself_comes_before_a_rewriting(tmp_path):
    program = translate(one(tmp_path, PADDED), sketch(composed={"max_pool": lambda _step: "own(x)"}))
    assert program.how == "composed"
    assert "own(x)" in program.text


def test_rewriting_that_needs_a_missing_verb_is_not_used(tmp_path):
    bare = Surface("bare", {"max_pool": pooling})
    refusal = translate(one(tmp_path, PADDED), bare)
    assert refusal.reason.startswith(NOT_PADDED.reason)
    assert "bare has no pad" in refusal.reason


def test_operator_that_a_surface_lacks_is_unsupported_with_a_reason(tmp_path):
    case = one(tmp_path, PLAIN, operator="softmax_pool")
    assert translate(case, sketch()) == Unsupported("sketch has no softmax_pool")


def test_dtype_that_a_surface_does_not_take_is_unsupported_with_a_reason(tmp_path):
    case = one(tmp_path, "id: a, x: {values: arange, shape: [1, 1, 4], dtype: int8}, window: 2")
    assert translate(case, sketch()) == Unsupported("sketch does not support max_pool in int8")


NO_KERNEL = Unsupported("not implemented for int8", issue="https://example.org/2")
REFUSING = {"max_pool": {"int8": NO_KERNEL}}
INT8 = "id: a, x: {values: arange, shape: [1, 1, 4], dtype: int8}, window: 2"


@pytest.mark.parametrize("verb", ["max_pool", ""])
def test_dtype_that_the_framework_refuses_has_the_framework_s_reason(tmp_path, verb):
    refusal = translate(one(tmp_path, INT8), sketch(refuses={verb: REFUSING["max_pool"]}))
    assert (refusal.reason, refusal.issue) == (NO_KERNEL.reason, NO_KERNEL.issue)


def test_dtype_that_one_verb_refuses_is_no_matter_of_another(tmp_path):
    taking = {"max_pool": frozenset({"int8"})}
    assert translate(one(tmp_path, INT8), sketch(refuses={"pad": REFUSING["max_pool"]}, dtypes=taking)).how == "native"


def test_question_about_a_dtype_is_put_to_the_call_that_the_framework_is_known_to_refuse(tmp_path):
    text = f"{INT8}, about: b, answers: {{one: {{}}, two: {{rejected: Refused}}}}"
    program = translate(one(tmp_path, text, section="questions"), sketch(refuses=REFUSING))
    assert "pool(x, (2,), (2,))" in program.text


@pytest.mark.parametrize("section", ["questions", "cases"])
def test_question_and_fault_get_the_own_call_or_nothing(tmp_path, section):
    further = {
        "questions": "about: b, answers: {one: {}, two: {rejected: Refused}}",
        "cases": "dilation: 0, expect: {rejected: DilationIsZero}",
    }
    case = one(tmp_path, f"{PADDED}, {further[section]}", section=section)
    assert translate(case, sketch(composed={"max_pool": lambda _step: "own(x)"})) == NOT_PADDED


def test_question_is_put_to_a_call_that_the_framework_is_known_to_refuse(tmp_path):
    refusing = Surface(
        "r", {"max_pool": lambda _step: Unsupported("too much", rejected_call="call(x)"), "pad": padding}
    )
    question = one(
        tmp_path, f"{PADDED}, about: b, answers: {{one: {{}}, two: {{rejected: Refused}}}}", section="questions"
    )
    program = translate(question, refusing)
    assert (program.how, "call(x)" in program.text) == ("native", True)
    assert translate(one(tmp_path, PADDED), refusing) == Unsupported("too much", rejected_call="call(x)")


def test_composition_that_a_case_asks_for_is_written_even_where_a_call_exists(tmp_path):
    program = translate(one(tmp_path, f"{PLAIN}, padding: 1, via: [pad, max_pool]"), sketch())
    assert program.how == "composed"
    assert "pad(x, ((1, 1), (1, 1)), 0)" in program.text


def test_layout_is_changed_on_the_way_in_and_out(tmp_path):
    last = sketch(enter={"x": "to_last({})"}, leave="to_first(x)")
    lines = translate(one(tmp_path, PLAIN), last).text.splitlines()
    assert (lines[1], lines[-1]) == ("    x = to_last(x)", "    return to_first(x)")


def test_equal_texts_have_equal_digests_whatever_the_case(tmp_path):
    one_text, other = (translate(one(tmp_path, text), sketch()) for text in (PLAIN, PLAIN.replace("id: a", "id: b")))
    assert one_text.digest == other.digest
    assert one_text.digest != translate(one(tmp_path, PADDED), sketch()).digest


def judged(case, program, surface):
    wanted = compute_expected(case)
    got = carry_out(program.text, *(array.copy() for array in wanted.inputs.values()))
    return judge_outcome(
        ProgramOutcome("returned", (got,)), target_for(wanted.target, case, surface, program.how)
    ).verdict


def test_every_program_of_the_built_in_backend_agrees_with_the_reference_but_for_the_recipe(catalogue):
    loops = registry.get_backend("numpy").surfaces[0]
    swept = [case for case in catalogue.cases if case.level != "smoke"]
    for case in [*catalogue.select("smoke"), *swept[::17]]:
        program = translate(case, loops)
        if isinstance(case.expect, Value) and isinstance(program, Program):
            recipe = case.via == ("pad", "max_pool") and case.id.endswith("negative")
            assert judged(case, program, loops) == ("differ" if recipe else "agree"), case.id


def test_no_word_of_a_case_gets_into_a_program(tmp_path):
    words = "about: INTRUDER, source: INTRUDER"
    for kind in (PLAIN, PADDED, f"{PADDED}, via: [pad, max_pool]"):
        case = one(tmp_path, f"{kind}, {words}".replace("id: a", "id: intruder"))
        for name in registry.backend_names():
            for speaking in registry.get_backend(name).surfaces:
                program = translate(case, speaking)
                assert isinstance(program, Unsupported) or "intruder" not in program.text.lower()


def test_program_is_python_that_defines_run_with_the_inputs_of_the_case(tmp_path):
    text = "id: a, x: {values: arange, shape: [1, 1, 4]}, kernel: {values: [[[1]]]}, bias: {values: [1]}"
    conv = Surface("c", {"conv": lambda _step: "conv(x, kernel, bias)"})
    tree = ast.parse(translate(one(tmp_path, text, operator="conv"), conv).text)
    assert [argument.arg for argument in tree.body[0].args.args] == ["x", "kernel", "bias"]


def test_fake_surface_of_these_tests_is_right(tmp_path):
    case = one(tmp_path, f"id: a, {X}, window: [2, 3], stride: [1, 2]")
    assert judged(case, translate(case, surface("right")), surface("right")) == "agree"


BFLOAT16 = Bfloat16Conversion("numbers({})", "narrow({})", "words(x)")
HALVES = "x: {values: arange, shape: [1, 1, 4], dtype: bfloat16}"


def bfloat16(words=BFLOAT16, **verbs):
    taken = {"": frozenset({"bfloat16"})}
    return Surface(
        "b",
        {"max_pool": pooling, "pad": padding, **verbs},
        to_framework={"x": "enter({})"},
        dtypes=taken,
        bfloat16=words,
    )


def test_bfloat16_comes_in_and_goes_out_as_words(tmp_path):
    program = translate(one(tmp_path, f"id: a, {HALVES}, window: 2"), bfloat16())
    assert program.text.splitlines()[1::2] == ["    x = numbers(enter(x))", "    return words(x)"]


def test_words_of_a_dtype_that_the_framework_s_arrays_know_leave_as_they_are(tmp_path):
    program = translate(
        one(tmp_path, f"id: a, {HALVES}, window: 2"), bfloat16(Bfloat16Conversion("numbers({})", "narrow({})"))
    )
    assert program.text.splitlines()[-1] == "    return x"


@pytest.mark.parametrize(("output", "leave"), [("values", "words(x)"), ("indices", "x")])
def test_indices_of_bfloat16_are_no_bfloat16(tmp_path, output, leave):
    case = one(tmp_path, f"id: a, {HALVES}, window: 2, output: {output}", operator="max_pool_with_indices")
    program = translate(case, bfloat16(max_pool_with_indices=lambda _step: "both(x)"))
    assert program.text.splitlines()[-1] == f"    return {leave}"


def test_bfloat16_that_a_program_writes_out_is_float32_narrowed(tmp_path):
    average = {"avg_pool": lambda step: Unsupported("has a divisor") if step.parameters["divisor"] else "mean(x)"}
    case = one(tmp_path, f"id: a, {HALVES}, window: 2, divisor: 3", operator="avg_pool")
    lines = translate(case, bfloat16(scale=lambda _step: "x * scale", **average)).text.splitlines()
    assert lines[3:5] == ["    scale = np.full((1, 1, 2), 0.66796875, np.float32)", "    scale = narrow(enter(scale))"]


def test_inputs_of_another_dtype_beside_bfloat16_come_in_as_they_are(tmp_path):
    indices = "indices: {values: [[[0, 3]]]}"
    case = one(
        tmp_path,
        f"id: a, x: {{values: [[[1, 2]]], dtype: bfloat16}}, {indices}, output_size: 4",
        operator="max_unpool",
    )
    program = translate(case, bfloat16(max_unpool=lambda _step: "unpool(x, indices)"))
    assert program.text.splitlines()[1:3] == ["    x = numbers(enter(x))", "    indices = enter(indices)"]


def test_a_flat_list_of_pads_reaches_the_calls_that_take_one_as_it_stands(catalogue):
    question = catalogue.by_id["pad/order-of-pads"]
    assert question.parameters["flat_pads"] == (1, 2, 3, 0)
    texts = {surface.name: translate(question, surface) for surface in registry.get_backend("torch").surfaces}
    assert "F.pad(x, (1, 2, 3, 0))" in texts["torch.nn.functional"].text
    assert "nn.ConstantPad2d((1, 2, 3, 0), 0)(x)" in texts["torch.nn"].text
    others = [translate(question, surface) for surface in registry.get_backend("tensorflow").surfaces]
    assert all(isinstance(other, Unsupported) for other in others)
    assert "in pairs" in others[0].reason
