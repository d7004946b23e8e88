import pytest

from conformance.models.layer import MAX_NUMBER, Model, ModelLayer, validated

CONV = {"stride": [2, 2], "padding": [[1, 1], [1, 1]], "dilation": [1, 1], "groups": 1}


def conv(**changed):
    fields = {"name": "a", "operator": "conv", "parameters": CONV, "shape": [1, 4, 9, 9], "kernel": [8, 4, 3, 3]}
    return validated(ModelLayer(**{**fields, **changed}))


def test_a_layer_has_tuples_in_place_of_lists():
    assert conv().parameters["padding"] == ((1, 1), (1, 1))
    assert conv().problem == ""


def test_the_text_of_a_layer_names_parameters_channels_and_extents():
    assert conv().text == "conv, window 3, stride 2, padding 1; 4 → 8 channels, 9 x 9"
    assert conv(dtype="float16").text.endswith("9 x 9, float16")


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"operator": "relu"}, "unknown operator 'relu'"),
        ({"operator": "conv_grad"}, "unknown operator"),
        ({"dtype": "complex64"}, "unknown dtype"),
        ({"shape": [1, 4]}, "is not (n, c, *spatial)"),
        ({"shape": [1, 4, 9]}, "does not have a value for each"),
        ({"shape": [1, 4, 0, 9]}, "is not positive"),
        ({"shape": [1, 5, 9, 9]}, "do not fit 5 channels"),
        ({"kernel": [8, 4, 3]}, "do not fit its input"),
        ({"kernel": [7, 2, 3, 3], "parameters": {**CONV, "groups": 2}}, "7 output channels are not a multiple of 2"),
        ({"parameters": {**CONV, "groups": 0}}, "in 0 groups"),
        ({"parameters": {**CONV, "colour": 1}}, "has no parameter 'colour'"),
        ({"parameters": {**CONV, "stride": 2}}, "of a wrong type"),
        ({"parameters": {**CONV, "stride": [2, 0]}}, "stride [2, 0] contains 0"),
        ({"parameters": {**CONV, "stride": [2, MAX_NUMBER + 1]}}, "above the limit"),
    ],
)
def test_an_impossible_layer_is_one_with_a_problem(changed, problem):
    assert problem in conv(**changed).problem


def test_layers_with_equal_geometry_are_one_case_whatever_their_names_and_batches():
    layers = (conv(), conv(name="b", shape=[7, 4, 9, 9]), conv(name="c", bias=True), conv(name="d", dtype="float64"))
    groups = Model("m", "s", layers).distinct_layers()
    assert [[layer.name for layer in group] for group in groups.values()] == [["a", "b"], ["c"], ["d"]]


def test_layers_with_different_problems_are_different():
    layers = tuple(ModelLayer(name, problem=name) for name in "ab")
    assert len(Model("m", "s", layers).distinct_layers()) == 2


def test_weights_that_were_too_large_to_write_are_left_out():
    assert conv(weights={"kernel": None}).weights == {}
