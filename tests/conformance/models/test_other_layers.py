import pytest

from conformance.models.layer import Model
from conformance.models.other_layers import other_layer_notes

BATCH_NORM = {"BatchNorm2d": [{"eps": 1e-5, "momentum": 0.1}]}


def notes(targets, surface="torch.nn", settings=BATCH_NORM):
    return list(other_layer_notes(Model("m", surface, (), {"BatchNorm2d": 2}, settings=settings), targets))


def test_numbers_of_the_model_are_compared_with_the_defaults_of_the_target():
    assert notes(["keras-jax.layers", "keras-torch.layers", "onnxruntime"]) == [
        "BatchNorm2d with eps=1e-05, momentum=0.1 in the model: set epsilon (torch eps=1e-05; keras epsilon=0.001); "
        "momentum (torch momentum=0.1, the weight of the new value; keras momentum=0.99, the weight of the old value)."
    ]


@pytest.mark.parametrize("targets", [["onnxruntime"], ["torch.nn.functional"], []])
def test_without_defaults_of_the_target_the_numbers_are_stated(targets):
    assert notes(targets) == ["BatchNorm2d with eps=1e-05, momentum=0.1 in the model."]


def test_a_class_and_a_function_of_one_kind_are_one_check():
    keras = {"BatchNormalization": [{"epsilon": 1e-3, "momentum": 0.99}]}
    (text,) = notes(["torch.nn"], "keras-jax.layers", keras)
    assert text.count("epsilon (keras") == 1
    assert text.count("momentum (keras") == 1


def test_the_value_of_the_model_counts_and_not_its_default():
    (text,) = notes(["flax.linen"], settings={"BatchNorm2d": [{"eps": 1e-3, "momentum": None}]})
    assert "epsilon (torch eps=0.001; flax epsilon=1e-05)" in text
    assert "momentum=None in the model" in text


def test_a_number_of_a_file_is_not_longer_than_what_it_means():
    (text,) = notes(
        ["keras-jax.layers"], "onnx.reference", {"BatchNormalization": [{"epsilon": 9.999999747378752e-06}]}
    )
    assert "epsilon (onnx epsilon=1e-05; keras epsilon=0.001)" in text


@pytest.mark.parametrize(
    ("kind", "settings", "target", "expected"),
    [
        (
            "GELU",
            {"approximate": "none"},
            "flax.linen",
            "approximation (torch approximate='none'; flax approximate=True)",
        ),
        ("GELU", {"approximate": "tanh"}, "flax.linen", ""),
        ("gelu", {"approximate": "tanh"}, "keras-jax.layers", "keras activations.gelu approximate=False)"),
        ("GELU", {"approximate": "none"}, "keras-jax.layers", "keras ops.gelu approximate=True)"),
        ("LeakyReLU", {"negative_slope": 0.01}, "keras-jax.layers", "keras LeakyReLU negative_slope=0.3)"),
        ("leaky_relu", {"negative_slope": 0.01}, "flax.linen", ""),
        ("ELU", {"alpha": 0.5}, "flax.linen", "alpha (torch alpha=0.5; flax alpha=1)"),
        ("Softplus", {"beta": 2}, "flax.linen", "beta (torch beta=2; flax has none, and computes with 1)"),
        ("Softplus", {"beta": 1}, "flax.linen", ""),
        ("Upsample", {"mode": "nearest", "align_corners": None}, "keras-jax.layers", ""),
        ("batch_norm", {"eps": 1e-4, "momentum": 0.1}, "flax.linen", "epsilon (torch eps=0.0001; flax epsilon=1e-05)"),
    ],
)
def test_words_and_functions_are_compared_like_numbers(kind, settings, target, expected):
    (text,) = other_layer_notes(Model("m", "torch.nn", (), {kind: 1}, settings={kind: [settings]}), [target])
    assert expected in text
    assert (": set " in text) is bool(expected)


def test_a_node_is_compared_with_a_function_that_has_no_argument():
    settings = {"HardSigmoid": [{"alpha": 0.20000000298023224}]}
    (text,) = other_layer_notes(Model("m", "onnx.reference", (), {}, settings=settings), ["flax.linen"])
    assert "slope (onnx alpha=0.2; flax has none, and computes with 0.166667)" in text
