"""The parser of layer calls: names and values as text, never evaluated."""

import pytest

from conformance.adapters.api import PlainName, UnreadableLayer, parse_layer_call
from conformance.adapters.api.layer_parser import LayerSyntax

SYNTAX = LayerSyntax(
    ("nn", "torch.nn"),
    apply_methods=("apply",),
    ignored_methods=("numpy",),
    name_function="make",
    ignored_arguments=frozenset({"device"}),
)


def parse(text, syntax=SYNTAX):
    return parse_layer_call(text, syntax)


@pytest.mark.parametrize(
    "text",
    ["nn.Pool(2, pad=1)", "y = nn.Pool(2, pad=1)", "Pool(2, pad=1)(x)", "nn.Pool(2, pad=1).apply({}, x).numpy()"],
)
def test_call_is_found_in_an_assignment_and_before_its_input(text):
    found = parse(text)
    assert (found.name, found.arguments, found.keywords) == ("Pool", (2,), {"pad": 1})


def test_module_before_the_name_is_known():
    assert parse("torch.nn.Pool(2)").module == "torch.nn"
    with pytest.raises(UnreadableLayer):
        parse("other.Pool(2)")


def test_name_may_be_the_first_argument_of_a_function():
    found = parse('make("Pool", [1, 2])')
    assert (found.name, found.arguments) == ("Pool", ((1, 2),))


@pytest.mark.parametrize(
    ("text", "index"), [("nn.Pool(2)(x)", None), ("nn.Pool(2)(x)[1]", 1), ("Pool(2).output(0)", 0)]
)
def test_index_of_the_result_that_is_used(text, index):
    assert parse(text).result_index == index


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-3", -3),
        ("(1, [2, -3])", (1, (2, -3))),
        ("None", None),
        ("True", True),
        ("'same'", "same"),
        ("np.float32(2.5)", 2.5),
        ("jnp.array([1, 2], x.dtype)", (1, 2)),
    ],
)
def test_values_are_numbers_strings_and_lists_of_these(text, value):
    assert parse(f"nn.Pool({text})").arguments == (value,)


def test_names_are_not_resolved():
    (value,) = parse("nn.Pool(-np.inf)").arguments
    assert (value, type(value)) == ("-np.inf", PlainName)
    (reshaped,) = parse("nn.Pool(ops.reshape(w, [2, 3], False))").arguments
    assert (reshaped, reshaped.shape) == ("w", (2, 3))


def test_ignored_arguments_may_have_any_value():
    assert parse("nn.Pool(2, device=f(1)[0])").keywords == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nn.Pool(2 + 2)", "column 9: BinOp"),
        ("nn.Pool(*sizes)", "unpacked arguments"),
        ("nn.Pool(**sizes)", "unpacked arguments"),
        ("nn.Pool(x.__class__)", "is not allowed as an argument"),
        ("nn.Pool(float('1e9'))", "'1e9' is not a number"),
        ("nn.Pool(-'a')", "a minus sign before something that is not a number"),
        ("nn.Pool(open('file'))", "Call is neither"),
    ],
)
def test_other_expressions_are_unreadable(text, message):
    with pytest.raises(UnreadableLayer) as caught:
        parse(text)
    assert message in str(caught.value)
