"""PyTorch: functional calls inside a function that torch.compile compiles to one graph."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from conformance.adapters.api import Sizes, Surface, calls_with_other_sizes, function_lines
from conformance.adapters.torch.convolution import autograd_gradient

# Inductor's own defaults. Checking them before a run gives one message, where each case would fail otherwise.
DEFAULT_COMPILERS: Mapping[str, str] = {"darwin": "clang++", "win32": "cl"}


def missing_compiler() -> str | None:
    """Return a message if Inductor's C++ compiler is missing."""
    compiler = os.environ.get("CXX") or DEFAULT_COMPILERS.get(sys.platform, "g++")
    if shutil.which(compiler):
        return None
    return f"torch.compile needs a C++ compiler, but {compiler} was not found (set the variable CXX to use another)"


def compile_lines(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """Return the lines inside a compiled function, and its call."""
    # A kernel that the program contains has several lines, and each must be indented.
    single_lines = [line for text in lines for line in text.split("\n")]
    # With fullgraph=True, code that cannot be part of the graph is an error instead of a silent eager call.
    return function_lines("@torch.compile(fullgraph=True)", "forward", single_lines, names)


def dynamic_surface(surface: Surface, sizes: Sizes) -> Surface:
    """Return the surface with functions that are compiled for inputs of any size, and called with other sizes first."""

    def compile_for_sizes(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        *definition, call = compile_lines(lines, names)
        arrays = "torch.ones({shape}, dtype={name}.dtype, requires_grad={name}.requires_grad)"
        used = {name: one for name, one in sizes.items() if name in names}
        decorator = "@torch.compile(fullgraph=True, dynamic=True)"
        return (decorator, *definition[1:], *calls_with_other_sizes(used, names, "forward({})", arrays), call)

    def gradient(lines: Sequence[str], names: Sequence[str], input_name: str) -> Sequence[str]:
        return autograd_gradient(compile_for_sizes(lines, names), names, input_name)

    return replace(surface, wrap_program=compile_for_sizes, write_gradient=gradient)


def double_backward_lines(function: str) -> Sequence[str]:
    """Return lines that differentiate the gradient of a function of x with respect to the incoming gradient."""
    return (
        "leaf = x.detach().requires_grad_()",
        f"y = ({function})(leaf)",
        "grad = torch.zeros_like(y, requires_grad=True)",
        "(gradient,) = torch.autograd.grad(y, leaf, grad, create_graph=True)",
        "(x,) = torch.autograd.grad(gradient, grad, x)",
    )


def compiled_gradient(lines: Sequence[str], names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return the compiled lines followed by the gradient of one input, which AOTAutograd compiles."""
    return autograd_gradient(compile_lines(lines, names), names, input_name)
