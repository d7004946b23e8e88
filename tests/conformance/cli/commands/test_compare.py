"""`conformance compare`: the differences between surfaces as text, Markdown and JSON."""

import json

import pytest

from tests.support import example_results as example


def test_surfaces_are_compared_by_convention_deviation_and_operator(conformance):
    status, out, _ = conformance("compare", "torch.nn", "flax.linen", "--operator", "avg_pool")
    lines = out.splitlines()
    assert status == 0
    assert lines[0].startswith("torch.nn and flax.linen: different answers to ")
    start = lines.index("  stride-when-none-is-given: What is the stride when none is given?")
    assert lines[start + 1 : start + 3] == [
        "    torch.nn    window: the result with stride [2]",
        "    flax.linen  one: the result with stride [1]",
    ]
    assert any(line.startswith("  flax.linen: flax-average-leaves-float16: ") for line in lines)
    assert "known deviations of some surfaces only" in lines
    assert not any(line.strip() == "max_pool" for line in lines)


def test_framework_stands_for_its_first_surface(conformance):
    only = ("--operator", "global_max_pool")
    by_name = conformance("compare", "torch.nn", "flax.linen", *only)[1]
    assert by_name == conformance("compare", "torch", "flax", *only)[1]


def test_order_of_the_surfaces_is_that_of_the_arguments(conformance):
    found = json.loads(conformance("compare", "tf.nn", "torch", "--operator", "max_pool", "--format", "json")[1])
    assert found["surfaces"] == ["tf.nn", "torch.nn"]
    answers = {one["id"]: one["answers"] for one in found["conventions"]}
    assert answers["max_pool/window-larger-than-input"].keys() == {"tf.nn", "torch.nn"}
    assert {tuple(one["surfaces"]) for one in found["deviations"]} <= {("tf.nn",), ("torch.nn",)}


def test_markdown_has_a_column_for_each_surface(conformance):
    out = conformance("compare", "torch", "flax", "jax", "--operator", "avg_pool", "--format", "markdown")[1]
    assert out.startswith("# `torch.nn` and `flax.linen` and `jax.lax`\n")
    assert "| convention | `torch.nn` | `flax.linen` | `jax.lax` |" in out


def test_observed_answers_come_from_results_files(conformance, tmp_path):
    (path,) = example.write(tmp_path, example.alpha())
    only = ("--operator", "max_unpool")
    declared = conformance("compare", "torch", "jax", *only)
    assert conformance("compare", "torch", "jax", *only, "--results", path) == declared  # no answers of these surfaces
    (tmp_path / "bad.jsonl").write_text("oops\n", "utf-8")
    status, out, errors = conformance("compare", "torch", "jax", "--results", tmp_path / "bad.jsonl")
    assert (status, out, len(errors)) == (2, "", 1)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "requires at least two different surfaces"),
        (["torch"], "requires at least two different surfaces"),
        (["torch", "torch.nn"], "requires at least two different surfaces"),
        (["torch", "keras"], "surface 'keras': several backends have it, name one of keras-jax.layers"),
        (["torch", "flaxx.linen"], "did you mean 'flax.linen'"),
    ],
)
def test_wrong_surfaces_are_one_line(conformance, names, message):
    status, out, errors = conformance("compare", *names)
    assert (status, out, len(errors)) == (2, "", 1)
    assert message in errors[0]
