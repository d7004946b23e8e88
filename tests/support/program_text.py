"""Check the text of a program against a list of allowed names, for the tests of all adapters."""

import ast
import builtins
import re
from functools import lru_cache
from pathlib import Path

import conformance
from conformance.adapters import registry

SURFACES = [
    (registry.get_backend(name), surface)
    for name in registry.backend_names()
    for surface in registry.get_backend(name).surfaces
    if surface.language is None  # the others write no Python
]
# The builtins that programs may call. None of them reads or writes files, imports or evaluates text.
ALLOWED_BUILTINS = {
    "abs",
    "all",
    "any",
    "enumerate",
    "float",
    "int",
    "len",
    "list",
    "max",
    "min",
    "range",
    "round",
    "slice",
    "sum",
    "tuple",
    "zip",
}
# The import that registers torch.ops.quantized_decomposed, and the calls that make a quantized tensor of integers.
ALLOWED_IMPORTS = {
    ("torch.ao.quantization.fx", "_decomposed"),
    (
        "tensorflow.core.util.quantization.uniform_quant_ops_attr_pb2",
        "UniformQuantizedConvolutionDimensionNumbersAttr",
    ),
}
ALLOWED_PRIVATE_NAMES = {
    "_make_per_tensor_quantized_tensor",
    "_make_per_channel_quantized_tensor",
    "_inductor",  # torch._inductor has the functions of AOTInductor, which PyTorch documents
}
# Names of layouts and ranks: "NCHW", "2d".
LAYOUT_OR_RANK = re.compile(r"[NOI]{1,2}C?D?H?W?C?|[1-3][dD]")
assert set(dir(builtins)) >= ALLOWED_BUILTINS


def bound_names(tree):
    """Return the names that the code binds by assignment, loop, import, definition or as an argument."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
    return names


def read_names(tree):
    """Return the names that the code reads."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


@lru_cache
def setup_names(setup):
    """Return the names that a setup binds."""
    return frozenset(bound_names(ast.parse(setup)))


@lru_cache
def vocabulary():
    """Return every word in the source of the suite, in lower case."""
    folder = Path(conformance.__file__).parent
    return frozenset(word for path in folder.rglob("*.py") for word in words(path.read_text("utf-8")))


def words(text):
    """Return the sequences of letters in a text, without layouts and ranks."""
    return {word.lower() for word in re.findall(r"[^\W\d_]+", LAYOUT_OR_RANK.sub(" ", text))}


def is_allowed_import(node):
    return isinstance(node, ast.ImportFrom) and {(node.module, one.name) for one in node.names} <= ALLOWED_IMPORTS


def unexpected_parts(backend, case, text):
    """Yield each part of a program that is not allowed.

    Allowed are names that the setup or the program binds, some builtins, numbers, and words of the suite's source.
    """
    tree = ast.parse(text)
    if [type(node) for node in tree.body] != [ast.FunctionDef] or tree.body[0].name != "run":
        yield "more than the function run"
    if [argument.arg for argument in tree.body[0].args.args] != list(case.inputs):
        yield "other arguments than the case's inputs"
    names = read_names(tree) - bound_names(tree) - setup_names(backend.setup) - ALLOWED_BUILTINS
    yield from (f"the name {name}" for name in sorted(names))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)) and not is_allowed_import(node):
            yield "an import, or a name of the module"
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and node.attr not in ALLOWED_PRIVATE_NAMES:
            yield f"the private attribute {node.attr}"
        text = node.attr if isinstance(node, ast.Attribute) else node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and not words(text) <= vocabulary():
            yield f"the words {text!r}"
