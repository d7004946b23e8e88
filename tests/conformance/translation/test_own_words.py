"""Programs that contain the framework's own words in place of numbers."""

import re
from dataclasses import replace

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program, Unsupported
from conformance.cases.case import WORDS_KEY
from conformance.translation.lowering import translate
from reports.results.vocabulary import How, Level

WORDS = {
    "onnx.reference": (
        r"Conv.*auto_pad='SAME_UPPER'",
        r"AveragePool.*auto_pad='SAME_LOWER'",
        r"auto_pad='VALID'",
        r"ConvTranspose.*auto_pad='SAME_UPPER'",
        r"storage_order=1",
        r"AveragePool.*count_include_pad=1",
    ),
    "openvino.opset": (r'auto_pad="same_upper"', r'auto_pad="same_lower"', r'auto_pad="valid"'),
    "torch.nn": (
        r'padding="same"',
        r'padding="valid"',
        r'padding_mode="zeros"',
        r"count_include_pad=True",
        *(
            rf'Conv{rank}d\(.*padding_mode="{mode}"'
            for rank in (1, 2, 3)
            for mode in ("reflect", "replicate", "circular")
        ),
        r'padding="same", padding_mode="reflect"',
    ),
    "torch.nn.functional": (
        r'padding="same"',
        r'F\.pad\(x, \(-.*mode="reflect"\)',
        r'F\.pad\(x, \(-.*mode="replicate"\)',
        r'F\.pad\(x, \(-.*mode="circular"\)',
    ),
    "torch.channels_last": (
        r'F\.conv2d\(.*padding="same"',
        r'F\.conv2d\(.*padding="valid"',
        r"count_include_pad=True",
        r'F\.pad\(x, \(-.*mode="reflect"\)',
    ),
    "tinygrad.Tensor": (r"count_include_pad=True", r'x\.pad\(.*-.*mode="reflect"\)', r'x\.pad\(.*mode="circular"\)'),
    "tf.nn.nchw": (
        r'tf\.nn\.depthwise_conv2d\(x, .*, \(1, 1, 2, 2\), "SAME", data_format="NCHW"\)',
        r'tf\.nn\.depthwise_conv2d\(.*dilations=.*data_format="NCHW"\)',
        r'tf\.nn\.max_pool.*"SAME"',
    ),
    "tf.nn": (
        r"tf\.nn\.depthwise_conv2d",
        r'tf\.nn\.conv2d\(.*"SAME"',
        r'tf\.nn\.separable_conv2d\(.*"SAME", dilations=\[1, 2\]',
        r"tf\.nn\.separable_conv2d\(.*\[\[0, 0\], \[1, 0\], \[0, 2\], \[0, 0\]\]",
    ),
    "tf.keras.layers": (
        r"SeparableConv1D",
        r"SeparableConv2D",
        r"depth_multiplier=2",
        r"DepthwiseConv1D",
        r"DepthwiseConv2D",
        r'padding="causal"',
        r'strides=3, padding="same"',
    ),
    "keras-jax.layers": (r"SeparableConv1D", r"SeparableConv2D", r"DepthwiseConv2D", r'padding="causal"'),
    "keras-jax.ops": (r"keras\.ops\.depthwise_conv\(", r"keras\.ops\.separable_conv\("),
    "jax.lax": (r'"SAME"', r'"SAME_LOWER"', r'"VALID"'),
    "flax.linen": (r'"REFLECT"', r'"CIRCULAR"'),
    "flax.nnx": (r'"SAME"', r'"SAME_LOWER"', r'"CAUSAL"', r'"REFLECT"', r'"CIRCULAR"'),
    "mxnet.npx": (r"global_pool=True, pad=", r"count_include_pad=True"),
}


@pytest.fixture(scope="module")
def cases(catalogue):
    return [case for case in catalogue.cases if case.parameters.get(WORDS_KEY) and case.level <= Level.STANDARD]


def surface_of(name):
    surfaces = [one for backend in registry.backend_names() for one in registry.get_backend(backend).surfaces]
    return next(one for one in surfaces if one.name == name)


@pytest.mark.parametrize("name", WORDS)
def test_every_word_is_in_a_program_of_level_standard(cases, name):
    programs = [translate(case, surface_of(name)) for case in cases]
    texts = [program.text for program in programs if isinstance(program, Program)]
    assert [word for word in WORDS[name] if not any(re.search(word, text) for text in texts)] == []


def test_surface_without_a_word_does_not_run_the_case(catalogue):
    case = catalogue.by_id["conv/words/1d-causal"]
    reason = translate(case, surface_of("torch.nn"))
    assert isinstance(reason, Unsupported)
    assert reason.reason == "torch.nn has no word of its own for the parameters"


def test_one_call_for_two_operators_is_native(catalogue):
    case = catalogue.by_id["pad/words/1d-conv-in-mode-edge"]
    program = translate(case, surface_of("torch.nn"))
    assert program.how == How.NATIVE
    assert "Pad1d" not in program.text
    without_words = replace(case, parameters={name: case.parameters[name] for name in ("pads", "mode", "value")})
    assert "Pad1d" in translate(without_words, surface_of("torch.nn")).text


def test_surface_without_a_call_for_two_operators_does_not_run_the_case(catalogue):
    reason = translate(catalogue.by_id["pad/words/1d-conv-in-mode-edge"], surface_of("torch.nn.functional"))
    assert reason == Unsupported("torch.nn.functional has no call for pad and conv")


def test_dtype_of_any_operator_can_be_unsupported(catalogue):
    case = catalogue.by_id["pad/words/1d-conv-in-mode-edge"]
    integers = replace(case, inputs={"x": replace(case.inputs["x"], dtype="int32")})
    assert isinstance(translate(case, surface_of("torch.nn")), Program)
    assert isinstance(translate(integers, surface_of("torch.nn")), Unsupported)


def test_padding_is_a_number_in_the_same_case_without_words(catalogue):
    case = catalogue.by_id["conv/words/1d-same-of-one-odd-cell"]
    surface = surface_of("openvino.opset")
    numbers = {name: value for name, value in case.parameters.items() if name != WORDS_KEY}
    assert "auto_pad" in translate(case, surface).text
    assert "auto_pad" not in translate(replace(case, parameters=numbers), surface).text
