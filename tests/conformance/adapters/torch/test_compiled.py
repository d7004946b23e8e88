"""The module `compiled` of PyTorch."""

import ast
import sys

import pytest

from conformance.translation.lowering import translate
from tests.conformance.adapters.torch.programs import COMPILED, CONV, GRAD, PLANE, lines
from tests.support.fake_backends import one


def test_compiled_function_takes_the_inputs_and_contains_the_calls(tmp_path):
    body, how = lines(tmp_path, "conv", f"{CONV}, padding: [[1, 0]]", COMPILED)
    assert (body, how) == (
        [
            "@torch.compile(fullgraph=True)",
            "def forward(x, kernel, bias):",
            "x = F.pad(x, (1, 0))",
            "x = F.conv1d(x, kernel, bias)",
            "return x",
            "x = forward(x, kernel, bias)",
        ],
        "padded",
    )


def test_gradient_goes_through_the_compiled_function(tmp_path):
    body, _ = lines(tmp_path, "max_pool_grad", f"{PLANE}, {GRAD}, window: 2", COMPILED)
    assert body == [
        "leaf = x.requires_grad_()",
        "@torch.compile(fullgraph=True)",
        "def forward(x):",
        "x = F.max_pool2d(x, 2)",
        "return x",
        "x = forward(x)",
        "(x,) = torch.autograd.grad(x, leaf, grad)",
    ]


def test_kernel_of_many_lines_is_inside_the_compiled_function(tmp_path):
    text = "id: a, x: {values: integers, shape: [1, 1, 7, 7]}, window: 3, via: [conv, relu]"
    program = translate(one(tmp_path, text), COMPILED)
    forward = ast.parse(program.text).body[0].body[1]
    assert isinstance(forward, ast.FunctionDef)
    assert ast.unparse(forward).count("np.array") > 1
    assert ast.unparse(ast.parse(program.text)).count("np.array") == ast.unparse(forward).count("np.array")


@pytest.mark.parametrize(("compiler", "exists"), [("python3-or-another", False), (sys.executable, True)])
def test_missing_compiler_is_reported(monkeypatch, compiler, exists):
    monkeypatch.setenv("CXX", compiler)
    assert (COMPILED.missing_requirement() is None) is exists
    assert exists or compiler in COMPILED.missing_requirement()
