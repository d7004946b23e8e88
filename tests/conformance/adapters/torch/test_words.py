"""The module `words` of PyTorch."""

import pytest

from tests.conformance.adapters.torch.programs import NN, lines, reason

ROW = "x: {values: integers, shape: [1, 2, 6]}"


def layer_text(window, pads, mode="reflect", conv=""):
    kernel = f"kernel: {{values: integers, shape: [3, 2, {window}]}}"
    return f"{ROW}, words: true, pads: [{pads}], mode: {mode}, then: [{{operator: conv, {kernel}{conv}}}]"


def layer_lines(tmp_path, *arguments, **keywords):
    return lines(tmp_path, "pad", layer_text(*arguments, **keywords), NN)[0]


def layer_reason(tmp_path, *arguments, **keywords):
    return reason(tmp_path, "pad", layer_text(*arguments, **keywords), NN)


@pytest.mark.parametrize(("mode", "name"), [("edge", "replicate"), ("reflect", "reflect"), ("wrap", "circular")])
def test_layer_pads_in_the_mode_of_the_step_before(tmp_path, mode, name):
    layer = f'conv = nn.Conv1d(2, 3, 3, padding=1, padding_mode="{name}", bias=False, dtype=x.dtype)'
    assert layer in layer_lines(tmp_path, 3, [1, 1], mode)


def test_pads_of_the_word_same_may_differ_by_one_cell(tmp_path):
    assert 'padding="same"' in " ".join(layer_lines(tmp_path, 4, [1, 2]))
    # The word adds the odd cell after x, and takes no stride.
    assert "same pads" in layer_reason(tmp_path, 4, [2, 1])
    assert "same pads" in layer_reason(tmp_path, 3, [0, 1], conv=", stride: 2")


def test_equal_pads_are_numbers_also_with_a_stride(tmp_path):
    assert "stride=2, padding=1," in " ".join(layer_lines(tmp_path, 3, [1, 1], conv=", stride: 2"))


@pytest.mark.parametrize(
    ("pads", "mode", "conv"),
    [([1, 1], "symmetric", ""), ([1, 1], "constant", ""), ([-1, -1], "edge", ""), ([1, 1], "edge", ", padding: 1")],
)
def test_other_padding_is_not_that_of_a_layer(tmp_path, pads, mode, conv):
    assert "same pads" in layer_reason(tmp_path, 3, pads, mode, conv=conv)
