"""Suggestions for misspelled names."""

import pytest

from conformance.system.suggestions import suggestion, unknown_name_text

KNOWN = ["flax.linen", "flax.nnx", "keras-jax", "keras-torch", "torch.nn"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("flax", ", did you mean 'flax.linen' or 'flax.nnx'?"),
        ("keras", ", did you mean 'keras-jax' or 'keras-torch'?"),
        ("torch.n", ", did you mean 'torch.nn'?"),
        ("xyz", ""),
        ("", ""),
    ],
)
def test_names_that_begin_with_the_given_one_come_before_similar_ones(name, text):
    assert suggestion(name, KNOWN) == text


def test_all_names_are_listed_only_if_none_is_similar():
    assert (
        unknown_name_text("flax", KNOWN, "list")
        == "unknown, did you mean 'flax.linen' or 'flax.nnx'? (`list` lists all)"
    )
    assert unknown_name_text("xyz", KNOWN[:2], "list") == "unknown, known are flax.linen, flax.nnx"
